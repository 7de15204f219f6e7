package keyspace

import (
	"bytes"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// do runs one command line in a transaction of its own.
func do(t *testing.T, ks *Keyspace, s Stamp, line ...string) resp.Value {
	t.Helper()
	txn := ks.Begin(s)
	txn.Mark()
	r, err := commands.Bind(line, 0)
	if err != nil {
		return resp.ReplyFor(err)
	}
	return txn.Exec(r)
}

func dump(t *testing.T, ks *Keyspace) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := ks.View().WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSnapshotRoundTrip(t *testing.T) {
	ks := New()
	do(t, ks, Stamp{Now: 10, Wall: 5_000_000}, "SET", "a", "1", "PX", "100")
	do(t, ks, Stamp{Now: 12, Wall: 6_000_000}, "SET", "b", "2")
	do(t, ks, Stamp{Now: 13}, "SCRIPT", "LOAD", "return 1")
	was := dump(t, ks)

	restored := New()
	if err := restored.Restore(bytes.NewReader(was)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(was, dump(t, restored)) {
		t.Error("a restored keyspace writes another snapshot")
	}
	if got := do(t, restored, Stamp{Now: 20}, "PTTL", "a"); got.Int() != 90 {
		t.Errorf("PTTL after restore = %d, want 90", got.Int())
	}
	if restored.LastToken() != ks.LastToken() {
		t.Errorf("last token %d, want %d", restored.LastToken(), ks.LastToken())
	}
}

func TestDamagedSnapshotIsRefused(t *testing.T) {
	ks := New()
	do(t, ks, Stamp{Now: 10}, "SET", "a", "1")
	good := dump(t, ks)
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 0x40
		if err := New().Restore(bytes.NewReader(bad)); err == nil {
			t.Errorf("a snapshot with byte %d flipped was accepted", at)
		}
		if err := New().Restore(bytes.NewReader(good[:at])); err == nil {
			t.Errorf("a snapshot cut at byte %d was accepted", at)
		}
	}
}

func TestRollbackRestoresEverything(t *testing.T) {
	ks := New()
	do(t, ks, Stamp{Now: 1}, "SET", "kept", "old", "PX", "1000")
	do(t, ks, Stamp{Now: 1}, "SET", "gone", "x")
	before := dump(t, ks)

	txn := ks.Begin(Stamp{Now: 1, Wall: 9})
	m := txn.Mark()
	for _, line := range [][]string{
		{"SET", "kept", "new"},
		{"DEL", "gone"},
		{"SET", "made", "y", "PX", "5"},
		{"PUBLISH", "ch", "m"},
		{"SET", "kept", "newer", "PX", "7"},
	} {
		r, err := commands.Bind(line, 0)
		if err != nil {
			t.Fatal(err)
		}
		txn.Exec(r)
	}
	txn.Rollback(m)
	if !bytes.Equal(before, dump(t, ks)) {
		t.Error("the state differs after a rollback")
	}
	if n := len(txn.Events()); n != 0 {
		t.Errorf("%d events left after a rollback", n)
	}
	if at, ok := ks.NextDeadline(); !ok || at != 1002 || ks.dbs[0].due.Len() != 1 {
		t.Errorf("expiry queue: next %d, %v, length %d", at, ok, ks.dbs[0].due.Len())
	}
}

func TestTryDecidesWhatChangesNothing(t *testing.T) {
	ks := New()
	do(t, ks, Stamp{Now: 100}, "SET", "held", "a", "PX", "50")
	tests := []struct {
		name      string
		clock     int64
		line      []string
		undecided bool
	}{
		{"a read", 120, []string{"GET", "held"}, false},
		{"NX on a held key", 120, []string{"SET", "held", "b", "NX", "PX", "10"}, false},
		{"NX on a free key", 120, []string{"SET", "free", "b", "NX", "PX", "10"}, true},
		{"DEL of an absent key", 120, []string{"DEL", "free"}, false},
		{"DEL of a key", 120, []string{"DEL", "held"}, true},
		{"a read of a due key", 151, []string{"GET", "held"}, true},
		{"a publication", 120, []string{"PUBLISH", "ch", "m"}, true},
	}
	before := dump(t, ks)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := commands.Bind(tt.line, 0)
			if err != nil {
				t.Fatal(err)
			}
			txn := ks.Try(Stamp{Clock: tt.clock, Wall: 0})
			txn.Exec(r)
			if got := txn.Undecided(); got != tt.undecided {
				t.Errorf("undecided = %v, want %v", got, tt.undecided)
			}
			if !bytes.Equal(before, dump(t, ks)) {
				t.Error("a dry transaction changed the state")
			}
		})
	}
}
