package node

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// wire is a connection that knows whether anything was written to it, and whether the other end has hung up.
type wire struct {
	net.Conn
	raw     syscall.RawConn // nil when the connection has no descriptor
	written atomic.Int64    // bytes
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
	w := &wire{Conn: conn}
	if s, ok := conn.(syscall.Conn); ok {
		w.raw, _ = s.SyscallConn() // without it the check of alive is left out
	}
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

// Write implements net.Conn. It counts before it writes: what fails half way counts as written.
func (w *wire) Write(p []byte) (int, error) {
	w.written.Add(int64(len(p)))
	return w.Conn.Write(p)
}

// alive tells whether the other end has not hung up, as far as this end has heard, by peeking at the socket.
// An idle connection that a restart of the node closed is found before anything is written to it.
func (w *wire) alive() bool {
	if w.raw == nil {
		return true
	}
	var err error
	readErr := w.raw.Read(func(fd uintptr) bool {
		var one [1]byte
		var n int
		n, _, err = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if n == 0 && err == nil {
			err = io.EOF
		}
		return true
	})
	return readErr == nil && (err == nil || errors.Is(err, syscall.EAGAIN))
}
