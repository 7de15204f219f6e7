package raftstore

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
)

// missing counts what a node is told of, and what it is told to have missed.
type missing struct {
	noSink
	messages, missed, ready, flushed atomic.Int64
}

func (m *missing) Message(commands.Message) int { return int(m.messages.Add(1)) }
func (m *missing) ReadyAll(int)                 { m.ready.Add(1) }
func (m *missing) Missed(exists func(string) bool) {
	if exists("n") && !exists("nothing") {
		m.missed.Add(1)
	}
}

func (m *missing) Accessed(_ int64, list []commands.Access) {
	for _, a := range list {
		if a.Kind == commands.FlushedKeys {
			m.flushed.Add(1)
		}
	}
}

// TestASnapshotUnderLoadIsToldOf: a member whose disk hangs falls so far behind that it is sent a snapshot. Its clients go on
// meanwhile through the leader, nothing is run twice, and whoever waits on it for a publication is told that some are missing.
func TestASnapshotUnderLoadIsToldOf(t *testing.T) {
	c := reserve(t, 3)
	var logs [3]*stuckLog
	var sinks [3]*missing
	for i := range c.stores {
		logs[i] = &stuckLog{writing: make(chan struct{}, 1), tokens: make(chan struct{})}
		sinks[i] = &missing{}
		cfg := c.config(i)
		cfg.SnapshotEntries, cfg.TrailingEntries, cfg.SnapshotInterval = 100, 5, 20*time.Millisecond
		cfg.Sink = sinks[i]
		cfg.LogStore = Bolt // raft-wal still gives entries that were cut off at the front, until the segment is full
		cfg.disk = func(log raft.LogStore) raft.LogStore {
			logs[i].LogStore = log
			return logs[i]
		}
		c.startWith(i, cfg)
	}
	c.ready()
	c.voters(3)
	c.routed()
	leader := c.leader()
	late := (c.index(leader) + 1) % 3
	n, stop := &tally{replies: map[int64]bool{}, refused: map[string]int{}}, make(chan struct{})
	var clients sync.WaitGroup
	for _, s := range c.stores {
		clients.Go(func() { increment(t, s.Open(), n, stop) })
	}
	eventually(t, "the late one has applied something", func() bool { return c.stores[late].Stats().Keys == 1 })
	if sinks[late].missed.Load() > 0 {
		t.Fatal("something is missing before anything was skipped")
	}
	logs[late].stuck.Store(true)
	<-logs[late].writing
	had := c.stores[late].raft.LastIndex()
	published := askFor(t, c.stores[late], "PUBLISH", "ch", "m") // its answer waits for this node
	eventually(t, "the log of the leader is cut", func() bool {
		first, err := leader.disk.log.FirstIndex()
		return err == nil && first > had+500 // two messages of up to 64 entries are on their way
	})
	logs[late].stuck.Store(false)
	close(logs[late].tokens)
	eventually(t, "it is told that something is missing", func() bool { return sinks[late].missed.Load() > 0 })
	if r := <-published; r.Reply.IsErr() && !r.Close {
		t.Errorf("the publication behind the snapshot: %+v", r.Result)
	}
	if sinks[late].flushed.Load() == 0 || sinks[late].ready.Load() < 16 {
		t.Error("those who wait for keys, or have copies of them, are not told")
	}
	close(stop)
	clients.Wait()
	if v, want := do(t, c.stores[late].Open(), "GET", "n").Reply, c.do("GET", "n"); v.Str != want.Str {
		t.Errorf("the late one says %+v, the leader %+v", v, want)
	}
	eventually(t, "it has applied as much", func() bool {
		return c.stores[late].raft.AppliedIndex() == c.leader().raft.AppliedIndex()
	})
	if int64(len(n.replies)) != n.acked || n.acked == 0 {
		t.Errorf("%d different replies to %d increments", len(n.replies), n.acked)
	}
}
