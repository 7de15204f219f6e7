package raftstore

import (
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

// TestAComparisonThatFailsCostsNoEntry covers what a client sends that has lost its lock, and one that renews it to
// what it was.
func TestAComparisonThatFailsCostsNoEntry(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	st := s.Open()
	do(t, st, "SET", "lock", "owner", "NX", "PXAT", "99999999999999")
	do(t, st, "HSET", "hash", "f", "v")
	before := s.Stats().Entries
	for _, line := range []string{
		"SET lock me IFEQ other", "SET lock me IFNE owner", "SET lock me IFDEQ 0000000000000000", "SET free me IFEQ me",
		"SET lock owner IFEQ owner PXAT 99999999999999", "SET lock me IFEQ other GET", "SET lock me IFDNE short",
		"DELEX lock IFEQ other", "DELEX lock IFNE owner", "DELEX free", "DELEX hash IFEQ v", "DIGEST lock", "SET hash me IFEQ me",
	} {
		do(t, st, strings.Fields(line)...)
	}
	if n := s.Stats().Entries - before; n != 0 {
		t.Errorf("%d log entries", n)
	}
	if got := do(t, st, "GET", "lock").Reply.Str; got != "owner" {
		t.Errorf("the lock is %q's", got)
	}
}

// TestCompareAndDeleteIsARelease shows that DELEX ends a hold and hands the lock over, and that SET IFEQ with another
// value is a grant, and with the same value none.
func TestCompareAndDeleteIsARelease(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	owner, other := s.Open(), s.Open()
	do(t, owner, "SET", "lock", "owner", "NX", "PX", "60000")
	do(t, owner, "SET", "lock", "owner", "IFEQ", "owner", "PX", "90000")
	if st := s.Stats().Locks; st.Granted != 1 || total(st.Hold) != 0 {
		t.Errorf("after a renewal: granted %d, %d holds", st.Granted, total(st.Hold))
	}
	do(t, owner, "SET", "lock", "next", "IFEQ", "owner", "PX", "60000")
	if st := s.Stats().Locks; st.Granted != 2 || total(st.Hold) != 1 {
		t.Errorf("after another value: granted %d, %d holds", st.Granted, total(st.Hold))
	}
	do(t, owner, "DELEX", "lock", "IFEQ", "other")
	do(t, other, "SET", "lock", "other", "NX", "PX", "60000")
	do(t, owner, "DELEX", "lock", "IFEQ", "next")
	do(t, other, "SET", "lock", "other", "NX", "PX", "60000")
	if st := s.Stats().Locks; st.Granted != 3 || st.Contended != 1 || total(st.Hold) != 2 || total(st.Wait) != 1 {
		t.Errorf("after the release: granted %d, contended %d, %d holds, %d waits", st.Granted, st.Contended, total(st.Hold), total(st.Wait))
	}
}

// TestHeavyCommandsCountAgainstAScriptsBudget is the same for tables and look-ups.
func TestHeavyCommandsCountAgainstAScriptsBudget(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	st := s.Open()
	do(t, st, "SET", "text", strings.Repeat("xy", 1000))
	do(t, st, "EVAL", "for i = 1, 1000 do redis.call('RPUSH', 'list', i) end", "0")
	for _, call := range []string{"'LCS', 'text', 'text'", "'SORT', 'list', 'BY', 'w*', 'GET', 'x*', 'LIMIT', '0', '1'"} {
		got := do(t, st, "EVAL", "while true do redis.call("+call+") end", "0").Reply
		if got.Str != string(resp.ErrScriptWrites) {
			t.Errorf("%s: %q", call, got.Str)
		}
	}
}

// TestDigestsCountAgainstAScriptsBudget keeps a loop over a long string from standing still for minutes.
func TestDigestsCountAgainstAScriptsBudget(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	st := s.Open()
	do(t, st, "SET", "long", strings.Repeat("x", 8<<20))
	for _, call := range []string{"'DIGEST', 'long'", "'DELEX', 'long', 'IFDEQ', '0000000000000000'", "'SET', 'long', 'x', 'IFDEQ', '0000000000000000'"} {
		got := do(t, st, "EVAL", "while true do redis.call("+call+") end", "0").Reply
		if got.Str != string(resp.ErrScriptVisits) {
			t.Errorf("%s: %q", call, got.Str)
		}
	}
}
