package harness

import (
	"testing"
	"time"
)

// pollEvery is the pause between two looks at a condition.
const pollEvery = 2 * time.Millisecond

// Eventually waits until condition holds and fails the test when it still does
// not after timeout. The condition is called on the test's own goroutine.
func Eventually(t testing.TB, timeout time.Duration, condition func() bool) {
	t.Helper()
	if !Poll(timeout, condition) {
		t.Fatalf("condition still false after %v", timeout)
	}
}

// Poll looks at condition until it holds or timeout has passed, and tells
// whether it held.
func Poll(timeout time.Duration, condition func() bool) bool {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			return condition()
		case <-tick.C:
		}
	}
	return true
}
