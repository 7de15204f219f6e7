package node

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"syscall"
	"time"
)

// wire is a connection to which can be written without waiting, and that knows whether the other end has hung up.
type wire struct {
	net.Conn
	raw syscall.RawConn // nil when the connection has no descriptor
	try func(fd uintptr) bool

	p   []byte // of tryWrite
	n   int
	err error
}

// dial connects within timeout, with TLS when the address asks for it.
func (a *address) dial(ctx context.Context, timeout time.Duration) (*wire, net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", a.options.Addr)
	if err != nil {
		return nil, nil, err
	}
	w := newWire(conn)
	if a.options.TLSConfig == nil {
		return w, w, nil
	}
	secured := tls.Client(w, a.options.TLSConfig)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake's error says more
		return nil, nil, err
	}
	return w, secured, nil
}

func newWire(conn net.Conn) *wire {
	w := &wire{Conn: conn}
	if s, ok := conn.(syscall.Conn); ok {
		w.raw, _ = s.SyscallConn() // without it nothing is written at once
	}
	w.try = func(fd uintptr) bool {
		if w.err = hungUp(int(fd)); w.err == nil {
			w.n, w.err = syscall.Write(int(fd), w.p)
		}
		return true // done, whatever came of it: Go's sockets do not block
	}
	return w
}

// alive tells whether the other end has not hung up, as far as this end has heard. Nobody must be reading.
func (w *wire) alive() bool {
	if w.raw == nil {
		return true
	}
	var err error
	failed := w.raw.Read(func(fd uintptr) bool {
		err = hungUp(int(fd))
		return true
	})
	return failed == nil && err == nil
}

// hungUp peeks at a socket. So an idle connection that a restart of the node closed is found before anything is written.
func hungUp(fd int) error {
	var one [1]byte
	n, _, err := syscall.Recvfrom(fd, one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	switch {
	case n == 0 && err == nil:
		return io.EOF
	case temporary(err):
		return nil
	}
	return err
}

func temporary(err error) bool { return err == syscall.EAGAIN || err == syscall.EINTR } //nolint:errorlint // of the system, never wrapped

// tryWrite writes what the socket takes without waiting. One goroutine uses it at a time.
func (w *wire) tryWrite(p []byte) (n int, err error) {
	if w.raw == nil {
		return 0, nil
	}
	w.p, w.n, w.err = p, 0, nil
	err = w.raw.Write(w.try)
	w.p = nil
	switch {
	case err != nil:
		return 0, err
	case temporary(w.err):
		return 0, nil
	}
	return max(w.n, 0), w.err
}
