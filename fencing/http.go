package fencing

import (
	"context"
	"errors"
	"net/http"
)

// Header is the request header in which a client sends the token of its lock, in decimal.
const Header = "Fencing-Token"

// LastHeader is the response header that tells a client with a stale token which one the resource has seen.
const LastHeader = "Fencing-Token-Last"

// Middleware lets requests through to next whose Fencing-Token is not lower than any that guard has seen for their
// resource, one at a time for each resource. Others are answered
//
//   - 428 Precondition Required (RFC 6585) without a token,
//   - 400 Bad Request with what is no token,
//   - 412 Precondition Failed (RFC 9110) with a stale one, and Fencing-Token-Last,
//   - 503 Service Unavailable when guard is full.
//
// Resource names what a request writes to; an empty name lets it through unchecked, as for reads. The token is in the
// request's context, see FromContext.
func Middleware(guard *Guard, resource func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := resource(r)
		if name == "" {
			next.ServeHTTP(w, r)
			return
		}
		text := r.Header.Get(Header)
		if text == "" {
			http.Error(w, "a lock on "+name+" is needed: send its token in "+Header, http.StatusPreconditionRequired)
			return
		}
		token, err := Parse(text)
		if err == nil {
			err = guard.Do(name, token, func() error {
				next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tokenKey{}, token)))
				return nil
			})
		}
		refuse(w, err)
	})
}

func refuse(w http.ResponseWriter, err error) {
	var stale *StaleError
	switch {
	case err == nil:
	case errors.As(err, &stale):
		w.Header().Set(LastHeader, stale.Last.String())
		http.Error(w, stale.Error(), http.StatusPreconditionFailed)
	case errors.Is(err, ErrFull):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// tokenKey is the key of the token in a context.
type tokenKey struct{}

// FromContext is the token with which Middleware let a request through.
func FromContext(ctx context.Context) (Token, bool) {
	t, ok := ctx.Value(tokenKey{}).(Token)
	return t, ok
}
