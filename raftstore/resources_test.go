package raftstore

import (
	"testing"
	"time"

	"github.com/redfence/redfence/commands/resp"
)

// wantCheck checks the answers of FENCE.CHECK and FENCE.LAST.
func wantCheck(t *testing.T, ask func(line ...string) resp.Value, want int64, line ...string) {
	t.Helper()
	if got := ask(line...); got.Kind != resp.Integer || got.Int() != want {
		t.Errorf("%q answered %+v, want %d", line, got, want)
	}
}

// TestTokensAreRememberedOverRestarts goes on from the log, and from a snapshot without the log before it.
func TestTokensAreRememberedOverRestarts(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	cfg.TrailingEntries = 1
	checked := func(s *Store, want int64, line ...string) {
		t.Helper()
		st := s.Open()
		wantCheck(t, func(line ...string) resp.Value { return do(t, st, line...).Reply }, want, line...)
	}
	s := open(t, cfg)
	checked(s, 1, "FENCE.CHECK", "r", "100")
	checked(s, 0, "EVAL", "return redis.call('FENCE.CHECK', KEYS[1], ARGV[1])", "1", "r", "99")
	checked(s, 1, "EVAL", "return redis.call('FENCE.CHECK', KEYS[1], ARGV[1])", "1", "r", "101")
	for _, snapshot := range []bool{false, true} {
		if snapshot {
			if err := s.raft.Snapshot().Error(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, cfg)
		checked(s, 0, "FENCE.CHECK", "r", "100")
		checked(s, 101, "FENCE.LAST", "r")
	}
	if before := s.Stats().AppliedIndex; true {
		checked(s, 1, "FENCE.CHECK", "r", "101")
		checked(s, 0, "FENCE.CHECK", "r", "5")
		if after := s.Stats().AppliedIndex; after != before {
			t.Errorf("checks that change nothing took the log from %d to %d", before, after)
		}
	}
}

// TestTokensAreForgottenByStoreTime has a memory of its own, so entries of a version of their own.
func TestTokensAreForgottenByStoreTime(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	cfg.FenceMemory = 20 * time.Millisecond
	s := open(t, cfg)
	st := s.Open()
	if got := do(t, st, "FENCE.CHECK", "r", "100").Reply; got.Int() != 1 {
		t.Fatalf("answered %+v", got)
	}
	eventually(t, "the token is forgotten", func() bool { return do(t, st, "FENCE.LAST", "r").Reply.IsNull() })
	if got := do(t, st, "FENCE.CHECK", "r", "1").Reply; got.Int() != 1 {
		t.Errorf("answered %+v", got)
	}
}

// TestTheNextLeaderRemembers kills the leader behind a check.
func TestTheNextLeaderRemembers(t *testing.T) {
	c := startNodes(t)
	wantCheck(t, c.do, 1, "FENCE.CHECK", "r", "100")
	c.stop(c.index(c.leader()))
	wantCheck(t, c.do, 0, "FENCE.CHECK", "r", "99")
	wantCheck(t, c.do, 100, "FENCE.LAST", "r")
	wantCheck(t, c.do, 1, "FENCE.CHECK", "r", "100")
}
