// Package wait holds the blocked commands of a process: BLPOP and its relatives
// (https://redis.io/docs/latest/commands/blpop/, "Blocking behavior").
//
// A backend knows no waiting. It runs such a command as one that does not wait, and says when a key has gained
// elements. So a waiter is entered at the end of the queues of its keys before it is tried for the first time, and
// tried again when one of them is ready and it is its turn. All tries go through one stream, in calls that follow one
// another: none begins before the last is answered. This is what makes the order of arrival hold, and what keeps one
// element from two waiters and one waiter from two elements. A call serves many waiters at once, as one entry of the
// log, so the order costs little.
package wait

import (
	"container/list"
	"sync"
	"time"

	"github.com/redfence/redfence/commands"
)

// Stream carries the calls in order; see the stream of a session in package proxy.
type Stream interface {
	Submit(c *commands.Call)
}

// Registry is the waiters of a process.
type Registry struct {
	mu      sync.Mutex
	stream  Stream
	queues  map[place]*queue
	fresh   list.List // of *Waiter: entered and never tried
	ready   []*queue  // whose keys may have elements, in the order in which they became ready
	working bool      // a goroutine makes calls
	count   int
	blocked int // of these, those that were tried in vain
}

// New returns a registry without waiters.
func New() *Registry { return &Registry{queues: map[place]*queue{}} }

// Use names the stream that tries go through. It must be called before the first waiter is entered.
func (r *Registry) Use(s Stream) {
	r.mu.Lock()
	r.stream = s
	r.mu.Unlock()
}

// Len is the number of waiters.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// Blocked is the number of waiters that were tried in vain, and so wait for others. What somebody does who has seen
// their number comes after what they found.
func (r *Registry) Blocked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blocked
}

// Enter puts a waiter behind those who came earlier, and has it tried.
func (r *Registry) Enter(w *Waiter) {
	r.mu.Lock()
	if w.verdict != nil {
		w.state = stateOver
		r.mu.Unlock()
		w.verdict()
		return
	}
	for _, key := range w.keys {
		r.place(w, place{w.request.DB, key, w.request.Spec.Group})
	}
	r.count++
	r.fresh.PushBack(w)
	if w.timeout > 0 {
		w.timer = time.AfterFunc(w.timeout, w.expire)
	}
	r.work()
	r.mu.Unlock()
}

// place enters a waiter in a queue, unless it is there: a key may be named twice.
func (r *Registry) place(w *Waiter, at place) {
	for _, e := range w.places {
		if e.queue.place == at {
			return
		}
	}
	q := r.queues[at]
	if q == nil {
		q = &queue{place: at, batch: 1}
		r.queues[at] = q
	}
	w.places = append(w.places, entered{q, q.waiters.PushBack(w)})
}

// leave takes a waiter off the books; r.mu is held.
func (r *Registry) leave(w *Waiter) {
	w.state = stateOver
	r.count--
	if w.tried {
		r.blocked--
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	for _, e := range w.places {
		e.queue.waiters.Remove(e.element)
		if e.queue.waiters.Len() == 0 {
			delete(r.queues, e.queue.place)
		}
	}
	w.places = nil
}

// Ready says that a key has gained elements. State machines call it, in the order of the log; it does not block.
func (r *Registry) Ready(db int, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == 0 {
		return
	}
	for _, group := range []commands.Group{commands.ListGroup, commands.ZSetGroup} {
		if q := r.queues[place{db, key, group}]; q != nil {
			r.mark(q)
		}
	}
	r.work()
}

// ReadyAll says that any key of a database may have elements now.
func (r *Registry) ReadyAll(db int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, q := range r.queues {
		if at.db == db {
			r.mark(q)
		}
	}
	r.work()
}

// mark notes that a queue is to be served; r.mu is held.
func (r *Registry) mark(q *queue) {
	if !q.ready {
		q.ready = true
		r.ready = append(r.ready, q)
	}
}

// work starts the goroutine that makes calls, if there is something to try; r.mu is held.
func (r *Registry) work() {
	if !r.working && (r.fresh.Len() > 0 || len(r.ready) > 0) {
		r.working = true
		go r.run()
	}
}

// run makes calls as long as there is something to try.
func (r *Registry) run() {
	for {
		r.mu.Lock()
		round := r.gather()
		if round == nil {
			r.working = false
			r.mu.Unlock()
			return
		}
		stream := r.stream
		r.mu.Unlock()
		result := make(chan commands.Result, 1)
		stream.Submit(round.call(func(res commands.Result) { result <- res }))
		r.settle(round, <-result)
	}
}
