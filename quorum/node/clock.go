package node

import (
	"sync"
	"time"
)

const (
	// window is how long a bound of a clock's offset is kept at least, and at most twice as long.
	window = time.Second
	// drift is how much two clocks may run apart, as a part of the time passed. It is the Redlock page's allowance
	// (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/); with slack, more is a step.
	drift = 0.01
	slack = 5 * time.Millisecond
)

// nodeClock relates a node's wall clock to this process's monotonic clock. Each answer that tells the node's TIME
// bounds the offset from two sides: the node read its clock after the question was sent and before the answer was here.
type nodeClock struct {
	mu        sync.Mutex
	now, last bounds
	since     time.Duration // when now began
	step      time.Duration // the last step seen
	steps     int

	asleep func() time.Duration // how long this machine was suspended; nil: never
	slept  time.Duration        // how much of it is made up for
}

// bounds are those of node time less our time.
type bounds struct {
	low, high time.Duration
	at        time.Duration // our time of the latest observation; 0 when there is none
}

func (b bounds) and(c bounds) bounds {
	if b.at == 0 || c.at == 0 {
		return bounds{low: b.low + c.low, high: b.high + c.high, at: b.at + c.at} // one of them is empty
	}
	return bounds{low: max(b.low, c.low), high: min(b.high, c.high), at: max(b.at, c.at)}
}

// observe takes a reading of the node's clock, made between sent and received. It tells whether the node's clock
// has stepped since the reading before, that is, moved by more than drift allows.
func (c *nodeClock) observe(sent, received, node time.Duration) (stepped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := bounds{low: node - received, high: node - sent, at: max(received, 1)}
	step := c.stepTo(seen)
	if step != 0 && c.awoke() {
		step = c.stepTo(seen)
	}
	if step == 0 {
		c.keep(seen)
		return false
	}
	c.step = step
	c.steps++
	c.now, c.last, c.since = seen, bounds{}, received
	return true
}

// stepTo is how far the clock has stepped when it shows this, 0 when it has not.
func (c *nodeClock) stepTo(seen bounds) time.Duration {
	known := c.now.and(c.last)
	if known.at == 0 {
		return 0
	}
	allowed := slack + time.Duration(drift*float64(2*window+seen.at-known.at))
	switch {
	case seen.low > known.high+allowed:
		return seen.low - known.high
	case seen.high < known.low-allowed:
		return seen.high - known.low
	}
	return 0
}

// awoke shifts the bounds by the time for which this machine was suspended since they were last right. It tells whether
// it was.
func (c *nodeClock) awoke() bool {
	if c.asleep == nil {
		return false
	}
	total := c.asleep()
	d := total - c.slept
	if d < slack {
		return false
	}
	c.slept = total
	for _, b := range []*bounds{&c.now, &c.last} {
		if b.at != 0 {
			b.low, b.high = b.low+d, b.high+d
		}
	}
	return true
}

func (c *nodeClock) keep(seen bounds) {
	switch age := seen.at - c.since; {
	case age > 2*window: // too old to say anything about the bounds of today
		c.last, c.now, c.since = bounds{}, bounds{}, seen.at
	case age > window:
		c.last, c.now, c.since = c.now, bounds{}, seen.at
	}
	c.now = c.now.and(seen)
}

// atLeast is what the node's clock shows at least when ours shows t, 0 when nothing is known of it.
func (c *nodeClock) atLeast(t time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.now.and(c.last)
	if known.at == 0 {
		return 0
	}
	return t + known.low
}

// stepsSeen counts the steps of the node's clock, and tells the last.
func (c *nodeClock) stepsSeen() (int, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.steps, c.step
}

// offset is the middle of what the node's clock is known to be ahead of ours.
func (c *nodeClock) offset() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.now.and(c.last)
	return (known.low + known.high) / 2, known.at != 0
}
