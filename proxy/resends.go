package proxy

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
)

// resendAfter is how long the first of two equal requests must have been unanswered, while its connection lives, for the other
// to be a resend. Clients wait longer before they send again; what comes earlier is another request.
const resendAfter = time.Second

// slowAnswer is how long an answer must have taken for the socket to be asked whether somebody still waits for it.
const slowAnswer = 100 * time.Millisecond

// resends are the acquires that may be sent again, from when they were sent until they are answered
// (commands.ResendableAcquire). A resend gets the result of the first instead of being run as well. When nobody is left who
// could get the result, the acquire is taken back.
//
// Joining ends as soon as anything else that may change the lock is sent, by whomever: a release may run behind the
// first, and an equal acquire behind the release is a new request, whose answer nobody knows yet.
type resends struct {
	now       func() time.Time
	seed      maphash.Seed
	any       atomic.Bool // there may be attempts
	takeBacks takeBacks

	mu     sync.Mutex
	first  map[uint64]*attempt // by the hash of origin and arguments; the first of two that share one
	byLock map[lock][]*attempt // the same
}

// lock is the key of a lock, over all databases: SWAPDB and SELECT in scripts make them meet.
type lock string

// attempt is an acquire that a backend has.
type attempt struct {
	resends *resends
	hash    uint64
	origin  origin
	line    []string
	acquire commands.Acquire
	began   time.Time

	takers []taker // who waits for the result, the first sender in front
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

// newResends has acquires taken back through a stream that open opens when it is first needed.
func newResends(open func() Stream) *resends {
	return &resends{
		now: time.Now, seed: maphash.MakeSeed(), takeBacks: takeBacks{open: open},
		first: map[uint64]*attempt{}, byLock: map[lock][]*attempt{},
	}
}

// enter notes an acquire that a session is about to send. It returns the attempt, whose answered is the Done of the
// call. If the acquire is a resend it returns nil, and the slot gets the result of the first. The slot must be in
// the session's outbox.
func (rs *resends) enter(t taker, r *commands.Request, acquire commands.Acquire) *attempt {
	from := origin{t.session.ip, r.DB}
	a := &attempt{resends: rs, hash: rs.hashOf(from, r.Args), origin: from, line: r.Args, acquire: acquire, takers: []taker{t}}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	a.began = rs.now()
	old := rs.first[a.hash]
	switch {
	case old == nil:
		rs.note(a)
	case !old.same(a) || !old.joinable(a.began): // two requests
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
	rs.byLock[a.lock()] = append(rs.byLock[a.lock()], a)
	rs.any.Store(true)
}

// forget takes an attempt off the books, if it is there. rs.mu is held.
func (rs *resends) forget(a *attempt) {
	if rs.first[a.hash] != a {
		return
	}
	delete(rs.first, a.hash)
	others := slices.DeleteFunc(rs.byLock[a.lock()], func(b *attempt) bool { return a == b })
	rs.byLock[a.lock()] = others
	if len(others) == 0 {
		delete(rs.byLock, a.lock())
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

func (a *attempt) lock() lock { return lock(a.acquire.Lock) }

func (a *attempt) same(b *attempt) bool { return a.origin == b.origin && slices.Equal(a.line, b.line) }

// joinable tells whether an equal request can be a resend at that time. rs.mu is held.
func (a *attempt) joinable(now time.Time) bool {
	return now.Sub(a.began) >= resendAfter || !a.wanted(now)
}

// wanted tells whether a client still waits for the result. When it has taken long the sockets are asked: a process that was
// paused has not read there yet that a client is gone. rs.mu is held.
func (a *attempt) wanted(now time.Time) bool {
	slow := now.Sub(a.began) >= slowAnswer
	return slices.ContainsFunc(a.takers, func(t taker) bool {
		if slow {
			return !t.session.gone()
		}
		return !t.session.hungUp.Load()
	})
}

// abandoned is Call.Abandoned.
func (a *attempt) abandoned() bool {
	a.resends.mu.Lock()
	defer a.resends.mu.Unlock()
	return !a.wanted(a.resends.now())
}

// answered gives the result to all who wait for it. When nobody does any more, an acquire that succeeded is taken back. So
// that it surely is unknown, its connections end without the answer: one of them may be open in the other direction.
func (a *attempt) answered(r Result) {
	rs := a.resends
	rs.mu.Lock()
	if a.done {
		rs.mu.Unlock()
		return
	}
	a.done = true
	rs.forget(a)
	unknown := !a.wanted(rs.now()) && a.acquire.Took(r.Reply)
	rs.mu.Unlock()
	if unknown {
		rs.takeBacks.begin(a.origin.db, a.acquire, r.Granted)
	}
	for _, t := range a.takers {
		if unknown {
			t.session.out.drop(t.slot)
		} else {
			t.slot.answer(r)
		}
	}
}
