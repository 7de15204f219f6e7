package main

import (
	"context"
	"os"
	"runtime"
	"runtime/metrics"
	"time"
)

const (
	// longWait is for how long a goroutine that could run may wait for a processor, in seconds. The longest work on the way
	// of a request is below that; the scheduler lets a goroutine run for twice as long when another one waits.
	longWait = 5e-3
	// lookout is the time between two looks at such waits.
	lookout = 100 * time.Millisecond
	// calm is for how long none must have been seen before the node goes back to fewer processors.
	calm = 300 * time.Millisecond
)

// crew is how many processors run the node's Go code: half of them, at least one, and all while some goroutine waits long.
//
// A request that changes something passes through a few goroutines, which work for some microseconds each. With an idle
// processor beside it, each step wakes a thread there, which costs more than the step: with one processor of two an operation takes a
// quarter less processor time, and clients, network and disk have the other one. Lengthy work (pipelines, scripts,
// handshakes, snapshots) makes the others wait, and then all processors are used.
type crew struct {
	few, all int
	use      func(n int) // has n processors run Go code
	waits    []metrics.Sample
	seen     uint64    // long waits so far
	last     time.Time // when there were some
}

// muster starts with few processors, unless the operator has said how many (GOMAXPROCS). It returns nil when there is
// no choice.
func muster() *crew {
	all := runtime.GOMAXPROCS(0)
	if _, said := os.LookupEnv("GOMAXPROCS"); said || all == 1 {
		return nil
	}
	c := &crew{few: all / 2, all: all, use: func(n int) { runtime.GOMAXPROCS(n) }, waits: []metrics.Sample{{Name: "/sched/latencies:seconds"}}}
	c.seen = c.longWaits()
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
			c.look(now, c.longWaits())
		}
	}
}

// look adjusts the number of processors at the time now, when there have been so many long waits.
func (c *crew) look(now time.Time, waits uint64) {
	waited, crowded := waits != c.seen, !c.last.IsZero()
	c.seen = waits
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

// longWaits counts the long waits since the start, of those that the runtime has noted: it does for some of all.
func (c *crew) longWaits() (n uint64) {
	metrics.Read(c.waits)
	h := c.waits[0].Value.Float64Histogram()
	for i, count := range h.Counts {
		if h.Buckets[i] >= longWait {
			n += count
		}
	}
	return n
}
