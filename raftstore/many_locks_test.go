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

// TestSnapshotOfManyLocks takes many locks, and a snapshot of them while the state machine works on. It prints how
// long the snapshot and the start from it take, and holds the pause of the state machine to its bound.
func TestSnapshotOfManyLocks(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	cfg.SnapshotInterval, cfg.TrailingEntries = time.Hour, 1 // only when it is asked for
	s, n := open(t, cfg), heldLocks()
	takeLocks(t, s, n)
	if pause := pauseOfSnapshot(t, s.machine); pause > longestPause {
		t.Errorf("the state machine stood still for %v", pause)
	}
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

// takeLocks takes n locks, many in one entry.
func takeLocks(t *testing.T, s *Store, n int) {
	t.Helper()
	st := s.Open()
	var all sync.WaitGroup
	room := make(chan struct{}, 1<<14) // calls in the queue, which refuses too many
	for i := range n {
		r := request(t, "SET", fmt.Sprint("lock:{order}:", i), "f81d4fae-7dec-11d0-a765-00a0c91e6bf6:77", "NX", "PX", "3600000")
		room <- struct{}{}
		all.Add(1)
		st.Submit(&commands.Call{Requests: []*commands.Request{r}, Done: func(result commands.Result) {
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
