package quorum

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// arrears are the won writes that a node has missed, to be made good when it is back: for each key the version that
// a majority has. A node that forgot more than this is quarantined and gets everything.
type arrears struct {
	mu      sync.Mutex
	missed  map[place]tally.Version
	waiting bool // a timer is set
}

// Bounds of arrears.
const (
	maxArrears    = 100_000 // keys remembered of a node; what is beyond is made good by the next write of the key
	arrearsBatch  = 100     // keys made good at once
	arrearsPeriod = 500 * time.Millisecond
)

// owe notes what a node has missed of a won request, unless a later one for the key is on its way.
func (e *Engine) owe(node, db int, writes []tally.Write, number uint64) {
	if len(writes) == 0 {
		return
	}
	a := &e.arrears[node]
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.missed == nil {
		a.missed = map[place]tally.Version{}
	}
	for _, w := range writes {
		if e.recent.since(db, w.Key, number) {
			continue
		}
		at := place{db, w.Key}
		have, known := a.missed[at]
		if !known && len(a.missed) < maxArrears {
			e.owing.Add(1)
			known = true
		}
		if known && have.Before(w.After) {
			a.missed[at] = w.After
		}
	}
	e.wakeArrears(node)
}

// forgive strikes off what nodes have missed of keys for which a later request is on its way: what that is going to do
// is not known yet, and a copy of a hold that it releases would bring that back. Its own vote tells what nodes miss then.
func (e *Engine) forgive(db int, keys []string) {
	if e.owing.Load() == 0 {
		return
	}
	for node := range e.arrears {
		a := &e.arrears[node]
		a.mu.Lock()
		for _, key := range keys {
			if _, missed := a.missed[place{db, key}]; missed {
				delete(a.missed, place{db, key})
				e.owing.Add(-1)
			}
		}
		a.mu.Unlock()
	}
}

// wakeArrears sets the timer after which a node is looked after; its arrears are locked.
func (e *Engine) wakeArrears(node int) {
	a := &e.arrears[node]
	if a.waiting || len(a.missed) == 0 {
		return
	}
	a.waiting = true
	e.cfg.Clock.AfterFunc(arrearsPeriod, func() { e.makeGood(node) })
}

// makeGood copies to a node, if it is back, what it missed.
func (e *Engine) makeGood(node int) {
	a := &e.arrears[node]
	standing, _ := e.cfg.Nodes[node].Standing()
	back := standing == Counted
	a.mu.Lock()
	a.waiting = false
	var batch []place
	for at := range a.missed {
		if back && (len(batch) == 0 || at.db == batch[0].db && len(batch) < arrearsBatch) {
			batch = append(batch, at)
		}
	}
	slices.SortFunc(batch, func(a, b place) int { return cmp.Compare(a.key, b.key) }) // maps have no order, and tests repeat
	keys := make([]runner.Conditional, len(batch))
	for i, at := range batch {
		keys[i].Key, keys[i].Version = at.key, a.missed[at]
		delete(a.missed, at)
		e.owing.Add(-1)
	}
	e.wakeArrears(node)
	a.mu.Unlock()
	if len(batch) > 0 {
		e.copyFromAny(batch[0].db, node, keys)
	}
}

// copyFromAny looks for nodes that have the versions wanted, and copies them from there. What the key is now decides
// whether it is present.
func (e *Engine) copyFromAny(db, to int, keys []runner.Conditional) {
	names, number := make([]string, len(keys)), e.serial.Load()
	for i, k := range keys {
		names[i] = k.Key
	}
	stale := func() bool {
		return slices.ContainsFunc(names, func(key string) bool { return e.recent.since(db, key, number) })
	}
	since := e.cfg.Clock.Now()
	for from, source := range e.cfg.Nodes {
		if from == to {
			continue
		}
		source.Send(Sending{DB: db, Op: &runner.Fetch{Keys: names}, Deadline: since + e.cfg.Timeout, Done: func(o Outcome) {
			if found := at(keys, o.States, since); len(found) > 0 {
				e.sendCopy(db, to, found, stale, func(done Outcome) {
					if done.Reason != "" && !stale() {
						e.oweAgain(to, db, found, number)
					}
				})
			}
		}})
	}
}

// at are the states that have the version wanted.
func at(keys []runner.Conditional, states []runner.State, since time.Duration) []runner.Conditional {
	var found []runner.Conditional
	for i, s := range states {
		if i < len(keys) && s.Version == keys[i].Version {
			s.Since = since
			found = append(found, runner.Conditional{State: s})
		}
	}
	return found
}

func (e *Engine) oweAgain(node, db int, keys []runner.Conditional, number uint64) {
	writes := make([]tally.Write, len(keys))
	for i, k := range keys {
		writes[i] = tally.Write{Key: k.Key, After: k.Version}
	}
	e.owe(node, db, writes, number)
}
