//go:build linux

package poll_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redfence/redfence/proxy/poll"
)

// patience bounds the wait for what must happen.
const patience = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// taker is a handler that hands on what it takes.
type taker struct {
	buf  [16]byte
	keep atomic.Bool
	got  chan string
}

func newTaker() *taker {
	t := &taker{got: make(chan string, 64)}
	t.keep.Store(true)
	return t
}

func (t *taker) Room() []byte { return t.buf[:] }

func (t *taker) Took(n int) bool {
	t.got <- string(t.buf[:n])
	return t.keep.Load()
}

func (t *taker) next(tb testing.TB) string {
	tb.Helper()
	select {
	case s := <-t.got:
		return s
	case <-time.After(patience):
		tb.Fatal("the handler got nothing")
		return ""
	}
}

// connect returns a connection of a loop, and its peer.
func connect(t *testing.T, h poll.Handler, behind func()) (*poll.Conn, net.Conn) {
	t.Helper()
	loop, err := poll.New(behind)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	accepted, err := l.Accept()
	require.NoError(t, err)
	c, err := loop.NewConn(accepted, h)
	require.NoError(t, err)
	require.ErrorIs(t, accepted.SetDeadline(time.Time{}), net.ErrClosed, "it is taken over")
	require.Equal(t, peer.LocalAddr().String(), c.RemoteAddr().String())
	require.Equal(t, peer.RemoteAddr().String(), c.LocalAddr().String())
	t.Cleanup(func() {
		_ = c.Close()
		_ = peer.Close()
		require.NoError(t, loop.Close())
	})
	return c, peer
}

// outcome is what a Read returned.
type outcome struct {
	text string
	err  error
}

// reading calls Read until it has bytes or an error.
func reading(c *poll.Conn) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		p := make([]byte, 64)
		for {
			if n, err := c.Read(p); n > 0 || err != nil {
				done <- outcome{string(p[:n]), err}
				return
			}
		}
	}()
	return done
}

func TestTheHandlerTakesWhatComes(t *testing.T) {
	h, rounds := newTaker(), make(chan struct{}, 64)
	c, peer := connect(t, h, func() { rounds <- struct{}{} })
	done := reading(c)
	for _, text := range []string{"x", "one", "two", "three"} {
		// The first may come before Read waits, and is the reader's then.
		_, err := peer.Write([]byte(text))
		require.NoError(t, err)
		select {
		case got := <-h.got:
			require.Equal(t, text, got)
			<-rounds
		case got := <-done:
			require.Equal(t, outcome{text: text}, got)
			done = reading(c)
		case <-time.After(patience):
			t.Fatal("nobody got it")
		}
	}
	require.NoError(t, c.Close())
	require.ErrorIs(t, (<-done).err, net.ErrClosed)
}

// parked has the loop hold a connection whose Read waits.
func parked(t *testing.T, h *taker) (*poll.Conn, net.Conn, <-chan outcome) {
	t.Helper()
	c, peer := connect(t, h, func() {})
	done := reading(c)
	for {
		_, err := peer.Write([]byte("x"))
		require.NoError(t, err)
		select {
		case <-h.got:
			return c, peer, done
		case <-done:
			done = reading(c)
		}
	}
}

func TestWhatEndsARead(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(c *poll.Conn, peer net.Conn) error
		want error
	}{
		"the end of input": {func(_ *poll.Conn, peer net.Conn) error { return peer.(*net.TCPConn).CloseWrite() }, io.EOF},
		"a reset": {func(_ *poll.Conn, peer net.Conn) error {
			return errors.Join(peer.(*net.TCPConn).SetLinger(0), peer.Close())
		}, os.ErrProcessDone},
		"closing it": {func(c *poll.Conn, _ net.Conn) error { return c.Close() }, net.ErrClosed},
		"a deadline in the past": {func(c *poll.Conn, _ net.Conn) error {
			return c.SetReadDeadline(time.Now())
		}, os.ErrDeadlineExceeded},
		"a deadline soon": {func(c *poll.Conn, _ net.Conn) error {
			return c.SetDeadline(time.Now().Add(5 * time.Millisecond))
		}, os.ErrDeadlineExceeded},
		"a deadline that came nearer": {func(c *poll.Conn, _ net.Conn) error {
			return errors.Join(c.SetReadDeadline(time.Now().Add(time.Hour)), c.SetReadDeadline(time.Now().Add(time.Millisecond)))
		}, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			c, peer, done := parked(t, newTaker())
			require.NoError(t, test.do(c, peer))
			select {
			case got := <-done:
				require.Error(t, got.err)
				if !errors.Is(test.want, os.ErrProcessDone) {
					require.ErrorIs(t, got.err, test.want)
				}
			case <-time.After(patience):
				t.Fatal("Read waits on")
			}
		})
	}
}

// TestLastBytesBeforeTheEnd holds that bytes and the end of input that come together are both seen.
func TestLastBytesBeforeTheEnd(t *testing.T) {
	for range 50 {
		h := newTaker()
		_, peer, done := parked(t, h)
		_, err := peer.Write([]byte("last"))
		require.NoError(t, err)
		require.NoError(t, peer.Close())
		var seen outcome
		select {
		case seen = <-done:
		case <-time.After(patience):
			t.Fatal("Read waits on")
		}
		if seen.err != nil { // the loop had the bytes
			require.Equal(t, "last", h.next(t))
			require.ErrorIs(t, seen.err, io.EOF)
		} else {
			require.Equal(t, "last", seen.text)
		}
	}
}

func TestWhatTheHandlerLeavesIsTheReaders(t *testing.T) {
	h := newTaker()
	c, peer, done := parked(t, h)
	h.keep.Store(false)
	for _, text := range []string{"mine", "more"} {
		_, err := peer.Write([]byte(text))
		require.NoError(t, err)
		select {
		case got := <-h.got: // it keeps its bytes; the reader goes on behind them
			require.Equal(t, text, got)
		case got := <-done:
			require.Equal(t, outcome{text: text}, got)
			done = reading(c)
		case <-time.After(patience):
			t.Fatal("nobody got it")
		}
	}
	long := bytes.Repeat([]byte("0123456789"), 10)
	h.keep.Store(true)
	_, err := peer.Write(long)
	require.NoError(t, err)
	go func() {
		for {
			got := <-done
			h.got <- got.text // in one channel with what the handler takes, so that the order can be seen
			if got.err != nil {
				return
			}
			done = reading(c)
		}
	}()
	all := ""
	for len(all) < len(long) { // more than the handler has room for
		all += h.next(t)
	}
	require.Equal(t, string(long), all)
}

func TestAWriteWaitsForRoom(t *testing.T) {
	c, peer := connect(t, newTaker(), func() {})
	block := bytes.Repeat([]byte("a"), 1<<20)
	sent := 0
	for n := c.TryWrite(block); n > 0; n = c.TryWrite(block) {
		sent += n
	}
	require.NoError(t, c.SetWriteDeadline(time.Now().Add(5*time.Millisecond)))
	n, err := c.Write(block)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	sent += n
	require.NoError(t, c.SetWriteDeadline(time.Time{}))
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(block)
		wrote <- err
	}()
	_, err = io.CopyN(io.Discard, peer, int64(sent+len(block)))
	require.NoError(t, err)
	require.NoError(t, <-wrote)
}

func TestClosingEndsAWrite(t *testing.T) {
	c, _ := connect(t, newTaker(), func() {})
	wrote := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, 64<<20))
		wrote <- err
	}()
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-wrote, net.ErrClosed)
	require.ErrorIs(t, c.Close(), net.ErrClosed)
	require.Zero(t, c.TryWrite([]byte("x")))
}

// TestAHangUpIsSeenBehindBytes that nobody has read.
func TestAHangUpIsSeenBehindBytes(t *testing.T) {
	polled, first := connect(t, newTaker(), func() {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	second, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	plain, err := l.Accept()
	require.NoError(t, err)
	for name, pair := range map[string][2]net.Conn{"of the loop": {polled, first}, "of the runtime": {plain, second}} {
		t.Run(name, func(t *testing.T) {
			conn, peer := pair[0], pair[1]
			_, err := peer.Write([]byte("more than one reads"))
			require.NoError(t, err)
			require.False(t, poll.HungUp(conn))
			require.NoError(t, peer.(*net.TCPConn).CloseWrite())
			require.Eventually(t, func() bool { return poll.HungUp(conn) }, patience, time.Millisecond)
			require.NoError(t, conn.Close())
			require.True(t, poll.HungUp(conn))
			require.NoError(t, peer.Close())
		})
	}
	near, far := net.Pipe()
	require.NoError(t, far.Close())
	require.False(t, poll.HungUp(near), "it is no socket")
	require.NoError(t, near.Close())
}
