package proxy

import (
	"net"
	"syscall"
)

// instant is what can write without waiting. TryWrite writes what a socket takes at once, which may be nothing, and returns how
// many bytes that were. It tells of no error: the next write meets the same.
type instant interface{ TryWrite(p []byte) int }

// instantWriter writes what a socket takes without waiting. One goroutine uses it at a time.
type instantWriter struct {
	socket syscall.RawConn
	write  func(fd uintptr) bool // a field, so that a write allocates nothing
	p      []byte
	n      int
}

// newInstantWriter returns nil for a connection that is no bare socket, such as one with TLS.
func newInstantWriter(conn net.Conn) instant {
	if i, ok := conn.(instant); ok {
		return i
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	socket, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	w := &instantWriter{socket: socket}
	w.write = func(fd uintptr) bool {
		w.n, _ = syscall.Write(int(fd), w.p) // Go's sockets do not block: a full one is an error, and the same comes again
		return true                          // done, whatever came of it
	}
	return w
}

// TryWrite implements instant.
func (w *instantWriter) TryWrite(p []byte) (n int) {
	w.p, w.n = p, 0
	err := w.socket.Write(w.write)
	w.p = nil
	if err != nil {
		return 0
	}
	return max(w.n, 0)
}
