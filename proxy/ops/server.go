package ops

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// readyTimeout bounds one readiness check, below the second or two that probes usually wait.
const readyTimeout = time.Second

// Health tells whether clients can be served.
type Health interface {
	// Ready is nil when requests can be served now, else the reason why not. It is called at every /readyz, from
	// several goroutines at once, and gives up when ctx ends.
	Ready(ctx context.Context) error
}

// Server answers /metrics, /healthz and /readyz. It has no authentication: what it tells are counts, never keys or
// values.
type Server struct {
	http http.Server
}

// NewServer makes a server over what it reports; it does not listen yet.
func NewServer(metrics *Metrics, health Health) *Server {
	return &Server{http: http.Server{
		Handler:           newHandler(metrics, health),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
	}}
}

// Serve answers requests on l until Shutdown, and then returns nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown closes the listener and waits for requests that are being answered, as long as ctx lasts.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

func newHandler(metrics *Metrics, health Health) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := health.Ready(ctx); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}
