package upstream

import (
	"net"
	"time"
)

// writeTimeout is how long a write may make no progress before the connection is given up.
const writeTimeout = 20 * time.Second

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
		n := l.instant.TryWrite(l.out)
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
