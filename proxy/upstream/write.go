package upstream

import (
	"net"
	"syscall"
	"time"
)

// writeTimeout is how long a write may make no progress before the connection is given up.
const writeTimeout = 20 * time.Second

// instant writes what a socket takes without waiting. One goroutine uses it at a time.
type instant struct {
	socket syscall.RawConn
	write  func(fd uintptr) bool // a field, so that a write allocates nothing
	p      []byte
	n      int
}

// newInstant returns nil for a connection that is no bare socket, such as one with TLS.
func newInstant(conn net.Conn) *instant {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	socket, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	w := &instant{socket: socket}
	w.write = func(fd uintptr) bool {
		w.n, _ = syscall.Write(int(fd), w.p) // Go's sockets do not block: a full one is an error, and the same comes again
		return true                          // done, whatever came of it
	}
	return w
}

// try writes the first n bytes of p; n may be 0.
func (w *instant) try(p []byte) (n int) {
	w.p, w.n = p, 0
	err := w.socket.Write(w.write)
	w.p = nil
	if err != nil {
		return 0
	}
	return max(w.n, 0)
}

// Flush is part of proxy.Link.
func (l *link) Flush() {
	l.mu.Lock()
	l.flush()
	l.mu.Unlock()
}

// flush writes what the socket takes at once, and leaves the rest to a goroutine. l.mu is held.
func (l *link) flush() {
	if len(l.out) == 0 || l.writing || l.conn == nil {
		return
	}
	if l.instant != nil {
		n := l.instant.try(l.out)
		l.out = l.out[:copy(l.out, l.out[n:])]
	}
	if len(l.out) > 0 {
		l.writing = true
		conn := l.conn
		l.u.running.Go(func() { l.drain(conn) })
	}
}

// drain writes until nothing is left. A connection that fails ends, which its reader sees.
func (l *link) drain(conn net.Conn) {
	for {
		l.mu.Lock()
		if l.conn != conn { // another connection is not this goroutine's
			l.mu.Unlock()
			return
		}
		if len(l.out) == 0 {
			l.writing = false
			l.mu.Unlock()
			return
		}
		out := l.out
		l.out = nil
		l.mu.Unlock()
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := conn.Write(out); err != nil {
			_ = conn.Close()
		}
	}
}
