package keyspace

import (
	"math"
	"slices"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

func TestRelativeTTLFollowsStoreTimeOnly(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 100, Wall: 50_000_000}, "SET k v PX 1000")
	steps := []struct {
		name      string
		now, wall int64
		want      int64
	}{
		{"the wall clock jumps an hour ahead", 200, 3_650_000_000, 900},
		{"it jumps back behind the start", 300, 1, 800},
		{"the last millisecond", 1099, 1, 1},
		{"the millisecond of its end", 1100, 1, 1},
		{"the end", 1101, 1, -2},
	}
	for _, s := range steps {
		if got := run(t, ks, Stamp{Now: s.now, Wall: s.wall}, "PTTL k"); got.Int() != s.want {
			t.Errorf("%s: PTTL %d, want %d", s.name, got.Int(), s.want)
		}
	}
}

// TestAbsoluteExpiryIsMadeRelativeOnce shows that a step of the wall clock after PXAT changes no TTL, and that the
// client reads back the time it gave.
func TestAbsoluteExpiryIsMadeRelativeOnce(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 100, Wall: 50_000_000}, "SET k v PXAT 51000")
	for _, tt := range []struct {
		name, line string
		now, wall  int64
		want       int64
	}{
		{"TTL as the clock stood", "PTTL k", 100, 50_000_000, 1000},
		{"TTL after a step forward", "PTTL k", 200, 90_000_000, 900},
		{"the time that was given", "PEXPIRETIME k", 200, 90_000_000, 51_000},
		{"in seconds", "EXPIRETIME k", 200, 90_000_000, 51},
		{"given again it changes nothing", "PEXPIREAT k 51000", 300, 10_000_000, 1},
		{"it is not greater than itself", "PEXPIREAT k 51000 GT", 300, 10_000_000, 0},
		{"nor less", "PEXPIREAT k 51000 LT", 300, 90_000_000, 0},
		{"so the TTL goes on", "PTTL k", 300, 10_000_000, 800},
		{"a TTL forgets it", "PEXPIRE k 700", 300, 10_000_000, 1},
		{"and counts from the clock", "PEXPIRETIME k", 300, 10_000_000, 10_700},
		{"an absolute time that is past deletes", "PEXPIREAT k 9999", 300, 10_000_000, 1},
		{"gone", "EXISTS k", 300, 10_000_000, 0},
	} {
		if got := run(t, ks, Stamp{Now: tt.now, Wall: tt.wall}, tt.line); got.Int() != tt.want {
			t.Errorf("%s: %s = %d, want %d", tt.name, tt.line, got.Int(), tt.want)
		}
	}
}

func TestExpiryAtTheEdges(t *testing.T) {
	tests := []struct {
		name, line string
		stamp      Stamp
		ask        string
		want       int64
	}{
		{"a negative TTL before store time has begun", "PEXPIRE k -5", Stamp{}, "EXISTS k", 0},
		{"the smallest TTL there is", "PEXPIRE k -9223372036854775808", Stamp{Now: 7}, "EXISTS k", 0},
		{"the largest TTL before the epoch", "PEXPIRE k 9223372036854775807", Stamp{Now: 7}, "PTTL k", math.MaxInt64 - 7},
		{
			"the largest absolute time", "PEXPIREAT k 9223372036854775807",
			Stamp{Now: 7, Wall: 5_000},
			"PEXPIRETIME k",
			math.MaxInt64,
		},
		{
			"with a wall clock before the epoch", "PEXPIREAT k 9223372036854775807",
			Stamp{Now: 7, Wall: -9_000_000},
			"PTTL k",
			math.MaxInt64 - 7,
		},
		{"a TTL of 1 ms", "PEXPIRE k 1", Stamp{Now: 7}, "PTTL k", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ks := New()
			run(t, ks, tt.stamp, "SET k v", tt.line)
			if got := run(t, ks, tt.stamp, tt.ask); got.Int() != tt.want {
				t.Errorf("%s = %d, want %d", tt.ask, got.Int(), tt.want)
			}
			checkQueues(t, ks)
		})
	}
}

func TestExpiredKeyIsPublishedOnce(t *testing.T) {
	tests := []struct {
		name string
		line string
	}{
		{"by a read", "GET k"},
		{"by a write", "SET k w"},
		{"by an acquire", "SET k w NX"},
		{"by DEL, which finds nothing", "DEL k"},
		{"by the target of a RENAME", "RENAME other k"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 10}, "SET k v PX 5", "SET other v")
			txn := ks.Begin(Stamp{Now: 16})
			exec(t, txn, tt.line)
			exec(t, txn, tt.line)
			txn.ExpireDue(10)
			want := []Event{{Channel: "__keyevent@0__:expired", Payload: "k"}}
			if !slices.Equal(txn.Events(), want) {
				t.Errorf("events %v, want %v", txn.Events(), want)
			}
			checkQueues(t, ks)
		})
	}
}

func TestExpireDueGoesByDeadlineOverAllDatabases(t *testing.T) {
	ks := New()
	txn := ks.Begin(Stamp{Now: 10})
	for db, line := range map[int]string{0: "SET a v PX 30", 3: "SET b v PX 20", 15: "SET c v PX 20", 7: "SET d v PX 99"} {
		txn.Select(db)
		exec(t, txn, line)
	}
	if at, ok := ks.NextDeadline(); !ok || at != 31 {
		t.Errorf("next deadline %d, %v", at, ok)
	}
	txn = ks.Begin(Stamp{Now: 41})
	txn.ExpireDue(2)
	txn.ExpireDue(100)
	want := []Event{
		{Channel: "__keyevent@3__:expired", Payload: "b"},
		{Channel: "__keyevent@15__:expired", Payload: "c"},
		{Channel: "__keyevent@0__:expired", Payload: "a"},
	}
	if !slices.Equal(txn.Events(), want) {
		t.Errorf("events %v, want %v", txn.Events(), want)
	}
	if ks.Len() != 1 {
		t.Errorf("%d keys left, want 1", ks.Len())
	}
}

// TestKeysThatAreDueAreNotShown: presence is judged by the stamp, also by what walks over all keys.
func TestKeysThatAreDueAreNotShown(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 10}, "SET due v PX 5", "SET stays v", "SET later v PX 50")
	for line, want := range map[string][]string{"KEYS *": {"later", "stays"}, "SCAN 0": {"later", "stays"}} {
		v := run(t, ks, Stamp{Now: 16}, line)
		if line == "SCAN 0" {
			v = v.Elems[1]
		}
		if got := shows(v.Elems); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
	if got := run(t, ks, Stamp{Now: 16}, "DBSIZE"); got.Int() != 2 {
		t.Errorf("DBSIZE %d, want 2", got.Int())
	}
	for i := range int64(50) {
		if got := run(t, ks, Stamp{Now: 16, Wall: i}, "RANDOMKEY"); got.Str == "due" {
			t.Error("RANDOMKEY gave a key that is due")
		}
	}
}

// TestDryReadOfKeysThatAreDue: what the log has not removed yet can only be decided by the log.
func TestDryReadOfKeysThatAreDue(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 10}, "SET due v PX 5", "SET held v PX 50")
	for line, want := range map[string]bool{
		"GET due": true, "KEYS *": true, "DBSIZE": true, "SCAN 0": true, "GET held": false,
		"KEYS h*": false, "SET held w NX": false, "EXISTS held due": true,
	} {
		dry := ks.Try(Stamp{Clock: 16, Wall: 0})
		exec(t, dry, line)
		if dry.Undecided() != want {
			t.Errorf("%s: undecided %v, want %v", line, dry.Undecided(), want)
		}
	}
	dry := ks.Try(Stamp{Clock: 40, Wall: 0})
	if got := exec(t, dry, "PTTL held"); got.Int() != 20 || dry.Undecided() {
		t.Errorf("PTTL by the clock %d, want 20", got.Int())
	}
	dry = ks.Try(Stamp{Clock: 99, Wall: 0})
	if got := exec(t, dry, "PTTL held"); got.Int() != 1 || !dry.Undecided() {
		t.Errorf("PTTL of a due key %d, undecided %v", got.Int(), dry.Undecided())
	}
}

// TestDryConditionCountsFromTheClock: a renewal that would not extend by the old store time does by the present one.
func TestDryConditionCountsFromTheClock(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 10}, "SET k v PX 100")
	dry := ks.Try(Stamp{Clock: 60, Wall: 0})
	exec(t, dry, "PEXPIRE k 80 GT")
	if !dry.Undecided() {
		t.Error("an extension was refused by the store time of the last entry")
	}
}

func TestStoreTimeNeverGoesBack(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 100}, "SET k v PX 50")
	if got := run(t, ks, Stamp{Now: 40}, "PTTL k"); got.Int() != 50 || ks.Now() != 100 {
		t.Errorf("PTTL %d at %d, want 50 at 100", got.Int(), ks.Now())
	}
	if got := ks.Begin(Stamp{Now: 40, Wall: 7}).Stamp(); got != (Stamp{Now: 100, Clock: 100, Wall: 7}) {
		t.Errorf("a transaction of an older stamp is at %+v", got)
	}
	if got := ks.Try(Stamp{Clock: 20, Wall: 0}).Stamp(); got.Now != 100 || got.Clock != 100 {
		t.Errorf("a dry transaction is at %+v", got)
	}
}

func TestRandomFollowsFromTheStamp(t *testing.T) {
	ks := New()
	for i := range 200 {
		run(t, ks, Stamp{Now: 1}, "SET "+held(i)+" v", "HSET h f"+held(i)+" v")
	}
	seen := map[string]bool{}
	for wall := range int64(64) {
		for _, line := range []string{"RANDOMKEY", "HRANDFIELD h 5", "HRANDFIELD h -5 WITHVALUES"} {
			a := run(t, ks, Stamp{Now: 1, Wall: wall}, line)
			if b := run(t, ks, Stamp{Now: 1, Wall: wall}, line); !equal(a, b) {
				t.Fatalf("%s gave %s, then %s", line, show(a), show(b))
			}
			seen[line+show(a)] = true
		}
	}
	if len(seen) < 150 {
		t.Errorf("only %d different answers to 192 draws", len(seen))
	}
	v := run(t, ks, Stamp{Now: 1}, "HRANDFIELD h 200")
	if got := slices.Compact(shows(v.Elems)); len(got) != 200 {
		t.Errorf("200 draws gave %d different fields", len(got))
	}
	if v := run(t, ks, Stamp{Now: 1}, "HRANDFIELD h -2000000"); !equal(v, resp.ErrValueRange.Value()) {
		t.Errorf("an endless reply: %s", v.Str)
	}
}
