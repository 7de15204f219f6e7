package raftstore

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

const (
	// hotFor is how long after a change of a lock its refused attempts are held back at least, and maxHotFor at most: in
	// between, it is as long as a few changes take.
	hotFor, maxHotFor = 5 * time.Millisecond, 100 * time.Millisecond
	// hotPaces is how many changes that is.
	hotPaces = 4
	// heldBack is how long a refused attempt on a hot lock waits for its turn at most before it is answered.
	heldBack = 10 * time.Millisecond
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
		return newHandOver(parkedFor, max(c.Park, c.heldBack))
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
	changed  time.Time     // when something that may have released it last went into the queue
	pace     time.Duration // from one change to the next, smoothed
	flying   int           // changes that are in the queue or in the log
	free     bool          // no attempt has followed the last of them
	attempts []*attempt    // the oldest first
	timer    *time.Timer   // when the oldest are refused; nil before the first one
}

// attempt is a refused attempt that is held back.
type attempt struct {
	waiting
	refusal resp.Value
	lock    *contention
	due     time.Time // when it is refused
	taken   bool      // somebody answers it or has put it into the queue; handOver.mu guards it
}

// take claims the attempt for the caller. handOver.mu is held.
func (a *attempt) take() bool {
	free := !a.taken
	a.taken = true
	return free
}

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

// hold keeps a refused attempt back when its lock changes hands quickly, or puts it behind a change of the lock that was
// not applied yet when it was tried. Else the caller answers it.
func (h *handOver) hold(w waiting, refusal resp.Value, enqueue func(waiting) bool) (a *attempt, queued bool) {
	r := w.call.Requests[0]
	h.mu.Lock()
	defer h.mu.Unlock()
	lock := h.locks[lockKey{r.DB, r.Args[1]}]
	switch {
	case lock == nil:
		h.remember(lockKey{r.DB, r.Args[1]})
		return nil, false
	case lock.flying > 0 && lock.free:
		lock.free = false
		enqueue(w)
		return nil, true
	case w.since.Sub(lock.changed) > lock.hotFor(h.hotFor):
		return nil, false
	}
	a = &attempt{waiting: w, refusal: refusal, lock: lock, due: time.Now().Add(h.heldBack)}
	lock.attempts = append(lock.attempts, a)
	if len(lock.attempts) == 1 {
		h.wind(lock, h.heldBack)
	}
	return a, false
}

// hotFor is how long after a change of the lock its attempts are held back.
func (c *contention) hotFor(atLeast time.Duration) time.Duration {
	return max(atLeast, min(hotPaces*c.pace, maxHotFor))
}

// wind sets the timer of a lock.
func (h *handOver) wind(lock *contention, d time.Duration) {
	if lock.timer == nil {
		lock.timer = time.AfterFunc(d, func() { h.refuse(lock) })
		return
	}
	lock.timer.Reset(d)
}

// refuse answers the attempts that are due, or nearly so, with the refusal that they had coming.
func (h *handOver) refuse(lock *contention) {
	for _, a := range h.due(lock, time.Now()) {
		a.refuse()
	}
}

// due takes the attempts that are due before long, and winds the timer for those that are left.
func (h *handOver) due(lock *contention, now time.Time) []*attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	if len(lock.attempts) > 0 && !lock.attempts[0].due.After(now) {
		n = sort.Search(len(lock.attempts), func(i int) bool { return lock.attempts[i].due.Sub(now) > h.heldBack/4 })
	}
	over := slices.DeleteFunc(slices.Clone(lock.attempts[:n]), func(a *attempt) bool { return !a.take() })
	lock.attempts = slices.Delete(lock.attempts, 0, n)
	if len(lock.attempts) > 0 {
		h.wind(lock, lock.attempts[0].due.Sub(now))
	}
	return over
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

// remove forgets an attempt that is settled. What has no attempts left stays: it is known to be contended.
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
func (h *handOver) follow(k lockKey, now time.Time, enqueue func(waiting) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lock := h.locks[k]
	if lock == nil {
		return
	}
	if !lock.changed.IsZero() {
		lock.pace += (min(now.Sub(lock.changed), maxHotFor) - lock.pace) / 4
	}
	lock.changed, lock.free = now, false
	lock.flying++
	for len(lock.attempts) > 0 {
		a := lock.attempts[0]
		lock.attempts = slices.Delete(lock.attempts, 0, 1)
		if a.submit(enqueue) {
			return
		}
	}
	lock.free = true
}

// settled takes note that a change is not in the log any more: what is refused now has seen it.
func (h *handOver) settled(k lockKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if lock := h.locks[k]; lock != nil && lock.flying > 0 {
		lock.flying--
	}
}

// submit puts an attempt into the queue unless it is settled already, or its session is over; handOver.mu is held. So who finds it settled
// under that lock knows that it has its place in the queue, and can put what comes next behind it.
func (a *attempt) submit(enqueue func(waiting) bool) bool {
	if !a.take() {
		return false
	}
	return enqueue(a.waiting)
}

// release puts an attempt into the queue in front of what its session asks for next.
func (h *handOver) release(a *attempt, enqueue func(waiting) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a.submit(enqueue)
	a.lock.remove(a)
}

// followUp puts attempts into the queue behind a call that may release what they wait for: one for each key.
func (s *Store) followUp(c *commands.Call, now time.Time) {
	s.changes(c, func(k lockKey) { s.handOver.follow(k, now, s.enqueue) })
}

// followed takes note that a call is settled behind which attempts may have been put.
func (s *Store) followed(c *commands.Call) { s.changes(c, s.handOver.settled) }

// changes calls f for the locks that a call may release, unless none is contended.
func (s *Store) changes(c *commands.Call, f func(lockKey)) {
	if !s.handOver.any.Load() || wantsAbsent(c) {
		return
	}
	for _, r := range c.Requests {
		if r.Spec.Raft != commands.Change {
			continue
		}
		for _, key := range r.Keys() {
			f(lockKey{r.DB, key})
		}
	}
}
