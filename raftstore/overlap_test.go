package raftstore

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// startHeld forms a cluster of three members whose disks can be made to hang.
func startHeld(t *testing.T) (*nodes, []*stuckLog) {
	t.Helper()
	c, logs := reserve(t, 3), make([]*stuckLog, 3)
	c.heart = time.Second // a busy machine must not change the leader
	for i := range c.stores {
		l := &stuckLog{writing: make(chan struct{}, 1), tokens: make(chan struct{})}
		logs[i] = l
		t.Cleanup(l.release)
		cfg := c.config(i)
		cfg.disk = func(log raft.LogStore) raft.LogStore { l.LogStore = log; return l }
		c.startWith(i, cfg)
	}
	c.ready()
	c.voters(3)
	c.routed()
	return c, logs
}

// release lets the disk go on.
func (l *stuckLog) release() {
	if l.stuck.Swap(false) {
		close(l.tokens)
	}
}

// heldEntry makes the disk of the leader hang, and has a write of key that both followers have on disk and the library takes
// for committed.
func heldEntry(t *testing.T, c *nodes, logs []*stuckLog) (leader *Store, answers chan answer, index uint64) {
	t.Helper()
	leader = c.leader()
	before := leader.raft.LastIndex()
	logs[c.index(leader)].stuck.Store(true)
	answers = ask(t, leader, "held")
	eventually(t, "the library takes it for committed", func() bool {
		index = leader.raft.LastIndex()
		return index > before && leader.raft.CommitIndex() == index
	})
	eventually(t, "all followers have it", func() bool {
		for _, s := range c.followers() {
			if s.raft.LastIndex() < index {
				return false
			}
		}
		return true
	})
	return leader, answers, index
}

// TestNothingShowsOfWhatTheLeadersDiskDoesNotHave: the followers have an entry on disk long before the leader has. Until it has,
// no client is answered, nothing is applied anywhere, and no follower is told that it is committed.
func TestNothingShowsOfWhatTheLeadersDiskDoesNotHave(t *testing.T) {
	c, logs := startHeld(t)
	leader, answers, index := heldEntry(t, c, logs)
	for range 40 { // the followers are told what is committed every 5 to 10 ms
		<-time.After(5 * time.Millisecond)
		for _, s := range c.followers() {
			if got := s.raft.CommitIndex(); got >= index {
				t.Fatalf("a follower takes %d for committed, and the leader's disk has no %d", got, index)
			}
		}
		for _, s := range c.stores {
			if s.Stats().Keys != 0 {
				t.Fatal("it is applied")
			}
		}
		if len(answers) != 0 {
			t.Fatalf("answered with %+v", <-answers)
		}
	}
	logs[c.index(leader)].release()
	if a := <-answers; a.Reply.Str != "OK" {
		t.Errorf("answered with %+v", a.Result)
	}
	for _, s := range c.stores {
		eventually(t, "it is applied", func() bool { return s.Stats().Keys == 1 })
	}
}

// TestALeaderHandsOverWhatItsDiskDoesNotHave: the next one has it on disk, and so has the old leader before it follows.
func TestALeaderHandsOverWhatItsDiskDoesNotHave(t *testing.T) {
	c, logs := startHeld(t)
	old, answers, index := heldEntry(t, c, logs)
	eventually(t, "another leader", func() bool {
		return old.raft.State() != raft.Leader || old.transfer("") == nil
	})
	eventually(t, "another one serves", func() bool { return c.leader() != old })
	next := c.leader()
	if v := do(t, next.Open(), "GET", "held").Reply; v.Str != "v" {
		t.Errorf("the next leader has %+v", v)
	}
	if old.raft.AppliedIndex() < index && old.Stats().Keys != 0 {
		t.Error("the old leader has applied what its disk does not have")
	}
	logs[c.index(old)].release()
	if a := <-answers; a.Reply.Str != "OK" && !a.Close {
		t.Errorf("answered with %+v", a.Result)
	}
	if v := c.do("SET", "more", "v"); v.Str != "OK" {
		t.Errorf("afterwards: %+v", v)
	}
	for _, s := range c.stores {
		eventually(t, "all is applied", func() bool { return s.Stats().Keys == 2 })
	}
}

// brokenLog is a disk on which writes fail while there is a reason.
type brokenLog struct {
	raft.LogStore
	why atomic.Pointer[error]
}

func (l *brokenLog) StoreLogs(logs []*raft.Log) error {
	if why := l.why.Load(); why != nil {
		return *why
	}
	return l.LogStore.StoreLogs(logs)
}

// TestALeaderThatCannotWriteStepsDown: another node leads and answers the client, or its outcome is unknown. The old leader knows
// why, and goes on when its disk does, or closes.
func TestALeaderThatCannotWriteStepsDown(t *testing.T) {
	for _, recovers := range []bool{true, false} {
		t.Run(map[bool]string{true: "for a while", false: "for good"}[recovers], func(t *testing.T) {
			c, logs := reserve(t, 3), make([]*brokenLog, 3)
			for i := range c.stores {
				l := &brokenLog{}
				logs[i] = l
				cfg := c.config(i)
				cfg.disk = func(log raft.LogStore) raft.LogStore { l.LogStore = log; return l }
				c.startWith(i, cfg)
			}
			c.ready()
			c.voters(3)
			c.routed()
			old, full := c.leader(), errors.New("no space left on device")
			logs[c.index(old)].why.Store(&full)
			if a := <-ask(t, old, "lock"); a.Reply.Str != "OK" && !a.Close {
				t.Errorf("the write that failed: %+v", a.Result)
			}
			eventually(t, "another leader", func() bool { return c.leader() != old })
			if v := c.do("SET", "more", "v"); v.Str != "OK" {
				t.Errorf("on the next leader: %+v", v)
			}
			if fault := old.disk.log.fault.Load(); fault == nil || !errors.Is(*fault, full) {
				t.Errorf("the fault of the old leader is %v", fault)
			}
			if !recovers {
				c.stop(c.index(old))
				return
			}
			logs[c.index(old)].why.Store(nil)
			eventually(t, "the old leader has all", func() bool {
				return old.raft.AppliedIndex() == c.leader().raft.AppliedIndex() && old.Stats().Keys == c.leader().Stats().Keys
			})
		})
	}
}
