package quorum

import (
	"container/heap"
	"time"
)

// simEpoch is where the clocks of all nodes and proxies stand when a schedule begins.
const simEpoch = 1_800_000_000 * time.Second

// simClock is a proxy's monotonic clock. It is ahead of the world's by a constant, as each process has its own origin.
type simClock struct {
	w     *world
	p     *simProxy
	ahead time.Duration
}

var _ Clock = (*simClock)(nil)

// Now is the time of the proxy.
func (c *simClock) Now() time.Duration { return c.w.now + c.ahead }

// AfterFunc calls f when the world has come to that time, unless the proxy is dead then; when it is paused, later.
func (c *simClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := &simTimer{at: c.w.now + max(d, 0), order: c.w.timerCount, p: c.p, f: f}
	c.w.timerCount++
	heap.Push(&c.w.timers, t)
	return func() { t.f = nil }
}

// simTimer is a call that is due at a time of the world.
type simTimer struct {
	at    time.Duration
	order int
	p     *simProxy
	f     func() // nil when stopped
}

// simTimers is a heap of timers, the earliest first.
type simTimers []*simTimer

// Len is for package heap.
func (h simTimers) Len() int { return len(h) }

// Less is for package heap.
func (h simTimers) Less(i, j int) bool {
	return h[i].at < h[j].at || (h[i].at == h[j].at && h[i].order < h[j].order)
}

// Swap is for package heap.
func (h simTimers) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *simTimers) Push(x any) { *h = append(*h, x.(*simTimer)) }

// Pop is for package heap.
func (h *simTimers) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}

// dropStopped removes stopped timers and those of dead proxies from the front.
func (h *simTimers) dropStopped() {
	for len(*h) > 0 && ((*h)[0].f == nil || (*h)[0].p.dead) {
		heap.Pop(h)
	}
}
