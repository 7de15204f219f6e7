package ops

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type healthFunc func(context.Context) error

func (f healthFunc) Ready(ctx context.Context) error { return f(ctx) }

// start serves on a free port until the test ends and returns the base URL.
func start(t *testing.T, health Health) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := NewServer(NewMetrics("v1", nil), health)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		assert.NoError(t, s.Shutdown(context.Background()))
		assert.NoError(t, <-served)
	})
	return "http://" + l.Addr().String()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

func TestHealthAndReadinessAreDifferentQuestions(t *testing.T) {
	t.Parallel()
	reasons := make(chan error, 1)
	url := start(t, healthFunc(func(context.Context) error { return <-reasons }))

	status, body := get(t, url+"/healthz")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok\n", body)

	reasons <- errors.New("no leader for 3 s")
	status, body = get(t, url+"/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "not ready: no leader for 3 s\n", body)

	reasons <- nil
	status, body = get(t, url+"/readyz")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ready\n", body)
}

func TestReadinessGivesUp(t *testing.T) {
	t.Parallel()
	url := start(t, healthFunc(func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}))
	begun := time.Now()
	status, _ := get(t, url+"/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Less(t, time.Since(begun), 5*readyTimeout)
}

func TestOnlyTheThreePaths(t *testing.T) {
	t.Parallel()
	url := start(t, healthFunc(func(context.Context) error { return nil }))
	status, body := get(t, url+"/metrics")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, body, "redfence_connections 0")
	status, _ = get(t, url+"/")
	assert.Equal(t, http.StatusNotFound, status)
	answer, err := http.Post(url+"/metrics", "text/plain", nil)
	require.NoError(t, err)
	defer answer.Body.Close()
	assert.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode)
}
