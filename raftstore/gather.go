package raftstore

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxGather is after how long it is looked at most whether calls still come, where the last entry took longer than that.
	maxGather = 2 * time.Millisecond
	// gatherLooks is at which of these looks the entry is made in any case.
	gatherLooks = 3
	// gatherAgain is after how many entries it is tried again whether clients come back.
	gatherAgain = 32
)

// gathering lets an entry of a cluster wait for the clients that the last one has answered. When the next entry is made at once,
// they wait for it and then for one of their own: two groups of clients take turns, and each of their calls takes two passes of
// an entry, of which each has half of the calls. Clients that have their answer mostly have another call soon, a release
// behind a grant. So the entry waits for these calls, for as long as the last one took, which is what they would wait otherwise. If
// some have come by then, but not as many as came of late, it does so again: calls of other nodes take longer than those of
// this one, and would be a group of their own.
type gathering struct {
	want atomic.Int64 // calls in the queue for which the next entry waits; 0 when it does not wait
	late *time.Timer  // ends the wait

	mu       sync.Mutex
	had      int           // calls that were in the queue when the wait began
	answered int           // calls that were answered then
	step     time.Duration // between two looks at the wait
	looks    int           // that there were
	seen     int           // calls that were in the queue at the last of them
	back     float64       // the share of answered calls that were followed by another one in time, smoothed
	skipped  int           // entries that were not waited for since that was too small
}

// begin makes the next entry wait if that is worth while: some calls wait, and so many are about to be answered, which took pass.
// It tells whether it does.
func (g *gathering) begin(wait, answered int, pass time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	expected := int(math.Ceil(g.back*float64(answered) - 0.25))
	if g.back < 0.5 {
		if g.skipped++; g.skipped < gatherAgain {
			return false
		}
		expected = answered
	}
	g.had, g.answered, g.skipped = wait, answered, 0
	g.step, g.looks, g.seen = min(pass, maxGather), 0, wait
	g.want.Store(int64(wait + max(expected, 1)))
	g.late.Reset(g.step)
	return true
}

// goesOn looks at a wait whose time is over. It tells whether there is more: of the n calls in the queue some have come since the
// last look.
func (g *gathering) goesOn(n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looks++
	if g.looks == gatherLooks || n <= g.seen {
		return false
	}
	g.seen = n
	g.late.Reset(g.step)
	return true
}

// end ends the wait for want calls; there are n. The share grows a little each time, so that it finds out when more come.
func (g *gathering) end(want int64, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.want.CompareAndSwap(want, 0) {
		return
	}
	g.late.Stop() // of this wait: the next one cannot have begun
	came := min(float64(n-g.had)/float64(max(g.answered, 1)), 1)
	g.back = min(g.back+(came-g.back)/4+1.0/64, 1)
}

// gathers tells whether the next entry waits for calls.
func (s *Store) gathers() bool {
	g := &s.pen.gather
	want := g.want.Load()
	if want == 0 {
		return false
	}
	n := s.queue.len()
	if n < int(want) {
		return true
	}
	g.end(want, n)
	return false
}

// gathered makes the entry with what there is, unless calls still come.
func (s *Store) gathered() {
	if want := s.pen.gather.want.Load(); want != 0 {
		n := s.queue.len()
		if s.pen.gather.goesOn(n) {
			return
		}
		s.pen.gather.end(want, n)
	}
	s.propose()
}
