// Package wake wakes those who wait for a lock of Redisson when it has become free without a message: when it expired, when its
// key was deleted, when the message was lost with a server, or when it was free before they listened. Redis wakes nobody then,
// and they sleep until the time that they were told when they last asked.
package wake

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy/hub"
)

const (
	// firstLook is how long after a subscription the lock is looked at. A client asks for it once more by itself then, and if it
	// gets it, it listens no longer.
	firstLook = 100 * time.Millisecond
	// between is the time from one look to the next at a lock that is held, unless it ends before.
	between = time.Second
	// longest is the most between two messages that nobody reacts to; the time doubles with each.
	longest = 30 * time.Second
	// mostLooks is how many locks are looked at in a second: with more of them each is looked at less often.
	mostLooks = 1000
	// behind is how long after the end of its TTL a key is surely gone.
	behind = 10 * time.Millisecond
)

// Stream is where the questions go; see proxy.Stream.
type Stream interface {
	Submit(c *commands.Call)
	Close()
}

// Waker looks at the locks for which sessions of this process wait. Its methods are safe for concurrent use and do not block.
type Waker struct {
	hub    *hub.Hub
	open   func() Stream
	asking sync.Mutex // held while the stream is called
	stream Stream     // nil until first needed
	woken  atomic.Int64

	mu      sync.Mutex
	closed  bool
	watched map[place]*watch
}

// place is a channel with the database of those who listen: Redis has one space of channels for all databases.
type place struct {
	db      int
	channel string
}

// watch is one lock that is looked at.
type watch struct {
	place
	keys    []string // that the lock may have
	message string
	timer   *time.Timer
	pause   time.Duration // before the next message
}

// New returns a waker, which opens a stream when it first needs one.
func New(h *hub.Hub, open func() Stream) *Waker {
	return &Waker{hub: h, open: open, watched: map[place]*watch{}}
}

// Woken is how many messages were sent.
func (w *Waker) Woken() int64 { return w.woken.Load() }

// Subscribed takes note that a session of a database listens to a channel now.
func (w *Waker) Subscribed(db int, channel string) {
	keys, message := lockOf(channel)
	if keys == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := place{db, channel}
	if w.closed {
		return
	}
	if known := w.watched[at]; known != nil {
		known.pause = between
		known.timer.Reset(firstLook)
		return
	}
	l := &watch{place: at, keys: keys, message: message, pause: between}
	w.watched[at] = l
	l.timer = time.AfterFunc(firstLook, func() { w.look(l, 0) })
}

// Close ends it.
func (w *Waker) Close() {
	w.mu.Lock()
	w.closed = true
	for _, l := range w.watched {
		l.timer.Stop()
	}
	w.watched = nil
	w.mu.Unlock()
	w.asking.Lock()
	defer w.asking.Unlock()
	if w.stream != nil {
		w.stream.Close()
	}
}

// look asks for how long the lock is held by one of its keys, unless nobody listens any more.
func (w *Waker) look(l *watch, key int) {
	r, err := commands.Bind([]string{"PTTL", l.keys[key]}, l.db)
	w.asking.Lock()
	defer w.asking.Unlock()
	if err != nil || !w.wanted(l) {
		return
	}
	if w.stream == nil {
		w.stream = w.open()
	}
	w.stream.Submit(&commands.Call{Requests: []*commands.Request{r}, Done: func(res commands.Result) {
		switch {
		case res.Reply.IsErr():
			w.again(l, between)
		case res.Reply.Int() == -2 && key+1 < len(l.keys):
			time.AfterFunc(0, func() { w.look(l, key+1) }) // who calls Done is not to be kept
		case res.Reply.Int() == -2:
			w.wake(l)
		case res.Reply.Int() < 0: // no end
			w.held(l, between)
		default:
			w.held(l, min(between, time.Duration(res.Reply.Int())*time.Millisecond+behind))
		}
	}})
}

// wanted tells whether somebody still listens, and forgets the lock if not.
func (w *Waker) wanted(l *watch) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if w.hub.Subscribers(hub.Channel, l.channel) > 0 {
		return true
	}
	delete(w.watched, l.place)
	return false
}

// wake sends the message, and looks again later: whoever gets the lock, others may wait on.
func (w *Waker) wake(l *watch) {
	w.woken.Add(1)
	w.hub.Message(commands.Message{Channel: l.channel, Payload: l.message})
	w.mu.Lock()
	pause := l.pause
	l.pause = min(2*pause, longest)
	w.mu.Unlock()
	w.again(l, pause)
}

// held looks again at a lock that somebody has. What comes after that is new, so the next message does not wait.
func (w *Waker) held(l *watch, after time.Duration) {
	w.mu.Lock()
	l.pause = between
	w.mu.Unlock()
	w.again(l, after)
}

// again looks again after a while; longer when there are very many locks.
func (w *Waker) again(l *watch, after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	l.timer.Reset(max(after, time.Duration(len(w.watched))*time.Second/mostLooks))
}
