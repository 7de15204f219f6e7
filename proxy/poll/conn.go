// Package poll serves the input of many connections on one goroutine.
//
// A goroutine for each connection that waits in Read costs, for every request of a client that waits for its answer, a read
// that finds nothing, a stop and a start of the goroutine. A Loop waits for all its connections at once, reads each
// that has something, and has its Handler look at it; only what the handler does not want to do there wakes the goroutine
// that waits in Conn.Read.
package poll

import (
	"errors"
	"net"
	"sync"
	"time"
)

// ErrUnsupported is returned where a loop cannot be had, for an operating system or a connection.
var ErrUnsupported = errors.New("poll: not supported")

// errNothing says that the system would have to wait.
var errNothing = errors.New("poll: nothing can be done without waiting")

// Handler takes what a loop reads. While it is called, nobody is in Conn.Read but to wait.
type Handler interface {
	// Room is where the loop may read to, not empty.
	Room() []byte
	// Took says that n bytes were read into Room. It must not wait. When it is false, or Room was filled, whoever waits in
	// Read goes on.
	Took(n int) bool
}

// holder says who may read from a connection.
type holder uint8

const (
	withReader holder = iota // whoever calls Read
	withNobody               // the reader waits, so the next event is the loop's
	withLoop                 // while it handles an event
)

// Conn is a connection whose socket a loop watches, and Go's own poller does not: that would wake up for the same bytes.
// It implements net.Conn; Read is for one goroutine, and so is Write.
type Conn struct {
	socket        socket
	loop          *Loop
	handler       Handler
	id            uint64 // in the loop
	local, remote net.Addr

	mu      sync.Mutex
	held    holder
	again   bool // the reader must look before it waits
	reading side
	writing side

	failed error // what the loop's read met; of whom held says
}

// side is one direction of a connection.
type side struct {
	deadline time.Time     // zero for none
	wake     chan struct{} // who waits looks again when it holds a token
}

// NewConn takes over a connection: it is closed, and what is returned is the same connection.
func (l *Loop) NewConn(conn net.Conn, h Handler) (*Conn, error) {
	c := &Conn{loop: l, handler: h, local: conn.LocalAddr(), remote: conn.RemoteAddr()}
	c.reading.wake, c.writing.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	if err := c.socket.adopt(conn); err != nil {
		return nil, err
	}
	if err := l.add(c); err != nil {
		return nil, errors.Join(err, c.socket.close())
	}
	return c, conn.Close()
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// Read reads what is there, or waits. It reads nothing, without an error, when its handler has left something to do,
// and when something may have happened to the connection: a deadline, Close. The caller looks, and calls again.
func (c *Conn) Read(p []byte) (int, error) {
	if err := c.failed; err != nil {
		c.failed = nil
		return 0, err
	}
	for {
		c.look()
		if err := c.late(&c.reading); err != nil {
			return 0, err
		}
		n, err := c.socket.read(p)
		if !errors.Is(err, errNothing) {
			return n, err
		}
		if c.park() {
			c.await(&c.reading, c.Wake)
			return 0, c.late(&c.reading)
		}
	}
}

// look takes note that the reader looks now.
func (c *Conn) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again = false
}

// park leaves the connection to the loop, unless something has happened to it.
func (c *Conn) park() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.again {
		return false
	}
	c.held = withNobody
	return true
}

// Wake has Read return soon, if it waits. Any goroutine may call it.
func (c *Conn) Wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == withNobody {
		c.handBack()
	} else {
		c.again = true
	}
}

// handBack gives the connection to the reader. c.mu is held.
func (c *Conn) handBack() {
	c.held, c.again = withReader, false
	c.reading.wake <- struct{}{}
}

// Write writes all of p, and waits for room when there is none.
func (c *Conn) Write(p []byte) (int, error) {
	written := 0
	for {
		n, err := c.socket.write(p[written:])
		written += n
		if written == len(p) || err != nil && !errors.Is(err, errNothing) {
			return written, err
		}
		if n > 0 {
			continue // when the system has no room at all it tells when there is some
		}
		c.await(&c.writing, c.wakeWriter)
		if err := c.late(&c.writing); err != nil {
			return written, err
		}
	}
}

// TryWrite writes what can be written without waiting, and returns how many bytes that were. It tells of no error: the next
// Write meets the same.
func (c *Conn) TryWrite(p []byte) int {
	n, _ := c.socket.write(p)
	return n
}

func (c *Conn) wakeWriter() {
	select {
	case c.writing.wake <- struct{}{}:
	default:
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.loop.forget(c)
	err := c.socket.close()
	c.Wake()
	c.wakeWriter()
	return err
}

// ready handles an event: there is something to read, or when over is set, the peer has ended its side or the connection
// has failed. Only the loop calls it.
func (c *Conn) ready(over bool) {
	c.mu.Lock()
	if c.held != withNobody {
		c.again = true
		c.mu.Unlock()
		return
	}
	c.held = withLoop
	c.mu.Unlock()
	keeps := !over && c.serve()
	c.mu.Lock()
	defer c.mu.Unlock()
	if keeps && !c.again {
		c.held = withNobody
	} else {
		c.handBack()
	}
}

// serve reads once. The system tells of what comes when all was read; so when not all may be, the reader goes on.
func (c *Conn) serve() bool {
	room := c.handler.Room()
	n, err := c.socket.read(room)
	switch {
	case errors.Is(err, errNothing):
		return true
	case err != nil:
		c.failed = err
		return false
	}
	return c.handler.Took(n) && n < len(room)
}
