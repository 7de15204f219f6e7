package wait

import (
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// Waiter is one blocked command.
type Waiter struct {
	registry *Registry
	request  *commands.Request
	keys     []string
	timeout  time.Duration
	done     func(commands.Result)

	// The registry guards the rest.
	places  []entered
	timer   *time.Timer
	state   state
	tried   bool   // in vain
	verdict func() // ends the wait unless the call under way brings an element
}

// state is the life of a waiter.
type state uint8

const (
	stateNew     state = iota // never tried, perhaps not even entered
	stateFlying               // part of the call under way
	stateWaiting              // there was nothing when it was tried last
	stateOver                 // answered
)

// NewWaiter returns a waiter that is not entered yet. done is called once with the outcome, from any goroutine,
// unless Abandon comes first; it must not block.
func (r *Registry) NewWaiter(req *commands.Request, done func(commands.Result)) *Waiter {
	b, _ := req.Waits()
	return &Waiter{registry: r, request: req, keys: b.Keys, timeout: b.Timeout, done: done}
}

// Unblock ends the wait as if its time were over, or with an error, for CLIENT UNBLOCK
// (https://redis.io/docs/latest/commands/client-unblock/). It is false when the wait was over. An element that is on
// its way to the waiter still wins.
func (w *Waiter) Unblock(withError bool) bool {
	reply := nothing
	if withError {
		reply = resp.ErrUnblocked.Value()
	}
	return w.end(func() { w.done(commands.Result{Reply: reply}) })
}

// Abandon ends the wait of a client that is gone, and calls gone instead of done. An element that is on its way to
// the waiter is still handed to done.
func (w *Waiter) Abandon(gone func()) { w.end(gone) }

// expire ends the wait when its time is over.
func (w *Waiter) expire() { w.Unblock(false) }

// end ends the wait with a verdict, at once or when the call under way has come back without an element.
func (w *Waiter) end(verdict func()) bool {
	r := w.registry
	r.mu.Lock()
	switch {
	case w.state == stateOver:
		r.mu.Unlock()
		return false
	case w.state == stateFlying, !w.entered():
		if w.verdict == nil {
			w.verdict = verdict
		}
		r.mu.Unlock()
		return true
	}
	r.leave(w)
	r.mu.Unlock()
	verdict()
	return true
}

// entered tells whether the waiter is in queues; the registry's lock is held.
func (w *Waiter) entered() bool { return len(w.places) > 0 }

// nothing is the reply when the time is over.
var nothing = resp.Value{Kind: resp.NullArray}
