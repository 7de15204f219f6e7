package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

// gets is n pipelined GETs of the keys 0, 1, 2, ...
func gets(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(array("GET", strconv.Itoa(i)))
	}
	return b.String()
}

func TestRepliesKeepTheirOrder(t *testing.T) {
	const n = 50
	orders := map[string]func([]*Call) []*Call{
		"answered in order": func(c []*Call) []*Call { return c },
		"answered backwards": func(c []*Call) []*Call {
			var back []*Call
			for i := range c {
				back = append(back, c[len(c)-1-i])
			}
			return back
		},
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			var h held
			_, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}})
			c := dial(t, addr)
			c.send(gets(n) + array("PING"))
			for _, call := range order(h.await(t, n)) {
				go echoBack(call)
			}
			for i := range n {
				key := strconv.Itoa(i)
				require.Equal(t, fmt.Sprintf("$%d %s", len(key), key), c.next())
			}
			require.Equal(t, "+PONG", c.next())
		})
	}
}

// The reply of a call that is answered inside Submit must not overtake an earlier one.
func TestAnAnswerInsideSubmitWaitsForEarlierOnes(t *testing.T) {
	var h held
	_, addr := start(t, Config{Backend: &fakeBackend{submit: func(c *Call) {
		if c.Requests[0].Args[1] == "slow" {
			h.take(c)
			return
		}
		echoBack(c)
	}}})
	c := dial(t, addr)
	c.send(array("GET", "slow") + array("GET", "fast"))
	calls := h.await(t, 1)
	require.Equal(t, "+PONG", dial(t, addr).do("PING")) // other sessions go on
	echoBack(calls[0])
	require.Equal(t, "$4 slow", c.next())
	require.Equal(t, "$4 fast", c.next())
}

func TestReadingPausesAtTheBoundOfThePipeline(t *testing.T) {
	const bound, n = 16, 100
	var h held
	_, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}, Limits: Limits{MaxPipeline: bound}})
	c := dial(t, addr)
	c.send(gets(n))
	for answered := range n {
		h.await(t, min(n, answered+1))
		require.LessOrEqual(t, len(h.all()), answered+bound)
		echoBack(h.all()[answered])
		require.Equal(t, fmt.Sprintf("$%d %d", len(strconv.Itoa(answered)), answered), c.next())
	}
	require.Len(t, h.await(t, n), n)
}

func TestReadingPausesAtTheBoundOfUnansweredBytes(t *testing.T) {
	var h held
	_, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}, Limits: Limits{MaxBulk: 1000}})
	c := dial(t, addr)
	big := array("SET", "k", strings.Repeat("x", 900))
	c.send(strings.Repeat(big, 5))
	for i := range 5 {
		require.LessOrEqual(t, len(h.await(t, i+1)), i+2)
		h.all()[i].Done(Result{Reply: resp.OK()})
		require.Equal(t, "+OK", c.next())
	}
}

// A client that writes everything before it reads anything must not be stopped halfway, as long as the replies fit.
func TestWritingAllBeforeReadingAny(t *testing.T) {
	const n = 100_000
	_, addr := start(t, Config{})
	c := dial(t, addr)
	c.send(strings.Repeat("PING\r\n", n))
	for range n {
		require.Equal(t, "+PONG", c.next())
	}
}

func TestACloseResultIsTheLastReply(t *testing.T) {
	var h held
	_, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}})
	c := dial(t, addr)
	c.send(gets(3))
	calls := h.await(t, 3)
	echoBack(calls[2])
	calls[1].Done(Result{Reply: resp.ErrUnknownOutcome.Value(), Close: true})
	echoBack(calls[0])
	require.Equal(t, "$1 0", c.next())
	require.Equal(t, "-"+string(resp.ErrUnknownOutcome), c.next())
	require.Empty(t, c.rest())
}

func TestDoneTwiceChangesNothing(t *testing.T) {
	var h held
	_, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}, Limits: Limits{MaxPipeline: 1}})
	c := dial(t, addr)
	c.send(gets(1))
	first := h.await(t, 1)[0]
	echoBack(first)
	require.Equal(t, "$1 0", c.next())
	echoBack(first)
	c.send(array("GET", "second") + array("GET", "third"))
	second := h.await(t, 2)[1]
	echoBack(first)
	require.Equal(t, "+PONG", dial(t, addr).do("PING")) // time enough for the third, if the bound were off by one
	require.Len(t, h.all(), 2)
	echoBack(second)
	require.Equal(t, "$6 second", c.next())
	echoBack(h.await(t, 3)[2])
	require.Equal(t, "$5 third", c.next())
}

func TestHalfClosedClientsAreAnswered(t *testing.T) {
	var h held
	closed := make(chan struct{})
	backend := &fakeBackend{submit: h.take, closed: func() { close(closed) }}
	srv, addr := start(t, Config{Backend: backend})
	c := dial(t, addr)
	c.send(gets(2))
	require.NoError(t, c.Conn.(*net.TCPConn).CloseWrite())
	require.Eventually(t, func() bool { return len(srv.all()) == 1 && srv.all()[0].out.isEnding() }, patience, time.Millisecond)
	for _, call := range h.await(t, 2) {
		echoBack(call)
	}
	require.Equal(t, "$1\r\n0\r\n$1\r\n1\r\n", c.rest())
	awaitClosed(t, closed)
}

// isEnding tells whether the session has seen the end of its input.
func (o *outbox) isEnding() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.phase == phaseEnding
}

// awaitClosed waits until the backend's stream is closed.
func awaitClosed(t *testing.T, closed <-chan struct{}) {
	t.Helper()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("the stream was not closed")
	}
}

// A hang-up looks like a half-closed connection at first. After a while the calls are abandoned.
func TestAHangUpAbandonsUnansweredCalls(t *testing.T) {
	var h held
	closed := make(chan struct{})
	srv, addr := start(t, Config{Backend: &fakeBackend{submit: h.take, closed: func() { close(closed) }}})
	c := dial(t, addr)
	c.send(gets(1))
	h.await(t, 1)
	require.NoError(t, c.Close())
	awaitClosed(t, closed)
	echoBack(h.all()[0]) // what was sent is still answered, to nobody
	require.Eventually(t, func() bool { return len(srv.all()) == 0 }, patience, time.Millisecond)
}

func TestProtocolErrorsEndTheConnection(t *testing.T) {
	tests := map[string]struct{ input, want string }{
		"a length of 2 GiB":   {"*1\r\n$2147483648\r\n", "-" + string(resp.ErrBulkLength)},
		"a huge count":        {"*10000000\r\n", "-" + string(resp.ErrTooManyArgs)},
		"no length":           {"*1\r\nPING\r\n", "-ERR Protocol error: expected '$', got 'P'"},
		"unbalanced quotes":   {"SET \"a\r\n", "-" + string(resp.ErrQuotes)},
		"replies before that": {"PING\r\n*x\r\nPING\r\n", "+PONG\r\n-" + string(resp.ErrTooManyArgs)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, addr := start(t, Config{})
			c := dial(t, addr)
			c.send(tt.input)
			require.Equal(t, tt.want+"\r\n", c.rest())
		})
	}
}

func TestBrowsersAreCutOff(t *testing.T) {
	var h held
	_, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}})
	c := dial(t, addr)
	c.send("POST / HTTP/1.1\r\nHost: localhost\r\n\r\nSET a b\r\n")
	require.Empty(t, c.rest())
	require.Empty(t, h.all())
}

func TestAPanicEndsOnlyItsSession(t *testing.T) {
	var log bytes.Buffer
	backend := &fakeBackend{submit: func(c *Call) {
		if c.Requests[0].Args[1] == "poison" {
			panic("poisoned")
		}
		echoBack(c)
	}}
	srv, addr := start(t, Config{Backend: backend, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	good, bad := dial(t, addr), dial(t, addr)
	bad.send(array("GET", "poison"))
	require.Empty(t, bad.rest())
	require.Equal(t, "$1 a", good.do("GET a"))
	require.Eventually(t, func() bool { return len(srv.all()) == 1 }, patience, time.Millisecond)
	require.Contains(t, log.String(), "poisoned")
}

func TestTooManyClientsAreTurnedAway(t *testing.T) {
	_, addr := start(t, Config{Limits: Limits{MaxClients: 1}})
	first := dial(t, addr)
	require.Equal(t, "+PONG", first.do("PING"))
	require.Equal(t, "-ERR max number of clients reached\r\n", dial(t, addr).rest())
	require.Equal(t, "+OK", first.do("QUIT"))
	require.Empty(t, first.rest())
	require.Eventually(t, func() bool { // its place is free again
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return false
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "PING\r\n")
		reply := make([]byte, 7)
		_, err = io.ReadFull(conn, reply)
		return err == nil && string(reply) == "+PONG\r\n"
	}, patience, 10*time.Millisecond)
}

func TestIdleClientsAreClosed(t *testing.T) {
	var h held
	_, addr := start(t, Config{
		Backend: &fakeBackend{submit: h.take}, Limits: Limits{IdleTimeout: 100 * time.Millisecond},
	})
	subscriber, waiting := dial(t, addr), dial(t, addr)
	require.Contains(t, subscriber.do("SUBSCRIBE x"), "subscribe")
	waiting.send(array("GET", "a"))
	h.await(t, 1)
	require.Empty(t, dial(t, addr).rest()) // by then the others have been idle for longer
	require.Equal(t, "*2 $4 pong $0 ", subscriber.do("PING"))
	waiting.send(array("GET", "b"))
	for _, call := range h.await(t, 2) {
		echoBack(call)
	}
	require.Equal(t, "$1 a", waiting.next())
	require.Equal(t, "$1 b", waiting.next())
	require.Empty(t, waiting.rest())
}

// A peer that takes nothing is given up, and its session ends.
func TestAStuckPeerIsGivenUp(t *testing.T) {
	srv := New(Config{Backend: &fakeBackend{}, Limits: Limits{WriteTimeout: 50 * time.Millisecond}})
	ours, theirs := net.Pipe()
	defer theirs.Close()
	srv.welcome(ours)
	_, err := io.WriteString(theirs, "PING\r\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(srv.all()) == 0 }, patience, time.Millisecond)
	require.NoError(t, srv.Shutdown(context.Background()))
}

func TestShutdownLetsCallsFinish(t *testing.T) {
	var h held
	srv, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}})
	busy, idle := dial(t, addr), dial(t, addr)
	require.Equal(t, "+PONG", idle.do("PING"))
	busy.send(gets(1))
	h.await(t, 1)
	done := make(chan error, 1)
	go func() { done <- srv.Shutdown(context.Background()) }()
	require.Empty(t, idle.rest())
	_, err := net.Dial("tcp", addr)
	require.Error(t, err)
	require.Empty(t, done, "Shutdown did not wait for the call")
	echoBack(h.all()[0])
	require.Equal(t, "$1\r\n0\r\n", busy.rest())
	require.NoError(t, <-done)
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	var h held
	srv, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}})
	c := dial(t, addr)
	c.send(gets(1))
	h.await(t, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, srv.Shutdown(ctx), context.DeadlineExceeded)
	require.Empty(t, c.rest())
	echoBack(h.all()[0]) // too late, and harmless
}

func TestServeReturnsTheErrorOfItsListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.ErrorIs(t, New(Config{Backend: &fakeBackend{}}).Serve(l), net.ErrClosed)
}

// recorder notes what the metrics are told.
type recorder struct {
	mu     sync.Mutex
	opened int
	closed int
	done   []string
}

func (r *recorder) ConnOpened() { r.note(func() { r.opened++ }) }
func (r *recorder) ConnClosed() { r.note(func() { r.closed++ }) }
func (r *recorder) CommandDone(name, outcome string, _ time.Duration) {
	r.note(func() { r.done = append(r.done, name+" "+outcome) })
}

func (r *recorder) note(what func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what()
}

func TestMetricsCountCommandsByOutcome(t *testing.T) {
	failures := map[string]resp.Failure{"a": resp.ErrWrongType, "b": resp.ErrNoLeader, "c": resp.ErrUnknownOutcome}
	backend := &fakeBackend{submit: func(c *Call) {
		if why, fails := failures[c.Requests[0].Args[1]]; fails {
			c.Done(Result{Reply: why.Value()})
			return
		}
		echoBack(c)
	}}
	var r recorder
	_, addr := start(t, Config{Backend: backend, Metrics: &r})
	c := dial(t, addr)
	for _, line := range []string{"PING", "NOSUCH", "GET", "GET a", "GET b", "GET c", "GET d", "QUIT"} {
		c.do(line)
	}
	require.Empty(t, c.rest())
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.closed == 1
	}, patience, time.Millisecond)
	require.Equal(t, 1, r.opened)
	require.Equal(t, []string{
		"ping ok", " error", "get error", "get error", "get unavailable", "get unknown", "get ok",
		"quit ok",
	}, r.done)
}
