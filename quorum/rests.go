package quorum

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/quorum/tally"
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
	open    []*mending
	until   time.Duration
	waiting []*waiter
}

// mending is what goes on at one key.
type mending struct {
	lost  bool   // what a lost request has left where nothing was is taken away again
	state string // of that, see tally.Write
}

// waiter is what goes on when a rest is over.
type waiter struct {
	*request
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
func (e *Engine) mend(db int, keys []string) (over func()) { return e.mendAfter(db, keys, nil) }

// mendLost is mend for the putting back of what a lost request wrote.
func (e *Engine) mendLost(db int, writes []tally.Write) (over func()) {
	return e.mendAfter(db, keysOf(writes), writes)
}

// mendAfter is mend for both; lost are the writes that are put back, in the order of the keys, nil when it is about other things.
func (e *Engine) mendAfter(db int, keys []string, lost []tally.Write) (over func()) {
	open := make([]mending, len(keys))
	r, until := &e.rests, e.cfg.Clock.Now()+e.restFor()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on == nil {
		r.on = map[place]*rest{}
	}
	for i, key := range keys {
		at := place{db, key}
		if r.on[at] == nil {
			r.on[at] = &rest{}
			r.count.Add(1)
		}
		if lost != nil {
			open[i] = mending{lost: !lost[i].Existed && lost[i].Exists, state: lost[i].State}
		}
		r.on[at].open = append(r.on[at].open, &open[i])
		r.on[at].until = until
	}
	return func() { r.end(db, keys, open) }
}

// concerns tells whether a request would be built on what is mended. One that ends or prolongs a hold only where it finds that
// (compare-and-delete, compare-and-expire) does nothing to another that a lost request has left where there was none: a holder
// would wait for as long as other processes are in the way of that.
func (k *rest) concerns(r *request) bool {
	state, compares := "", false
	if r.text != nil {
		state, compares = r.text.Compares(r.call.Requests[0])
	}
	return slices.ContainsFunc(k.open, func(m *mending) bool { return !compares || !m.lost || m.state == state })
}

func (r *rests) end(db int, keys []string, over []mending) {
	var woken []*waiter
	r.mu.Lock()
	for i, key := range keys {
		at := place{db, key}
		k := r.on[at]
		k.open = slices.DeleteFunc(k.open, func(m *mending) bool { return m == &over[i] })
		k.waiting = slices.DeleteFunc(k.waiting, func(w *waiter) bool {
			waits := k.concerns(w.request)
			if !waits {
				woken = append(woken, w)
			}
			return !waits
		})
		if len(k.open) == 0 {
			delete(r.on, at)
			r.count.Add(-1)
		}
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
		return k != nil && now < k.until && k.concerns(r)
	})
	if at < 0 {
		return false
	}
	k, w := e.rests.on[place{r.db, r.keys[at]}], &waiter{request: r, goOn: goOn}
	w.stop = e.cfg.Clock.AfterFunc(k.until-now, w.wake)
	k.waiting = append(k.waiting, w)
	return true
}
