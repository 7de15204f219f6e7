package forward

import (
	"net"
	"sync"
)

// maxPiled is how many bytes of answers or calls may wait for the other side before the connection is given up.
const maxPiled = 256 << 20

// Outbox writes frames to a connection, many at once when they come faster than it takes them. Put never waits.
type Outbox struct {
	conn net.Conn
	wake chan struct{}

	mu     sync.Mutex
	piled  []byte
	closed bool
}

// NewOutbox returns an outbox. Somebody must call Run.
func NewOutbox(conn net.Conn) *Outbox {
	return &Outbox{conn: conn, wake: make(chan struct{}, 1)}
}

// Put adds a frame. When the connection is closed it is dropped.
func (o *Outbox) Put(f Frame) {
	o.Pile(f)
	o.Flush()
}

// Pile is Put for a frame behind which others are about to come: somebody calls Flush then.
func (o *Outbox) Pile(f Frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.piled = Append(o.piled, f)
	if len(o.piled) > maxPiled {
		o.shut()
	}
}

// Flush has written what is piled up.
func (o *Outbox) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.piled) == 0 {
		return
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Close closes the connection and ends Run.
func (o *Outbox) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut()
}

func (o *Outbox) shut() {
	if !o.closed {
		o.closed, o.piled = true, nil
		close(o.wake)
		o.conn.Close()
	}
}

// keptPile is the room in bytes that is kept for further frames.
const keptPile = 1 << 20

// Run writes until the connection is closed.
func (o *Outbox) Run() {
	var spare []byte
	for range o.wake {
		o.mu.Lock()
		b := o.piled
		o.piled = spare[:0]
		o.mu.Unlock()
		if _, err := o.conn.Write(b); err != nil {
			o.Close()
			return
		}
		if spare = b; cap(spare) > keptPile {
			spare = nil
		}
	}
}
