package raftstore

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/keyspace"
)

// locks counts what becomes of locks, without knowing clients or their scripts. Only calls of this node are counted,
// and keys that expire while it leads, so that the nodes of a cluster can be added up, and a restart, which runs the
// log again, counts nothing twice.
type locks struct {
	granted, contended, failed atomic.Int64
	hold, wait                 histogram
	waits                      waits
}

// histogram counts times in ms by powers of two.
type histogram struct {
	buckets [histogramBounds + 1]atomic.Int64
	sum     atomic.Int64 // ms
}

// histogramBounds is the number of bounds: 1 ms, 2 ms, 4 ms and so on up to 2^20 ms, 17 minutes.
const histogramBounds = 21

func (h *histogram) observe(ms int64) {
	ms = max(ms, 0)
	i := 0
	if ms > 1 {
		i = min(bits.Len64(uint64(ms-1)), histogramBounds)
	}
	h.buckets[i].Add(1)
	h.sum.Add(ms)
}

// Histogram is a distribution of times.
type Histogram struct {
	Counts []int64 // of times up to 1 ms, up to 2 ms, up to 4 ms and so on; the last is of all longer ones
	SumMs  int64
}

func (h *histogram) snapshot() Histogram {
	s := Histogram{Counts: make([]int64, len(h.buckets)), SumMs: h.sum.Load()}
	for i := range h.buckets {
		s.Counts[i] = h.buckets[i].Load()
	}
	return s
}

// LockStats are counts of locks since the start.
type LockStats struct {
	Granted   int64     // keys with a TTL that came into being, or got another value
	Contended int64     // attempts to set an absent key that found it present
	Failed    int64     // SETs with NX that were answered with an error
	Hold      Histogram // from the grant to the end, in store time
	Wait      Histogram // from the first refused attempt to the grant
}

func (l *locks) snapshot() LockStats {
	return LockStats{
		Granted: l.granted.Load(), Contended: l.contended.Load(), Failed: l.failed.Load(),
		Hold: l.hold.snapshot(), Wait: l.wait.snapshot(),
	}
}

// tally counts what a call did to locks. Refusals that are the whole of a call are counted with its answer.
func (l *locks) tally(t *keyspace.Txn, c *commands.Call) {
	granted, held, refused := t.Leases()
	if granted > 0 {
		l.granted.Add(int64(granted))
	}
	for _, ms := range held {
		l.hold.observe(ms)
	}
	if refused > 0 && !wantsAbsent(c) {
		l.contended.Add(int64(refused))
	}
}

// answered counts the answer to a plain attempt on a lock.
func (l *locks) answered(c *commands.Call, v resp.Value) {
	if !wantsAbsent(c) {
		return
	}
	switch r := c.Requests[0]; {
	case v.IsErr():
		l.failed.Add(1)
	case v.IsNull():
		l.contended.Add(1)
		l.waits.refused(r, time.Now())
	default:
		if since, waited := l.waits.over(r, time.Now()); waited {
			l.wait.observe(since.Milliseconds())
		}
	}
}

// waits remembers since when attempts on a lock have been refused. An attempt goes on with an earlier one when it sets
// the same key to the same value, over whatever connection: lock libraries make a value of their own for each wait.
type waits struct {
	mu     sync.Mutex
	since  map[uint64]refusals // by the hash of database, key and value
	seed   maphash.Seed
	begun  bool
	filled atomic.Bool // since is not empty
}

type refusals struct{ first, last time.Time }

const (
	// maxWaits is how many waits are remembered; then those that seem to be over are forgotten, or all.
	maxWaits = 4096
	// longestGap between two attempts of one wait. Who comes back later begins another.
	longestGap = 5 * time.Second
)

func (w *waits) hash(r *commands.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(w.seed)
	_ = h.WriteByte(byte(r.DB))
	_, _ = h.WriteString(r.Args[1])
	_ = h.WriteByte(0)
	_, _ = h.WriteString(r.Args[2])
	return h.Sum64()
}

func (w *waits) refused(r *commands.Request, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun {
		w.begun, w.seed, w.since = true, maphash.MakeSeed(), map[uint64]refusals{}
	}
	id := w.hash(r)
	wait, known := w.since[id]
	if !known || now.Sub(wait.last) > longestGap {
		wait.first = now
	}
	wait.last = now
	if !known && len(w.since) >= maxWaits {
		w.makeRoom(now)
	}
	w.since[id] = wait
	w.filled.Store(true)
}

func (w *waits) makeRoom(now time.Time) {
	for id, wait := range w.since {
		if now.Sub(wait.last) > longestGap {
			delete(w.since, id)
		}
	}
	if len(w.since) >= maxWaits {
		clear(w.since)
	}
}

// over ends a wait, if there was one, and tells how long it was.
func (w *waits) over(r *commands.Request, now time.Time) (time.Duration, bool) {
	if !w.filled.Load() {
		return 0, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.hash(r)
	wait, known := w.since[id]
	delete(w.since, id)
	w.filled.Store(len(w.since) > 0)
	return now.Sub(wait.first), known && now.Sub(wait.last) <= longestGap
}
