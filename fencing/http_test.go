package fencing

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestMiddleware(t *testing.T) {
	guard := &Guard{Limit: 1}
	service := Middleware(guard, func(r *http.Request) string {
		if r.Method == http.MethodGet {
			return ""
		}
		return r.URL.Path
	}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := FromContext(r.Context())
		_, _ = w.Write([]byte("wrote with " + token.String()))
	}))
	for _, tt := range []struct {
		name, method, path, token string
		code                      int
		last                      string
	}{
		{"a read", "GET", "/a", "", 200, ""},
		{"no token", "PUT", "/a", "", 428, ""},
		{"no number", "PUT", "/a", "abc", 400, ""},
		{"the first", "PUT", "/a", "100", 200, ""},
		{"a stale one", "PUT", "/a", "99", 412, "100"},
		{"a higher one", "PUT", "/a", "101", 200, ""},
		{"no room", "PUT", "/b", "1", 503, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, nil)
			if tt.token != "" {
				r.Header.Set(Header, tt.token)
			}
			w := httptest.NewRecorder()
			service.ServeHTTP(w, r)
			if w.Code != tt.code || w.Header().Get(LastHeader) != tt.last {
				t.Errorf("%d %q, %s %q", w.Code, w.Body, LastHeader, w.Header().Get(LastHeader))
			}
			if tt.code == 200 && tt.token != "" && w.Body.String() != "wrote with "+tt.token {
				t.Errorf("body %q", w.Body)
			}
		})
	}
}
