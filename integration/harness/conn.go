package harness

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"
)

// ReplyTimeout is how long a connection waits for one reply.
const ReplyTimeout = 20 * time.Second

// Wire is a raw RESP connection that returns its errors: for tests in which
// connections are meant to break. It is not safe for concurrent use, except
// that one goroutine may send while another receives.
type Wire struct {
	conn net.Conn
	r    *bufio.Reader
}

// Open connects to a server.
func Open(addr string) (*Wire, error) {
	conn, err := net.DialTimeout("tcp", addr, ReplyTimeout)
	if err != nil {
		return nil, err
	}
	return &Wire{conn: conn, r: bufio.NewReader(conn)}, nil
}

// Send writes one command as a RESP array of bulk strings.
func (w *Wire) Send(args ...string) error { return w.SendRaw(Encode(args...)) }

// SendRaw writes bytes as they are.
func (w *Wire) SendRaw(b []byte) error {
	_, err := w.conn.Write(b)
	return err
}

// Receive reads the next reply or push.
func (w *Wire) Receive() (Reply, error) { return w.ReceiveWithin(ReplyTimeout) }

// ReceiveWithin is Receive with a time limit of its own.
func (w *Wire) ReceiveWithin(d time.Duration) (Reply, error) {
	if err := w.conn.SetReadDeadline(time.Now().Add(d)); err != nil {
		return Reply{}, err
	}
	return ReadReply(w.r)
}

// Do sends one command and reads one reply.
func (w *Wire) Do(args ...string) (Reply, error) {
	if err := w.Send(args...); err != nil {
		return Reply{}, err
	}
	return w.Receive()
}

// Close hangs up.
func (w *Wire) Close() error { return w.conn.Close() }

// Encode is the wire form of a command.
func Encode(args ...string) []byte {
	b := append([]byte{'*'}, strconv.Itoa(len(args))...)
	for _, arg := range args {
		b = append(b, "\r\n$"...)
		b = strconv.AppendInt(b, int64(len(arg)), 10)
		b = append(append(b, "\r\n"...), arg...)
	}
	return append(b, "\r\n"...)
}

// Conn is a Wire that fails the test on a broken connection, so that its
// methods return replies only. Use it on the test's goroutine.
type Conn struct {
	Wire *Wire
	t    testing.TB
}

// Dial connects to a server and hangs up when the test ends.
func Dial(t testing.TB, addr string) *Conn {
	t.Helper()
	w, err := Open(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return &Conn{Wire: w, t: t}
}

// Do sends one command and returns its reply.
func (c *Conn) Do(args ...string) Reply {
	c.t.Helper()
	reply, err := c.Wire.Do(args...)
	c.check(err, args)
	return reply
}

// Send writes one command and leaves its reply to Receive.
func (c *Conn) Send(args ...string) {
	c.t.Helper()
	c.check(c.Wire.Send(args...), args)
}

// SendRaw writes bytes as they are.
func (c *Conn) SendRaw(b []byte) {
	c.t.Helper()
	c.check(c.Wire.SendRaw(b), b)
}

// Receive returns the next reply or push.
func (c *Conn) Receive() Reply {
	c.t.Helper()
	reply, err := c.Wire.Receive()
	c.check(err, "receive")
	return reply
}

// Silent tells whether nothing arrives within d.
func (c *Conn) Silent(d time.Duration) bool {
	_, err := c.Wire.ReceiveWithin(d)
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// Want sends one command and fails the test when the reply, as Reply.String
// shows it, is not want.
func (c *Conn) Want(want string, args ...string) {
	c.t.Helper()
	if got := c.Do(args...).String(); got != want {
		c.t.Fatalf("%q answered %s, want %s", args, got, want)
	}
}

// Int sends one command and returns its integer reply.
func (c *Conn) Int(args ...string) int64 {
	c.t.Helper()
	reply := c.Do(args...)
	n, ok := reply.Int()
	if !ok {
		c.t.Fatalf("%q answered %s, want an integer", args, reply)
	}
	return n
}

func (c *Conn) check(err error, what any) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(fmt.Errorf("%q: %w", what, err))
	}
}
