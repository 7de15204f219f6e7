package main

import (
	"context"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"
)

const (
	// lookout is the time between two looks at how long goroutines that could run have waited for a processor.
	lookout = 100 * time.Millisecond
	// calm is for how long they must not have waited for long before the node goes back to fewer processors.
	calm = 300 * time.Millisecond
)

// crew is how many processors run the node's Go code: half of them, at least one, and all while goroutines wait long.
//
// A request that changes something passes through a few goroutines, which work for some microseconds each. With an idle
// processor beside it, each step wakes a thread there, which costs more than the step: with one processor of two an operation takes a
// quarter less processor time, and clients, network and disk have the other one. Lengthy work (pipelines, scripts,
// handshakes, snapshots) makes the others wait, and then all processors are used.
type crew struct {
	few, all  int
	use       func(n int) // has n processors run Go code
	tolerance tolerance
	waits     []metrics.Sample
	seen      []uint64  // waits until the last look, by length
	last      time.Time // when some were long, zero when few processors are in use
}

// tolerance says what waits call for all processors, in seconds.
type tolerance struct {
	longest float64 // a single wait does
	// When one in twenty is longer than most, and then until it is shorter than least. 0: never.
	most, least float64
}

// loneLog is that of raft mode: the longest work on the way of a request is below that, and the scheduler lets a
// goroutine run for twice as long when another one waits.
func loneLog() tolerance { return tolerance{longest: 5e-3} }

// manyNodes is that of quorum mode, where one processor is not enough for many clients at once: measured with three
// nodes on two processors it is faster for up to 16.
func manyNodes() tolerance { return tolerance{longest: 5e-3, most: 250e-6, least: 100e-6} }

// muster starts with few processors, unless the operator has said how many (GOMAXPROCS). It returns nil when there is
// no choice.
func muster(p tolerance) *crew {
	all := runtime.GOMAXPROCS(0)
	if _, said := os.LookupEnv("GOMAXPROCS"); said || all == 1 {
		return nil
	}
	c := &crew{few: all / 2, all: all, use: func(n int) { runtime.GOMAXPROCS(n) }, tolerance: p, waits: []metrics.Sample{{Name: "/sched/latencies:seconds"}}}
	c.recent()
	c.use(c.few)
	return c
}

// watch adjusts the number of processors until ctx ends.
func (c *crew) watch(ctx context.Context) {
	if c == nil {
		return
	}
	clock := time.NewTicker(lookout)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-clock.C:
			c.look(now, c.recent())
		}
	}
}

// look adjusts the number of processors at the time now, when there have been such waits since the last look.
func (c *crew) look(now time.Time, w waits) {
	crowded := !c.last.IsZero()
	waited := c.tolerance.exceeded(w, crowded)
	switch {
	case waited && !crowded:
		c.use(c.all)
	case !waited && crowded && now.Sub(c.last) >= calm:
		c.use(c.few)
		c.last = time.Time{}
	}
	if waited {
		c.last = now
	}
}

// exceeded tells whether waits call for all processors, which may be in use already.
func (p tolerance) exceeded(w waits, crowded bool) bool {
	often := p.most
	if crowded {
		often = p.least
	}
	return w.longer(p.longest) > 0 || often > 0 && w.longer(often)*20 > w.longer(0)
}

// waits are how many goroutines have waited for a processor, by length.
type waits struct {
	counts  []uint64
	lengths []float64 // the lower end of each, in seconds
}

// longer counts those of at least so many seconds.
func (w waits) longer(seconds float64) (n uint64) {
	for i, count := range w.counts {
		if max(w.lengths[i], 0) >= seconds {
			n += count
		}
	}
	return n
}

// recent are the waits since the last call, of those that the runtime has noted: it does for some of all.
func (c *crew) recent() waits {
	metrics.Read(c.waits)
	h := c.waits[0].Value.Float64Histogram()
	counts := slices.Clone(h.Counts)
	for i := range c.seen {
		counts[i] -= c.seen[i]
	}
	c.seen = slices.Clone(h.Counts)
	return waits{counts, h.Buckets}
}
