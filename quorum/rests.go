package quorum

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// rests are the keys at which something is being mended: a lost request is put back, or a node is given what it missed.
// What this proxy sends to write them meanwhile would be built on what is about to go, and then that could not be put
// back any more. So it waits, for a short time, as mending takes no longer than a request when nothing is in its way.
type rests struct {
	count atomic.Int64 // of keys, so that the common case is cheap
	mu    sync.Mutex
	on    map[place]*rest
}

// rest is one key.
type rest struct {
	open    int // mendings
	until   time.Duration
	waiting []*waiter
}

// waiter is what goes on when a rest is over.
type waiter struct {
	once sync.Once
	goOn func()
	stop func() // ends the timer
}

func (w *waiter) wake() { w.once.Do(w.goOn) }

// restFor is how long the requests for a key wait for a mending.
func (e *Engine) restFor() time.Duration { return e.unhurried() * 3 / 2 }

// mostUnhurried bounds what pauses are a part of, where nodes are waited for very long: clients wait 3 s for a reply.
const mostUnhurried = 100 * time.Millisecond

// unhurried is what a node is given for an answer as a rule.
func (e *Engine) unhurried() time.Duration { return min(e.cfg.Timeout, mostUnhurried) }

// mend says that keys are being mended. The function that it returns says that they are no more; it is called once, and
// without locks, for it sends what has waited.
func (e *Engine) mend(db int, keys []string) (over func()) {
	r, until := &e.rests, e.cfg.Clock.Now()+e.restFor()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on == nil {
		r.on = map[place]*rest{}
	}
	for _, key := range keys {
		at := place{db, key}
		if r.on[at] == nil {
			r.on[at] = &rest{}
			r.count.Add(1)
		}
		r.on[at].open++
		r.on[at].until = until
	}
	return func() { r.end(db, keys) }
}

func (r *rests) end(db int, keys []string) {
	var woken []*waiter
	r.mu.Lock()
	for _, key := range keys {
		at := place{db, key}
		k := r.on[at]
		if k.open--; k.open > 0 {
			continue
		}
		woken = append(woken, k.waiting...)
		delete(r.on, at)
		r.count.Add(-1)
	}
	r.mu.Unlock()
	for _, w := range woken {
		w.stop()
		w.wake()
	}
}

// rest tells whether a request has to wait for a mending, and has goOn called after that. It waits once: for the first
// of its keys that rests.
func (e *Engine) rest(r *request, goOn func()) bool {
	if e.rests.count.Load() == 0 || r.onlyReads() || wantsAbsent(r) {
		return false
	}
	now := e.cfg.Clock.Now()
	e.rests.mu.Lock()
	defer e.rests.mu.Unlock()
	at := slices.IndexFunc(r.keys, func(key string) bool {
		k := e.rests.on[place{r.db, key}]
		return k != nil && now < k.until
	})
	if at < 0 {
		return false
	}
	k, w := e.rests.on[place{r.db, r.keys[at]}], &waiter{goOn: goOn}
	w.stop = e.cfg.Clock.AfterFunc(k.until-now, w.wake)
	k.waiting = append(k.waiting, w)
	return true
}
