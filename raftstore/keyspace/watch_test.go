package keyspace

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/redfence/redfence/commands"
)

// watchIn is WATCH as the front end runs it, in a transaction of its own.
func watchIn(t *testing.T, ks *Keyspace, key string) commands.Watch {
	t.Helper()
	r, err := commands.Bind([]string{"WATCH", key}, 0)
	if err != nil {
		t.Fatal(err)
	}
	txn := ks.Begin(Stamp{Now: 1})
	txn.Mark()
	return commands.WatchesOf(r, txn.Exec(r))[0]
}

func touched(ks *Keyspace, w commands.Watch) bool {
	txn := ks.Begin(Stamp{Now: 1})
	txn.Mark()
	return txn.Touched(w)
}

func TestTouched(t *testing.T) {
	setup := []string{"SET k v", "SET ttl v PX 50", "HSET h f v", "SET other v"}
	tests := []struct {
		key, lines string // separated by |
		want       bool
	}{
		{"k", "SET k w", true},
		{"k", "SET k v", false},
		{"k", "GET k|SET k w NX|EXPIRE absent 5|DEL absent", false},
		{"k", "EXPIRE k 100", true},
		{"k", "DEL k", true},
		{"k", "DEL k|SET k v", true},
		{"k", "RENAME k x|RENAME x k", true},
		{"k", "COPY other k REPLACE", true},
		{"k", "COPY k x|MOVE other 3", false},
		{"k", "MOVE k 3", true},
		{"k", "FLUSHDB", true},
		{"k", "FLUSHALL|SET k v", true},
		{"k", "SWAPDB 0 3", true},
		{"k", "SWAPDB 0 3|SWAPDB 0 3", true},
		{"k", "SWAPDB 3 4|COPY k x DB 4|SWAPDB 3 4", false},
		{"h", "HSET h f v", false},
		{"h", "HSET h f w", true},
		{"h", "HDEL h f", true},
		{"absent", "SET k w|DEL other", false},
		{"absent", "SET absent v", true},
		{"absent", "SET absent v|DEL absent", true},
		{"absent", "SET absent v|FLUSHALL", true},
		{"absent", "SET absent v|SWAPDB 0 3", true},
		{"absent", "FLUSHALL", false},
		{"absent", "SWAPDB 0 3", false},
		{"absent", "COPY k absent DB 3|SWAPDB 0 3", true},
	}
	for _, tt := range tests {
		t.Run(tt.key+": "+tt.lines, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 1}, setup...)
			w := watchIn(t, ks, tt.key)
			if touched(ks, w) {
				t.Fatal("touched before anything happened")
			}
			run(t, ks, Stamp{Now: 1}, split(tt.lines)...)
			if got := touched(ks, w); got != tt.want {
				t.Errorf("touched = %v, want %v", got, tt.want)
			}
			if got := touched(restored(t, ks), w); got != tt.want {
				t.Errorf("after snapshot and restore touched = %v, want %v", got, tt.want)
			}
			if touched(ks, watchIn(t, ks, tt.key)) {
				t.Error("touched right after another WATCH")
			}
		})
	}
}

func split(lines string) []string {
	var all []string
	for line := range bytes.SplitSeq([]byte(lines), []byte("|")) {
		all = append(all, string(line))
	}
	return all
}

func TestATTLThatIsOverTouches(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 1}, "SET k v PX 50")
	w := watchIn(t, ks, "k")
	if dry := ks.Try(Stamp{Clock: 60, Wall: 0}); !dry.Touched(w) && !dry.Undecided() {
		t.Error("a dry transaction decides about a key that is due")
	}
	late := ks.Begin(Stamp{Now: 60})
	late.Mark()
	if !late.Touched(w) {
		t.Error("a key that expired is not touched")
	}
}

// TestWhatWasTakenBackTouchesNothing covers scripts over their budget, and rehearsals.
func TestWhatWasTakenBackTouchesNothing(t *testing.T) {
	for name, begin := range map[string]func(*Keyspace) *Txn{
		"rollback":  func(ks *Keyspace) *Txn { return ks.Begin(Stamp{Now: 1}) },
		"rehearsal": func(ks *Keyspace) *Txn { return ks.Rehearse(Stamp{Clock: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 1}, "SET k v", "SET gone v")
			before := dump(t, ks)
			watches := []commands.Watch{watchIn(t, ks, "k"), watchIn(t, ks, "gone"), watchIn(t, ks, "absent")}
			txn := begin(ks)
			mark := txn.Mark()
			for _, line := range []string{
				"SET k w", "DEL gone", "SET absent v", "DEL absent", "SET absent x", "SET gone y", "SWAPDB 0 3", "SET k z", "FLUSHALL",
			} {
				exec(t, txn, line)
			}
			txn.Rollback(mark)
			for _, w := range watches {
				if touched(ks, w) {
					t.Errorf("%q is touched by what was taken back", w.Key)
				}
			}
			if !bytes.Equal(before, dump(t, ks)) {
				t.Error("the state differs")
			}
		})
	}
}

// FuzzEveryChangeTouches holds WATCH to the snapshot: whatever changes the bytes of a key is noticed by one who watches it.
func FuzzEveryChangeTouches(f *testing.F) {
	for i := range 40 {
		f.Add([]byte(fmt.Sprintf("%c0\x01%c12\x020345%c67890abc", i*3, i, i*5)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, ks := &program{data: data}, New()
		for range 4 {
			once(ks, p.stamp(), p.line())
		}
		for range 8 {
			var watches []commands.Watch
			var before []*object
			for _, key := range fuzzKeys {
				watches = append(watches, watchIn(t, ks, key))
				o, _ := ks.dbs[0].keys.get(key)
				before = append(before, o)
			}
			once(ks, p.stamp(), p.line())
			for i, w := range watches {
				if o, _ := ks.dbs[0].keys.get(w.Key); o != before[i] && !touched(ks, w) {
					t.Fatalf("%q has changed and is not touched", w.Key)
				}
			}
		}
	})
}

func once(ks *Keyspace, s Stamp, line []string) {
	r, err := commands.Bind(line, 0)
	if err != nil {
		return
	}
	txn := ks.Begin(s)
	txn.Mark()
	txn.Exec(r)
}

// BenchmarkStamp shows what the numbers cost a change of one key.
func BenchmarkStamp(b *testing.B) {
	var c changes
	for i := range b.N {
		c.stamp(i%Databases, "lock:{order}:000000001", nil, true)
	}
}
