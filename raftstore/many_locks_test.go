package raftstore

import (
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/raftstore/entry"
)

// longestPause is how long a snapshot may keep the state machine from its work.
const longestPause = 10 * time.Millisecond

// heldLocks is how many locks the tests of many locks hold.
func heldLocks() int {
	if os.Getenv("REDFENCE_LONG") == "1" {
		return 1_000_000
	}
	return 100_000
}

// TestSnapshotOfManyLocks takes many locks, and prints how long a snapshot of them and the start from it take.
func TestSnapshotOfManyLocks(t *testing.T) {
	cfg := untimed(t)
	cfg.SnapshotInterval, cfg.TrailingEntries = time.Hour, 1 // only when it is asked for
	s, n := open(t, cfg), heldLocks()
	takeLocks(t, s, n)
	began := time.Now()
	if err := s.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	t.Logf("a snapshot of %d locks took %v", n, time.Since(began))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	again := open(t, cfg)
	t.Logf("the start from it took %v", time.Since(began))
	if st := again.Stats(); st.Keys != n || st.Entries > 10 {
		t.Errorf("%d keys after the start, %d entries were replayed", st.Keys, st.Entries)
	}
}

// TestPauseOfASnapshot holds the pause of the state machine to its bound. The machine is the test's alone: that of a
// store that runs belongs to the store's goroutines.
func TestPauseOfASnapshot(t *testing.T) {
	m := machineOfLocks(t, heldLocks())
	if pause := pauseOfSnapshot(t, m); pause > longestPause {
		t.Errorf("the state machine stood still for %v", pause)
	}
}

// machineOfLocks is a machine that has given n locks.
func machineOfLocks(t *testing.T, n int) *machine {
	t.Helper()
	m := newMachine(DefaultConfig("").Scripts)
	w := work{Header: entry.Header{Now: 1, Wall: 1_796_000_000_000_000}}
	for i := range n {
		w.calls = append(w.calls, &commands.Call{Requests: []*commands.Request{acquire(t, i)}})
		if len(w.calls) == 1000 || i == n-1 {
			m.apply(w, noSink{})
			w.calls = w.calls[:0]
		}
	}
	if got := m.ks.Len(); got != n {
		t.Fatalf("%d locks of %d", got, n)
	}
	return m
}

// acquire is an attempt on one of many locks, as clients send it.
func acquire(t *testing.T, i int) *commands.Request {
	t.Helper()
	return request(t, "SET", fmt.Sprint("lock:{order}:", i), "f81d4fae-7dec-11d0-a765-00a0c91e6bf6:77", "NX", "PX", "3600000")
}

// takeLocks takes n locks, many in one entry.
func takeLocks(t *testing.T, s *Store, n int) {
	t.Helper()
	st := s.Open()
	var all sync.WaitGroup
	room := make(chan struct{}, 1<<14) // calls in the queue, which refuses too many
	for i := range n {
		room <- struct{}{}
		all.Add(1)
		st.Submit(&commands.Call{Requests: []*commands.Request{acquire(t, i)}, Done: func(result commands.Result) {
			<-room
			if result.Reply.Str != "OK" {
				t.Errorf("lock %d: %+v", i, result)
			}
			all.Done()
		}})
	}
	all.Wait()
}

// pauseOfSnapshot is the longest time that the state machine needs for a view, or for one of the entries that follow,
// which copy what the view shares. It is the least of several rounds, since the scheduler may take the processor
// away in any of them. The view is written meanwhile, as a snapshot does.
func pauseOfSnapshot(t *testing.T, m *machine) time.Duration {
	t.Helper()
	least := time.Hour
	for range 10 {
		began := time.Now()
		view := m.view()
		taken := time.Since(began)
		written := make(chan error, 1)
		go func() {
			_, err := view.WriteTo(io.Discard)
			written <- err
		}()
		entries := slowestEntry(t, m)
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		t.Logf("taking the view: %v, slowest entry behind it: %v", taken, entries)
		least = min(least, max(taken, entries))
	}
	return least
}

func slowestEntry(t *testing.T, m *machine) (slowest time.Duration) {
	t.Helper()
	for i := range 1000 {
		lock := fmt.Sprint("lock:{order}:", i*97)
		w := work{Header: entry.Header{Now: m.ks.Now(), Wall: 1_796_000_000_000_000}, calls: []*commands.Call{
			{Requests: []*commands.Request{request(t, "PEXPIRE", lock, fmt.Sprint(4_000_000+i))}},
			{Requests: []*commands.Request{request(t, "SET", "mine", "me", "NX", "PX", "30000")}},
			{Requests: []*commands.Request{request(t, "DEL", "mine")}},
		}}
		began := time.Now()
		m.apply(w, noSink{})
		slowest = max(slowest, time.Since(began))
	}
	return slowest
}
