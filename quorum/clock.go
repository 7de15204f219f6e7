package quorum

import "time"

// Clock is the monotonic clock that requests are judged by, and its timers. It is a parameter, so that tests can
// run thousands of schedules a second and repeat each.
type Clock interface {
	// Now is the time since some fixed moment. It never goes back and knows no steps of the wall clock.
	Now() time.Duration
	// AfterFunc calls f once, after d, unless stop is called before.
	AfterFunc(d time.Duration, f func()) (stop func())
}
