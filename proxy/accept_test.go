package proxy

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// poorListener has no descriptors for a while.
type poorListener struct {
	net.Listener
	failures int
}

func (l *poorListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// A process that is out of descriptors accepts again when it has some, and says so once.
func TestOutOfDescriptors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var log bytes.Buffer
	srv := New(Config{Backend: &fakeBackend{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(&poorListener{l, 5}) }()
	require.Equal(t, "+PONG", dial(t, l.Addr().String()).do("PING"))
	require.NoError(t, srv.Shutdown(t.Context()))
	require.NoError(t, <-served)
	require.Equal(t, 1, strings.Count(log.String(), "cannot accept connections"), log.String())
	require.Equal(t, 1, strings.Count(log.String(), "accepting connections again"), log.String())
}

// A session that waits for a turn ends when its client has gone, and the next in line gets the turn.
func TestTurns(t *testing.T) {
	line := newTurns(1)
	require.True(t, line.take(nil))
	gone, left := make(chan struct{}), make(chan bool)
	go func() { left <- line.take(gone) }()
	require.Eventually(t, func() bool { return line.waiting.Load() == 1 }, patience, time.Millisecond)
	close(gone)
	require.False(t, <-left)
	go func() { left <- line.take(nil) }()
	line.give()
	require.True(t, <-left)
	require.Zero(t, line.waiting.Load())
	line.give()
}

// Many clients that send more than a buffer and do not read are all served in the end, and no turn is lost.
func TestPipelinersTakeTurns(t *testing.T) {
	srv, addr := start(t, Config{Limits: Limits{MaxPipeline: 16}})
	const n = 2000
	var clients []*client
	for range 20 {
		c := dial(t, addr)
		c.send(strings.Repeat("ECHO abcdefgh\r\n", n))
		clients = append(clients, c)
	}
	for i, c := range clients {
		if i%2 == 0 {
			require.NoError(t, c.Close())
			continue
		}
		for range n {
			require.Equal(t, "$8 abcdefgh", c.next())
		}
	}
	require.Eventually(t, func() bool { return len(srv.pipelining.free) == 0 }, patience, time.Millisecond)
	require.Empty(t, srv.beginning.free)
}
