package proxy

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/proxy/instant"
)

// DefaultWriteTimeout is how long a write may make no progress before the connection is given up: the peer is stuck,
// or gone without a word.
const DefaultWriteTimeout = time.Minute

// writePiece is how much must get through within one time-out.
const writePiece = 256 << 10

// deadlineWriter writes to a connection and gives up when the peer takes nothing. One goroutine uses it at a time.
type deadlineWriter struct {
	conn    net.Conn
	instant instant.Writer // nil when a write may always wait
	timeout time.Duration
	total   *atomic.Int64 // bytes written
	renewed time.Time     // when the deadline was last set
}

// Write writes all of p.
func (w *deadlineWriter) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		if err := w.renew(); err != nil {
			return written, err
		}
		n, err := w.conn.Write(p[written:min(len(p), written+writePiece)])
		written += n
		w.total.Add(int64(n))
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// tryWrite writes what the connection takes without waiting, and returns how many bytes that were. It tells of no error: the
// next Write meets the same, and moves a deadline that has passed.
func (w *deadlineWriter) tryWrite(p []byte) int {
	if w.instant == nil {
		return 0
	}
	n := w.instant.TryWrite(p)
	w.total.Add(int64(n))
	return n
}

// renew moves the deadline. It costs a little, so it is done only when a quarter of the time is used up.
func (w *deadlineWriter) renew() error {
	now := time.Now()
	if now.Sub(w.renewed) < w.timeout/4 {
		return nil
	}
	w.renewed = now
	return w.conn.SetWriteDeadline(now.Add(w.timeout))
}
