package keyspace

import (
	"bytes"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// TestFenceCheck says which tokens get through, what is remembered then, and what of it goes through the log.
func TestFenceCheck(t *testing.T) {
	memory := commands.FenceMemory.Milliseconds()
	setup := []string{"FENCE.CHECK r 100", "FENCE.CHECK other 900"}
	tests := []struct {
		name    string
		at      int64 // store time in ms
		db      int
		line    string
		want    resp.Value
		last    resp.Value // of r, behind it
		logged  bool
		maximal int64 // FenceMemory, 0 is the usual one
	}{
		{"a higher token", 10, 0, "FENCE.CHECK r 101", resp.Int(1), resp.Int(101), true, 0},
		{"the same token again", 10, 0, "FENCE.CHECK r 100", resp.Int(1), resp.Int(100), false, 0},
		{"the same token once more after a long time", memory / 2, 0, "FENCE.CHECK r 100", resp.Int(1), resp.Int(100), true, 0},
		{"a stale token", 10, 0, "FENCE.CHECK r 99", resp.Int(0), resp.Int(100), false, 0},
		{"a stale token at the end of the memory", 1 + memory, 0, "FENCE.CHECK r 99", resp.Int(0), resp.Int(100), false, 0},
		{"a stale token that is forgotten to be one", 2 + memory, 0, "FENCE.CHECK r 99", resp.Int(1), resp.Int(99), true, 0},
		{"a resource that is not known", 10, 0, "FENCE.CHECK new 1", resp.Int(1), resp.Int(100), true, 0},
		{"another database", 10, 3, "FENCE.CHECK r 1", resp.Int(1), resp.Int(100), true, 0},
		{"the largest token", 10, 0, "FENCE.CHECK r 9007199254740991", resp.Int(1), resp.Int(9007199254740991), true, 0},
		{"beyond the largest token", 10, 0, "FENCE.CHECK r 9007199254740992", resp.ErrToken.Value(), resp.Int(100), false, 0},
		{"no token", 10, 0, "FENCE.CHECK r 0", resp.ErrToken.Value(), resp.Int(100), false, 0},
		{"no number", 10, 0, "FENCE.CHECK r 1x", resp.ErrToken.Value(), resp.Int(100), false, 0},
		{"no resource", 10, 0, "FENCE.CHECK 1", resp.WrongArity("fence.check").Value(), resp.Int(100), false, 0},
		{"the last of another", 10, 0, "FENCE.LAST other", resp.Int(900), resp.Int(100), false, 0},
		{"the last of none", 10, 0, "FENCE.LAST new", resp.Value{}, resp.Int(100), false, 0},
		{"a lock of the name", 10, 0, "SET r x NX", resp.OK(), resp.Int(100), true, 0},
		{"a shorter memory keeps what was promised", 10, 0, "FENCE.CHECK r 100", resp.Int(1), resp.Int(100), false, 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 1, Wall: 5}, setup...)
			stamp := Stamp{Now: tt.at, Clock: tt.at, Wall: 5, FenceMemory: tt.maximal}
			r, err := commands.Bind(words(tt.line), tt.db)
			if err != nil {
				if got := resp.ReplyFor(err); !equal(got, tt.want) {
					t.Errorf("got %s, want %s", show(got), show(tt.want))
				}
				return
			}
			dry := ks.Try(stamp)
			dry.Select(tt.db)
			said := dry.Exec(r)
			if dry.Undecided() != tt.logged || !tt.logged && !equal(said, tt.want) {
				t.Errorf("without the log: %s, undecided %v", show(said), dry.Undecided())
			}
			txn := ks.Begin(stamp)
			txn.Select(tt.db)
			mark := txn.Mark()
			if got := txn.Exec(r); !equal(got, tt.want) {
				t.Errorf("got %s, want %s", show(got), show(tt.want))
			}
			if txn.ChangedSince(mark) != tt.logged && tt.want.IsErr() == false {
				t.Errorf("changed %v, want %v", txn.ChangedSince(mark), tt.logged)
			}
			if last := run(t, ks, stamp, "FENCE.LAST r"); !equal(last, tt.last) {
				t.Errorf("FENCE.LAST %s, want %s", show(last), show(tt.last))
			}
			checkCount(t, ks)
			checkQueues(t, ks)
		})
	}
}

// TestWhatIsRememberedIsNoKey looks for resources where clients look for keys, and tries to lose them.
func TestWhatIsRememberedIsNoKey(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 1, Wall: 5}, "FENCE.CHECK r 100", "SET k v", "FENCE.CHECK k 200")
	for line, want := range map[string]resp.Value{
		"DBSIZE": resp.Int(1), "EXISTS r": resp.Int(0), "KEYS *": resp.Arr(resp.Str("k")), "RANDOMKEY": resp.Str("k"),
		"TTL r": resp.Int(-2), "GET r": {}, "FENCE r": {},
	} {
		if got := run(t, ks, Stamp{Now: 2}, line); !equal(got, want) {
			t.Errorf("%s: %s, want %s", line, show(got), show(want))
		}
	}
	if n := ks.Len(); n != 1 {
		t.Errorf("%d keys", n)
	}
	if _, due := ks.NextDeadline(); due {
		t.Error("an idle server would write entries to forget in time")
	}
	if ks.LongestTTL() != 0 {
		t.Error("a recovery would wait for what is remembered")
	}
	for _, line := range []string{"FLUSHDB", "FLUSHALL", "SWAPDB 0 1", "DEL r k", "SCRIPT FLUSH"} {
		run(t, ks, Stamp{Now: 3}, line)
		if got := run(t, ks, Stamp{Now: 3}, "FENCE.CHECK k 199"); got.Int() != 0 {
			t.Errorf("a stale token got through after %s", line)
		}
	}
}

// TestForgettingIsSilent: no subscriber of expired keys hears of it, and nobody's copy is taken for old.
func TestForgettingIsSilent(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 1, Wall: 5, FenceMemory: 10}, "FENCE.CHECK r 100")
	txn := ks.Begin(Stamp{Now: 50})
	txn.Trace(true, true)
	txn.CountLeases(true)
	txn.ExpireDue(10)
	granted, held, _ := txn.Leases()
	if len(txn.Events()) != 0 || len(txn.Trail()) != 0 || granted != 0 || len(held) != 0 || ks.Resources() != 0 {
		t.Errorf("events %v, accesses %v, %d granted, held %v, %d remembered", txn.Events(), txn.Trail(), granted, held, ks.Resources())
	}
}

// TestAFullStateForgetsNothing: a resource that is not known does not fit, and is refused; one that is known goes on.
func TestAFullStateForgetsNothing(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 1, Wall: 5}, "FENCE.CHECK r 100")
	full := func(line string) resp.Value {
		txn := ks.Begin(Stamp{Now: 2, MaxMemory: 10})
		txn.Weigh()
		return exec(t, txn, line)
	}
	for line, want := range map[string]resp.Value{
		"FENCE.CHECK new 1": resp.ErrOOM.Value(), "FENCE.CHECK r 99": resp.Int(0), "FENCE.CHECK r 101": resp.Int(1),
	} {
		if got := full(line); !equal(got, want) {
			t.Errorf("%s: %s, want %s", line, show(got), show(want))
		}
	}
}

// TestWhatIsRememberedIsInTheSnapshot restores a state and goes on with it; version 2 is pinned beside that.
func TestWhatIsRememberedIsInTheSnapshot(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 1_000, Wall: 1_796_000_000_000_000}, "SET lock owner PX 30000", "FENCE.CHECK r 100",
		"FENCE.CHECK resource-2 9007199254740991")
	txn := ks.Begin(Stamp{Now: 1_001, FenceMemory: time.Minute.Milliseconds()})
	txn.Select(15)
	exec(t, txn, "FENCE.CHECK r 7")
	checkGolden(t, "testdata/snapshot-v2.hex", ks)
	again := restored(t, ks)
	checkQueues(t, again)
	checkCount(t, again)
	if again.Used() != ks.Used() || !bytes.Equal(dump(t, again), dump(t, ks)) {
		t.Error("a restored state is another one")
	}
	for line, want := range map[string]int64{"FENCE.CHECK r 99": 0, "FENCE.LAST r": 100, "FENCE.LAST resource-2": 1<<53 - 1} {
		if got := run(t, again, Stamp{Now: 1_002}, line); got.Int() != want {
			t.Errorf("%s: %s, want %d", line, show(got), want)
		}
	}
}
