package raftstore

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

const (
	// hotFor is how long after a change of a lock its refused attempts are held back.
	hotFor = 5 * time.Millisecond
	// heldBack is how long a refused attempt on a hot lock waits for the next change before it is answered.
	heldBack = time.Millisecond
	// parkedFor is hotFor when attempts are parked: who waits for a lock that is held for longer gains nothing by it.
	parkedFor = time.Second
	// maxContended is how many contended locks are remembered; then those without attempts are forgotten.
	maxContended = 4096
)

// handOver lets a contended lock pass from one holder to the next in one entry of the log. Clients that want a lock
// ask again and again, and a change of holder would take two passes: one for the release, and one for the attempt
// that comes first after it. So while a lock changes hands quickly, an attempt that was refused is not answered at
// once: it waits for a moment, and when a change of the lock goes into the log it follows right behind. The log then
// decides as ever; an attempt for which nothing comes gets the refusal that it had coming.
type handOver struct {
	hotFor, heldBack time.Duration

	mu    sync.Mutex
	locks map[lockKey]*contention
	any   atomic.Bool // locks is not empty
}

func (c Config) newHandOver() handOver {
	if c.Park > 0 {
		return newHandOver(parkedFor, c.Park)
	}
	return newHandOver(c.hotFor, c.heldBack)
}

func newHandOver(hotFor, heldBack time.Duration) handOver {
	return handOver{hotFor: hotFor, heldBack: heldBack, locks: map[lockKey]*contention{}}
}

type lockKey struct {
	db  int
	key string
}

// contention is a lock that somebody was refused.
type contention struct {
	changed  time.Time // when something that may have released it last went into the queue
	attempts []*attempt
}

// attempt is a refused attempt that is held back.
type attempt struct {
	waiting
	refusal resp.Value
	lock    *contention
	timer   *time.Timer
	taken   atomic.Bool // somebody answers it or has put it into the queue
}

// take claims the attempt for the caller.
func (a *attempt) take() bool { return !a.taken.Swap(true) }

// wantsAbsent tells whether a call is an attempt to take a lock that fails while the key is there, and says nothing
// else: SET with NX, and SETNX.
func wantsAbsent(c *commands.Call) bool {
	if c.Block {
		return false
	}
	r := c.Requests[0]
	opts, ok := r.Opts.(args.SetOptions)
	return ok && opts.When == args.IfAbsent && !opts.Get
}

// hold keeps a refused attempt back when its lock changes hands quickly. Else the caller answers it.
func (h *handOver) hold(w waiting, refusal resp.Value) *attempt {
	r := w.call.Requests[0]
	h.mu.Lock()
	defer h.mu.Unlock()
	lock := h.locks[lockKey{r.DB, r.Args[1]}]
	if lock == nil {
		h.remember(lockKey{r.DB, r.Args[1]})
		return nil
	}
	if w.since.Sub(lock.changed) > h.hotFor {
		return nil
	}
	a := &attempt{waiting: w, refusal: refusal, lock: lock}
	lock.attempts = append(lock.attempts, a)
	a.timer = time.AfterFunc(h.heldBack, func() {
		if a.take() {
			h.drop(a)
			a.refuse()
		}
	})
	return a
}

// refuse answers the attempt with the refusal that it had coming.
func (a *attempt) refuse() {
	if a.ticket == nil {
		a.finish(commands.Result{Reply: a.refusal})
		return
	}
	a.stream.pending.Add(-1)
	a.stream.store.confirm(trial{a.waiting, a.refusal})
}

// drop forgets an attempt that is settled. What has no attempts left stays: it is known to be contended.
func (h *handOver) drop(a *attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.lock.remove(a)
}

func (c *contention) remove(a *attempt) {
	c.attempts = slices.DeleteFunc(c.attempts, func(b *attempt) bool { return a == b })
}

func (h *handOver) remember(k lockKey) {
	if len(h.locks) >= maxContended {
		for other, lock := range h.locks {
			if len(lock.attempts) == 0 {
				delete(h.locks, other)
			}
		}
	}
	h.locks[k] = &contention{}
	h.any.Store(true)
}

// follow puts the oldest attempt on a lock into the queue, if there is one, behind a call that may release the lock.
func (h *handOver) follow(k lockKey, now time.Time, enqueue func(waiting)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lock := h.locks[k]
	if lock == nil {
		return
	}
	lock.changed = now
	for len(lock.attempts) > 0 {
		a := lock.attempts[0]
		lock.attempts = slices.Delete(lock.attempts, 0, 1)
		if a.submit(enqueue) {
			return
		}
	}
}

// submit puts an attempt into the queue unless it is settled already; handOver.mu is held. So who finds it settled
// under that lock knows that it has its place in the queue, and can put what comes next behind it.
func (a *attempt) submit(enqueue func(waiting)) bool {
	if !a.take() {
		return false
	}
	a.timer.Stop()
	enqueue(a.waiting)
	return true
}

// release puts an attempt into the queue in front of what its session asks for next.
func (h *handOver) release(a *attempt, enqueue func(waiting)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.submit(enqueue)
	a.lock.remove(a)
}

// followUp puts attempts into the queue behind a call that may release what they wait for: one for each key.
func (s *Store) followUp(c *commands.Call, now time.Time) {
	if !s.handOver.any.Load() || wantsAbsent(c) {
		return
	}
	for _, r := range c.Requests {
		if r.Spec.Raft != commands.Change {
			continue
		}
		for _, key := range r.Keys() {
			s.handOver.follow(lockKey{r.DB, key}, now, s.enqueue)
		}
	}
}
