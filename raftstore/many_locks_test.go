package raftstore

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/raftstore/entry"
)

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

// machineOfLocks is a machine that has given n locks.
func machineOfLocks(t *testing.T, n int) *machine {
	t.Helper()
	m := newMachine(DefaultConfig("").Scripts)
	w := work{Header: entry.Header{Now: 1, Wall: 1_796_000_000_000_000}}
	for i := range n {
		w.calls = append(w.calls, &commands.Call{Requests: []*commands.Request{acquire(t, i)}})
		if len(w.calls) == 1000 || i == n-1 {
			m.apply(&w, noSink{})
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
	room := make(chan struct{}, 1<<11) // calls in the queue, so few that none waits too long on a slow machine
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

// renewal is one entry while a snapshot is written: a lock among the many is renewed, another is taken and given back.
func renewal(t *testing.T, i int) work {
	t.Helper()
	lock := fmt.Sprint("lock:{order}:", i*97%heldLocks())
	return work{Header: entry.Header{Now: 2, Wall: 1_796_000_000_000_000}, calls: []*commands.Call{
		{Requests: []*commands.Request{request(t, "PEXPIRE", lock, fmt.Sprint(4_000_000+i))}},
		{Requests: []*commands.Request{request(t, "SET", "mine", "me", "NX", "PX", "30000")}},
		{Requests: []*commands.Request{request(t, "DEL", "mine")}},
	}}
}

// countingSink is where a snapshot goes; it only counts.
type countingSink struct {
	raft.SnapshotSink
	written atomic.Int64
	closed  atomic.Bool
}

func (s *countingSink) Write(p []byte) (int, error) {
	s.written.Add(int64(len(p)))
	return len(p), nil
}

func (s *countingSink) Close() error {
	s.closed.Store(true)
	return nil
}

// TestASnapshotLetsTheMachineWork shares one processor between a snapshot and the state machine. Between two entries
// the snapshot may write a block, and not as much as it can until it is preempted.
func TestASnapshotLetsTheMachineWork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m, sink, persisted := machineOfLocks(t, 100_000), &countingSink{}, make(chan error, 1)
	view := m.view()
	go func() { persisted <- snapshot{view}.Persist(sink) }()
	var before, most int64
	for i := 0; !sink.closed.Load(); i++ {
		w := renewal(t, i)
		m.apply(&w, noSink{})
		runtime.Gosched()
		written := sink.written.Load()
		before, most = written, max(most, written-before)
	}
	if err := <-persisted; err != nil {
		t.Fatal(err)
	}
	if before < 1<<20 || most > 1<<18 {
		t.Errorf("%d bytes were written, %d of them between two entries", before, most)
	}
}
