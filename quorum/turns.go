package quorum

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// turns are the keys whose requests go one at a time. As a rule requests for one key are sent one behind the other and
// need not wait, since all nodes see those of one proxy in the same order. It is different when
//
//   - others write the key, too, through another proxy: each node sees the two in an order of its own, and of a whole
//     train of requests that are built on one another none has a majority. One at a time, most have;
//   - a node is behind with the key, and what it lacks is out of date whenever it is copied;
//   - a script stores what it computes of a TTL, which all nodes must be told beforehand.
type turns struct {
	count atomic.Int64 // of keys, so that the common case is cheap
	mu    sync.Mutex
	on    map[place]*turn
}

// turn is one key.
type turn struct {
	of       *turns
	at       place
	taken    *request // whose turn it is
	waiting  []waiting
	until    time.Duration // requests go one at a time until then
	catchUp  time.Duration // and, until then, only when all nodes have what the one before has won
	nextTime time.Duration // before it they are not made to do so again
	timed    bool
}

// waiting is a request that waits for its turn.
type waiting struct {
	*request
	goOn func()
}

// How long requests go one at a time after they got in one another's way, and after a node was seen to be behind.
// A node that goes on being behind, because it is slow, holds requests up for a small part of the time only.
const (
	contendedFor = time.Second
	catchUpEvery = 2 * time.Second
)

// inTurn calls goOn when it is the request's turn at its keys: at once, as a rule. With first, it waits for the
// turn at its first key in any case.
func (e *Engine) inTurn(r *request, first bool, goOn func()) {
	t := &e.turns
	if !first && t.count.Load() == 0 || r.onlyReads() || wantsAbsent(r) {
		goOn()
		return
	}
	if !t.take(r, first, e.cfg.Clock.Now(), goOn) {
		goOn()
	}
}

// take gives a request its turn, if it needs one, or tells that it waits.
func (t *turns) take(r *request, first bool, now time.Duration, goOn func()) (waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.turn != nil {
		return false
	}
	at := 0
	if !first {
		at = slices.IndexFunc(r.keys, func(key string) bool {
			k := t.on[place{r.db, key}]
			return k != nil && now < k.until
		})
	}
	if at < 0 {
		return false
	}
	k := t.at(place{r.db, r.keys[at]})
	if k.taken != nil {
		k.waiting = append(k.waiting, waiting{r, goOn})
		return true
	}
	k.taken, r.turn = r, k
	return false
}

// at is the turn of a key; t is locked.
func (t *turns) at(at place) *turn {
	k := t.on[at]
	if k == nil {
		if t.on == nil {
			t.on = map[place]*turn{}
		}
		k = &turn{of: t, at: at}
		t.on[at] = k
		t.count.Add(1)
	}
	return k
}

// passTurn ends the request's turn.
func (r *request) passTurn() {
	t := &r.engine.turns
	if t.count.Load() == 0 {
		return
	}
	t.mu.Lock()
	k := r.turn
	if k == nil {
		t.mu.Unlock()
		return
	}
	r.turn = nil
	var next waiting
	if k.taken = nil; len(k.waiting) > 0 {
		next = k.waiting[0]
		k.waiting = k.waiting[1:]
		k.taken, next.turn = next.request, k
	}
	k.drop()
	t.mu.Unlock()
	if next.request != nil {
		next.goOn()
	}
}

// drop forgets a turn that nobody needs; its turns are locked.
func (k *turn) drop() {
	if k.taken == nil && !k.timed {
		delete(k.of.on, k.at)
		k.of.count.Add(-1)
	}
}

// contend makes requests for keys go one at a time for a while.
func (e *Engine) contend(db int, keys []string) { e.takeTurns(db, keys, contendedFor, false) }

// catchUp lets nodes that are behind with keys catch up.
func (e *Engine) catchUp(db int, keys []string) { e.takeTurns(db, keys, e.restFor(), true) }

func (e *Engine) takeTurns(db int, keys []string, span time.Duration, catchUp bool) {
	t, now := &e.turns, e.cfg.Clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		k := t.at(place{db, key})
		if catchUp && now < k.nextTime {
			continue
		}
		if k.until = max(k.until, now+span); catchUp {
			k.catchUp, k.nextTime = now+span, now+catchUpEvery
		}
		if !k.timed {
			k.timed = true
			e.cfg.Clock.AfterFunc(span, func() { e.endTurns(k) })
		}
	}
}

// catchingUp tells whether nodes that are behind with one of the keys are to catch up before the next request.
func (e *Engine) catchingUp(db int, keys []string) bool {
	t := &e.turns
	if t.count.Load() == 0 {
		return false
	}
	now := e.cfg.Clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(keys, func(key string) bool {
		k := t.on[place{db, key}]
		return k != nil && now < k.catchUp
	})
}

// endTurns forgets a turn when its time is over.
func (e *Engine) endTurns(k *turn) {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	if left := max(k.until, k.nextTime) - e.cfg.Clock.Now(); left > 0 {
		e.cfg.Clock.AfterFunc(left, func() { e.endTurns(k) })
		return
	}
	k.timed = false
	k.drop()
}
