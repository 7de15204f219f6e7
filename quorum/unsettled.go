package quorum

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/quorum/tally"
)

// unsettled are the keys of won requests of which some node has not answered as the majority did, and will be given
// what that has. Once a later request for such a key is on its way to the nodes, that must not happen any more: the node
// may have been asked to release the very hold, and have answered that it has none.
type unsettled struct {
	count atomic.Int64 // of entries, so that the common case is cheap
	mu    sync.Mutex
	on    map[place][]*atomic.Bool
}

// unsettledFor is longer than a node may take to answer.
const unsettledFor = 6 * time.Second

// unsettle enters the keys of a won request. The flag that it returns tells whether a later one has come.
func (e *Engine) unsettle(db int, writes []tally.Write) *atomic.Bool {
	stale, u := &atomic.Bool{}, &e.unsettled
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.on == nil {
		u.on = map[place][]*atomic.Bool{}
	}
	for _, w := range writes {
		at := place{db, w.Key}
		u.on[at] = append(u.on[at], stale)
	}
	u.count.Add(1)
	e.cfg.Clock.AfterFunc(unsettledFor, func() { u.leave(db, writes, stale) })
	return stale
}

// leave takes a request off the books.
func (u *unsettled) leave(db int, writes []tally.Write, stale *atomic.Bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range writes {
		at := place{db, w.Key}
		rest := slices.DeleteFunc(u.on[at], func(f *atomic.Bool) bool { return f == stale })
		if u.on[at] = rest; len(rest) == 0 {
			delete(u.on, at)
		}
	}
	u.count.Add(-1)
}

// supersede notes that a request for keys is about to be sent.
func (u *unsettled) supersede(db int, keys []string) {
	if u.count.Load() == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, key := range keys {
		for _, stale := range u.on[place{db, key}] {
			stale.Store(true)
		}
	}
}
