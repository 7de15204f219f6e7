package quorum

import (
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/quorum/tally"
)

// maxSkew is how far this proxy's wall clock may be from the clocks of a majority of the nodes. Beyond it the proxy
// gives no tokens: they tell when a lock was taken, and must not run ahead of those of other proxies.
const maxSkew = 5 * time.Second

// skew is, for each node, how far its clock is ahead of this proxy's wall clock.
type skew []atomic.Int64 // time.Duration

// noteClock takes down the clock of a node that has answered.
func (e *Engine) noteClock(node int, a *tally.Answer) {
	if a.Time != 0 {
		e.skew[node].Store(int64(a.Time - time.Duration(e.cfg.Wall())*time.Microsecond))
	}
}

// clockIsOff tells whether the wall clock cannot be trusted.
func (e *Engine) clockIsOff() bool {
	off := 0
	for i := range e.skew {
		if time.Duration(e.skew[i].Load()).Abs() > maxSkew {
			off++
		}
	}
	return off >= e.need
}
