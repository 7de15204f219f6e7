package proxy

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/hub"
	"github.com/redfence/redfence/proxy/wait"
	"github.com/redfence/redfence/raftstore/keyspace"
)

// lists is a backend with real keys, without a log.
type lists struct {
	mu       sync.Mutex
	ks       *keyspace.Keyspace
	registry *wait.Registry
	late     *held // takes GET, if not nil
}

func newLists() *lists { return &lists{ks: keyspace.New(), registry: wait.New()} }

func (l *lists) submit(c *Call) {
	if l.late != nil && c.Requests[0].Spec.Name == "get" {
		l.late.take(c)
		return
	}
	l.mu.Lock()
	t := l.ks.Begin(keyspace.Stamp{Now: 1, Wall: 1})
	before := t.Mark()
	replies := make([]resp.Value, len(c.Requests))
	for i, r := range c.Requests {
		t.Select(r.DB)
		t.Mark()
		replies[i] = t.Exec(r)
	}
	for _, k := range t.Ready(before) {
		l.registry.Ready(k.DB, k.Key)
	}
	l.mu.Unlock()
	if c.Block {
		c.Done(Result{Reply: resp.Arr(replies...)})
		return
	}
	c.Done(Result{Reply: replies[0]})
}

// startLists runs a server on lists.
func startLists(t *testing.T, cfg Config) (*lists, *Server, string) {
	t.Helper()
	l := newLists()
	cfg.Backend, cfg.Wait = &fakeBackend{submit: l.submit}, l.registry
	srv, addr := start(t, cfg)
	return l, srv, addr
}

// waiters waits until so many commands are blocked.
func (l *lists) waiters(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return l.registry.Len() == n }, patience, time.Millisecond)
}

func TestBlockedCommandIsAnsweredLater(t *testing.T) {
	l, _, addr := startLists(t, Config{})
	c, other := dial(t, addr), dial(t, addr)
	c.send("BLPOP l 0\r\n")
	l.waiters(t, 1)
	require.Equal(t, ":1", other.do("RPUSH l a"))
	require.Equal(t, "*2 $1 l $1 a", c.next())
	require.Equal(t, "*-1", c.do("BLPOP l 0.001"))
	require.Equal(t, ":0", c.do("LLEN l"))
	l.waiters(t, 0)
}

// What comes behind a blocked command waits, whether it came along with it or later, and in whatever pieces.
func TestCommandsBehindABlockedOneKeepTheirOrder(t *testing.T) {
	tests := map[string]struct{ together, later []string }{
		"in one write":        {[]string{"RPUSH l 2\r\n", "LLEN l\r\n", "ECHO end\r\n"}, nil},
		"later":               {nil, []string{"RPUSH l 2\r\nLLEN l\r\nECHO end\r\n"}},
		"in pieces":           {[]string{"RPUSH l 2\r\nLL"}, []string{"EN", " l\r\nECHO en", "d\r\n"}},
		"another blocked one": {[]string{"RPUSH l 2\r\nBLPOP m 0.001\r\n"}, []string{"LLEN l\r\nECHO end\r\n"}},
	}
	for name, tt := range tests {
		for _, idle := range []time.Duration{0, time.Hour} {
			t.Run(name+"/idle="+idle.String(), func(t *testing.T) {
				l, _, addr := startLists(t, Config{Limits: Limits{IdleTimeout: idle}})
				c, other := dial(t, addr), dial(t, addr)
				c.send("RPUSH k x\r\nBLPOP l 0\r\n" + strings.Join(tt.together, ""))
				l.waiters(t, 1)
				for _, piece := range tt.later {
					require.Equal(t, ":0", other.do("LLEN l"))
					c.send(piece)
				}
				require.Equal(t, ":0", other.do("LLEN l"), "nothing behind the blocked command has run")
				require.Equal(t, ":1", other.do("RPUSH l 1"))
				require.Equal(t, ":1", c.next())
				require.Equal(t, "*2 $1 l $1 1", c.next())
				require.Equal(t, ":1", c.next())
				if name == "another blocked one" {
					require.Equal(t, "*-1", c.next())
				}
				require.Equal(t, ":1", c.next())
				require.Equal(t, "$3 end", c.next())
			})
		}
	}
}

// A blocked command must see what the commands before it did, so it is not tried before they are answered.
func TestBlockedCommandWaitsForThoseBeforeIt(t *testing.T) {
	l, srv, addr := startLists(t, Config{})
	l.late = &held{}
	c, other := dial(t, addr), dial(t, addr)
	require.Equal(t, ":1", other.do("RPUSH l a"))
	c.send("GET k\r\nGET k\r\nBLPOP l 0\r\nECHO end\r\n")
	gets := l.late.await(t, 2)
	require.Eventually(t, func() bool { return srv.all()[0].isBlocked() || srv.all()[1].isBlocked() }, patience, time.Millisecond)
	gets[0].Done(Result{Reply: resp.Str("1")})
	require.Equal(t, "$1 1", c.next())
	require.Zero(t, l.registry.Len())
	require.Equal(t, ":1", other.do("LLEN l"))
	gets[1].Done(Result{Reply: resp.Str("2")})
	require.Equal(t, "$1 2", c.next())
	require.Equal(t, "*2 $1 l $1 a", c.next())
	require.Equal(t, "$3 end", c.next())
}

func TestHangingUpEndsTheWait(t *testing.T) {
	tests := map[string]func(c *client){
		"closed":      func(c *client) { _ = c.Close() },
		"reset":       func(c *client) { _ = c.Conn.(*net.TCPConn).SetLinger(0); _ = c.Close() },
		"half closed": func(c *client) { _ = c.Conn.(*net.TCPConn).CloseWrite() },
	}
	for name, hangUp := range tests {
		t.Run(name, func(t *testing.T) {
			l, srv, addr := startLists(t, Config{})
			c, other := dial(t, addr), dial(t, addr)
			c.send("ECHO first\r\nBLPOP l 0\r\nECHO behind\r\n")
			require.Equal(t, "$5 first", c.next())
			l.waiters(t, 1)
			hangUp(c)
			l.waiters(t, 0)
			require.Eventually(t, func() bool { return len(srv.all()) == 1 }, patience, time.Millisecond)
			require.Equal(t, ":1", other.do("RPUSH l a"))
			require.Equal(t, ":1", other.do("LLEN l"))
			if name == "half closed" {
				require.Empty(t, c.rest(), "as in Redis, the connection ends without an answer")
			}
		})
	}
}

// A client that hangs up before its blocked command was even tried leaves nothing behind.
func TestHangingUpBeforeTheWaitBegins(t *testing.T) {
	l, srv, addr := startLists(t, Config{})
	l.late = &held{}
	c, other := dial(t, addr), dial(t, addr)
	require.Equal(t, ":1", other.do("RPUSH l a"))
	c.send("GET k\r\nBLPOP l 0\r\n")
	get := l.late.await(t, 1)[0]
	require.NoError(t, c.Conn.(*net.TCPConn).CloseWrite())
	require.Eventually(t, func() bool { return !reading(srv) }, patience, time.Millisecond)
	get.Done(Result{Reply: resp.Str("1")})
	require.Equal(t, "$1 1", c.next())
	require.Empty(t, c.rest())
	require.Equal(t, ":1", other.do("LLEN l"))
	require.Zero(t, l.registry.Len())
}

// reading tells whether the outbox of every session is open.
func reading(srv *Server) bool {
	for _, s := range srv.all() {
		s.out.mu.Lock()
		open := s.out.phase == phaseOpen
		s.out.mu.Unlock()
		if !open {
			return false
		}
	}
	return true
}

func TestTooMuchBehindABlockedCommand(t *testing.T) {
	l, srv, addr := startLists(t, Config{Limits: Limits{MaxBulk: 64 << 10}})
	c := dial(t, addr)
	c.send("BLPOP l 0\r\n")
	l.waiters(t, 1)
	_, _ = io.WriteString(c.Conn, strings.Repeat("ECHO 1234567890\r\n", 16<<10))
	l.waiters(t, 0)
	require.Eventually(t, func() bool { return len(srv.all()) == 0 }, patience, time.Millisecond)
}

func TestMessagesReachABlockedClient(t *testing.T) {
	topics := hub.New()
	l, _, addr := startLists(t, Config{Hub: topics})
	c, other := dial(t, addr), dial(t, addr)
	require.Contains(t, c.do("HELLO 3"), "%7")
	require.Equal(t, ">3 $9 subscribe $2 ch :1", c.do("SUBSCRIBE ch"))
	c.send("ECHO before\r\nBLPOP l 0\r\nECHO behind\r\n")
	require.Equal(t, "$6 before", c.next())
	l.waiters(t, 1)
	say := func(text string) { require.Equal(t, 1, topics.Message(Message{Channel: "ch", Payload: text})) }
	say("one")
	require.Equal(t, ">3 $7 message $2 ch $3 one", c.next())
	say("two")
	require.Equal(t, ">3 $7 message $2 ch $3 two", c.next())
	require.Equal(t, ":1", other.do("RPUSH l a"))
	require.Equal(t, "*2 $1 l $1 a", c.next())
	require.Equal(t, "$6 behind", c.next())
	say("three")
	require.Equal(t, ">3 $7 message $2 ch $5 three", c.next())
}

func TestShutdownDoesNotWaitForBlockedCommands(t *testing.T) {
	l, srv, addr := startLists(t, Config{})
	c := dial(t, addr)
	c.send("ECHO first\r\nBLPOP l 0\r\nECHO behind\r\n")
	l.waiters(t, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, srv.Shutdown(ctx))
	require.Equal(t, "$5\r\nfirst\r\n", c.rest())
	require.Zero(t, l.registry.Len())
}

func TestUnblockASession(t *testing.T) {
	l, srv, addr := startLists(t, Config{})
	c := dial(t, addr)
	require.Equal(t, "$3 one", c.do("ECHO one"))
	ses := srv.all()[0]
	require.False(t, ses.unblock(true), "it does not wait")
	for want, withError := range map[string]bool{"*-1": false, "-" + string(resp.ErrUnblocked): true} {
		c.send("BLPOP l 0\r\nECHO behind\r\n")
		l.waiters(t, 1)
		require.Contains(t, ses.describe(), " flags=b ")
		require.True(t, ses.unblock(withError))
		require.Equal(t, want, c.next())
		require.Equal(t, "$6 behind", c.next())
		require.False(t, ses.unblock(withError))
		require.Contains(t, ses.describe(), " flags=N ")
	}
}

// An idle client is cut off, one that waits for an answer is not.
func TestBlockedClientIsNotIdle(t *testing.T) {
	l, srv, addr := startLists(t, Config{Limits: Limits{IdleTimeout: 20 * time.Millisecond}})
	c := dial(t, addr)
	c.send("BLPOP l 0.2\r\n")
	l.waiters(t, 1)
	require.Equal(t, "*-1", c.next())
	require.Empty(t, c.rest())
	require.Eventually(t, func() bool { return len(srv.all()) == 0 }, patience, time.Millisecond)
}

// A nudge lasts until the reader has noticed it, whatever deadline is set meanwhile.
func TestANewDeadlineDoesNotUndoANudge(t *testing.T) {
	srv, _ := start(t, Config{Limits: Limits{IdleTimeout: time.Hour}})
	near, far := net.Pipe()
	defer far.Close()
	s := newSession(srv, 1, near)
	s.blocked.holding.Store(true)
	s.resume()
	s.limitRead()
	guard := time.AfterFunc(patience, func() { _ = far.Close() })
	defer guard.Stop()
	_, err := near.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.True(t, s.awoken())
	require.False(t, s.awoken())
}

// TestManyBlockedClients has many connections wait for one key.
func TestManyBlockedClients(t *testing.T) {
	const n = 500
	l, _, addr := startLists(t, Config{})
	clients := make([]*client, n)
	for i := range clients {
		clients[i] = dial(t, addr)
		clients[i].send("BLPOP l 0\r\n")
		l.waiters(t, i+1)
	}
	line := "RPUSH l"
	for i := range clients {
		line += " " + string(rune('a'+i%26))
	}
	require.Equal(t, ":500", dial(t, addr).do(line))
	for i, c := range clients {
		require.Equal(t, "*2 $1 l $1 "+string(rune('a'+i%26)), c.next())
	}
}
