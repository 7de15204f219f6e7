package proxy

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
)

// When a request may be taken for a resend of another one.
const (
	// resendAfter is how long the first must have been unanswered while its connection lives. Clients wait longer
	// before they send again; what comes earlier is another request.
	resendAfter = time.Second
	// resultKept is how long the result of a request whose connection died waits for the resend. Redisson resends 1
	// to 2 s later. The answer is then late by as much, so it is never kept for longer than a tenth of the lease.
	resultKept = 3 * time.Second
)

// resends are the acquires that may be sent again, from when they were sent until they are answered
// (commands.ResendableAcquire). A resend gets the result of the first instead of being run as well.
//
// That ends as soon as anything else that may change the lock is sent, by whomever: a release may run behind the
// first, and an equal acquire behind the release is a new request, whose answer nobody knows yet.
type resends struct {
	now  func() time.Time
	seed maphash.Seed
	any  atomic.Bool // there may be attempts

	mu     sync.Mutex
	first  map[uint64]*attempt // by the hash of origin and arguments; the first of two that share one
	byLock map[lock][]*attempt // the same
}

// lock is the key of a lock, over all databases: SWAPDB and SELECT in scripts make them meet.
type lock string

// attempt is an acquire that a backend has, or the result of one whose connection died.
type attempt struct {
	resends *resends
	hash    uint64
	origin  origin
	line    []string
	lock    lock
	began   time.Time
	lease   time.Duration

	takers []taker // who waits for the result, the first sender in front
	result Result  // when done
	done   bool
}

// origin is where a request comes from. There is only one user.
type origin struct {
	ip string
	db int
}

// taker is a place that waits for the result, and its session.
type taker struct {
	session *session
	slot    *slot
}

func newResends() *resends {
	return &resends{now: time.Now, seed: maphash.MakeSeed(), first: map[uint64]*attempt{}, byLock: map[lock][]*attempt{}}
}

// enter notes an acquire that a session is about to send. It returns the attempt, whose answered is the Done of the
// call. If the acquire is a resend it returns nil, and the slot gets the result of the first. The slot must be in
// the session's outbox.
func (rs *resends) enter(t taker, r *commands.Request, lease time.Duration) *attempt {
	from := origin{t.session.ip, r.DB}
	a := &attempt{
		resends: rs, hash: rs.hashOf(from, r.Args), origin: from, line: r.Args, lock: lock(r.Keys()[0]),
		lease: lease, takers: []taker{t},
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	a.began = rs.now()
	old := rs.first[a.hash]
	switch {
	case old == nil:
		rs.note(a)
	case !old.same(a) || !old.joinable(a.began): // two requests
	case old.done:
		rs.forget(old)
		t.slot.answer(old.result)
		return nil
	default:
		old.takers = append(old.takers, t)
		return nil
	}
	return a
}

func (rs *resends) hashOf(from origin, line []string) uint64 {
	var h maphash.Hash
	h.SetSeed(rs.seed)
	_, _ = h.WriteString(from.ip)
	for _, word := range line {
		_, _ = h.WriteString(word)
		_ = h.WriteByte(0)
	}
	return h.Sum64() + uint64(from.db)
}

// note puts an attempt on the books. rs.mu is held.
func (rs *resends) note(a *attempt) {
	rs.first[a.hash] = a
	rs.byLock[a.lock] = append(rs.byLock[a.lock], a)
	rs.any.Store(true)
}

// forget takes an attempt off the books, if it is there. rs.mu is held.
func (rs *resends) forget(a *attempt) {
	if rs.first[a.hash] != a {
		return
	}
	delete(rs.first, a.hash)
	others := slices.DeleteFunc(rs.byLock[a.lock], func(b *attempt) bool { return a == b })
	rs.byLock[a.lock] = others
	if len(others) == 0 {
		delete(rs.byLock, a.lock)
	}
	rs.any.Store(len(rs.first) > 0)
}

// passed ends the joining of acquires whose lock a call may change that is about to be sent. Acquires themselves do
// not: they take nothing from anybody.
func (rs *resends) passed(requests []*commands.Request) {
	if !rs.any.Load() {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range requests {
		if r.Spec.Raft == commands.Change {
			rs.end(r)
		}
	}
}

// end forgets the attempts on the keys of a request, or all when it does not name what it changes. rs.mu is held.
func (rs *resends) end(r *commands.Request) {
	if _, acquire := commands.ResendableAcquire(r); acquire {
		return
	}
	if r.Spec.Keys == (commands.KeySpec{}) {
		if r.Spec.Flags.Has(commands.Write) {
			rs.endAll()
		}
		return
	}
	for _, key := range r.Keys() {
		for _, a := range slices.Clone(rs.byLock[lock(key)]) {
			rs.forget(a)
		}
	}
}

func (rs *resends) endAll() {
	clear(rs.first)
	clear(rs.byLock)
	rs.any.Store(false)
}

func (a *attempt) same(b *attempt) bool { return a.origin == b.origin && slices.Equal(a.line, b.line) }

// joinable tells whether an equal request can be a resend at that time.
func (a *attempt) joinable(now time.Time) bool {
	if a.done {
		return true // its connection died; it is forgotten in time
	}
	return now.Sub(a.began) >= resendAfter || !a.wanted()
}

// wanted tells whether a client still waits for the result.
func (a *attempt) wanted() bool {
	return slices.ContainsFunc(a.takers, func(t taker) bool { return !t.session.hungUp.Load() })
}

// answered gives the result to all who wait for it. One that nobody waits for any more is kept for a while. An error
// is not: nothing was done, or nobody knows, and the same answer would not help.
func (a *attempt) answered(r Result) {
	rs := a.resends
	rs.mu.Lock()
	if a.done {
		rs.mu.Unlock()
		return
	}
	a.done, a.result = true, r
	takers := a.takers
	if a.wanted() || r.Close || r.Reply.IsErr() || rs.first[a.hash] != a {
		rs.forget(a)
	} else {
		time.AfterFunc(min(resultKept, a.lease/10), func() {
			rs.mu.Lock()
			defer rs.mu.Unlock()
			rs.forget(a)
		})
	}
	rs.mu.Unlock()
	for _, t := range takers {
		t.slot.answer(r)
	}
}
