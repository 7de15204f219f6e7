package raftstore

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// failingLog refuses writes while broken.
type failingLog struct {
	raft.LogStore
	broken chan struct{} // closed when the disk is full
}

func (f failingLog) StoreLogs(logs []*raft.Log) error {
	select {
	case <-f.broken:
		return errors.New("no space left on device")
	default:
		return f.LogStore.StoreLogs(logs)
	}
}

func TestAFullDiskIsNamed(t *testing.T) {
	cfg, broken := DefaultConfig(t.TempDir()), make(chan struct{})
	cfg.disk = func(log raft.LogStore) raft.LogStore { return failingLog{log, broken} }
	s := open(t, cfg)
	st := s.Open()
	do(t, st, "SET", "lock", "owner")
	close(broken)

	first := do(t, st, "SET", "k", "v")
	if !first.Close || !strings.HasPrefix(first.Reply.Str, "ERR UNKNOWN outcome") {
		t.Errorf("the write that failed: %+v", first)
	}
	for deadline := time.Now().Add(10 * time.Second); s.Ready(t.Context()) == nil; {
		if time.Now().After(deadline) {
			t.Fatal("the store still calls itself ready")
		}
		<-time.After(time.Millisecond)
	}
	if got := do(t, st, "SET", "k", "v"); got.Close || !strings.HasPrefix(got.Reply.Str, "CLUSTERDOWN ") ||
		!strings.Contains(got.Reply.Str, "no space left on device") {
		t.Errorf("a write afterwards: %+v", got)
	}
}
