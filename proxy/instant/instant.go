// Package instant writes to a connection without waiting.
//
// Most replies fit into what the socket still takes. Who writes them at once needs no goroutine that could wait, and the rest, if
// there is any, goes to one.
package instant

import (
	"net"
	"syscall"
)

// Writer writes without waiting. TryWrite writes what a connection takes at once, which may be nothing, and returns how many bytes
// that were. It tells of no error: the next write meets the same.
type Writer interface{ TryWrite(p []byte) int }

// socket is the Writer of a bare socket. One goroutine uses it at a time.
type socket struct {
	raw   syscall.RawConn
	write func(fd uintptr) bool // a field, so that a write allocates nothing
	p     []byte
	n     int
}

// New returns the Writer of a connection, and nil for one that is neither a Writer nor a bare socket, such as one with TLS. One
// goroutine uses it at a time.
func New(conn net.Conn) Writer {
	if w, ok := conn.(Writer); ok {
		return w
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	w := &socket{raw: raw}
	w.write = func(fd uintptr) bool {
		w.n, _ = syscall.Write(int(fd), w.p) // Go's sockets do not block: a full one is an error, and the same comes again
		return true                          // done, whatever came of it
	}
	return w
}

// TryWrite implements Writer.
func (w *socket) TryWrite(p []byte) (n int) {
	w.p, w.n = p, 0
	err := w.raw.Write(w.write)
	w.p = nil
	if err != nil {
		return 0
	}
	return max(w.n, 0)
}
