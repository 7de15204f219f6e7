package raftstore

import (
	"io"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// longestPause is how long a snapshot may keep the state machine from its work.
const longestPause = 10 * time.Millisecond

// TestPauseOfASnapshot holds the pause of the state machine to its bound, in the worst of several rounds: the time to
// take a view, or that of one of the entries that follow until the view is written, which copy what it shares.
//
// What counts is the processor time of the machine's thread, with the share of garbage collection that falls to it. The
// time on the clock is printed: it holds other processes' turns as well, about which the snapshot can do nothing.
// The machine is the test's alone: that of a store that runs belongs to the store's goroutines.
func TestPauseOfASnapshot(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := machineOfLocks(t, heldLocks())
	for range 5 {
		var view, entries pause
		var written chan error
		view.measure(t, func() { written = write(m) })
		for i := 0; len(written) == 0; i++ {
			w := renewal(t, i)
			entries.measure(t, func() { m.apply(&w, noSink{}) })
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		t.Logf("the view: %v of processor time, %v on the clock; the slowest entry: %v, %v", view.busy, view.clock, entries.busy, entries.clock)
		if worst := max(view.busy, entries.busy); worst > longestPause {
			t.Errorf("the state machine stood still for %v", worst)
		}
	}
}

// write takes a view and has it written meanwhile, as a snapshot does. The channel tells of the end.
func write(m *machine) chan error {
	view, written := m.view(), make(chan error, 1)
	go func() {
		written <- view.writeTo(yielding{io.Discard})
	}()
	return written
}

// pause is the longest time that the state machine needed for one step.
type pause struct {
	busy  time.Duration // of this thread
	clock time.Duration
}

func (p *pause) measure(t *testing.T, step func()) {
	t.Helper()
	began, before := time.Now(), busy(t)
	step()
	p.busy = max(p.busy, busy(t)-before)
	p.clock = max(p.clock, time.Since(began))
}

// busy is the processor time that this thread has had.
func busy(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Timespec // not from getrusage, which is behind by up to a tick of the kernel
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Nano())
}
