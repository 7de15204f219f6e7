package keyspace

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata/snapshot-v1.hex anew: only when the format has a new version")

func restored(t *testing.T, ks *Keyspace) *Keyspace {
	t.Helper()
	again := New()
	if err := again.Restore(bytes.NewReader(dump(t, ks))); err != nil {
		t.Fatal(err)
	}
	return again
}

// TestSnapshotFormat pins version 1: these bytes are on users' disks. They must be written as they are and read back.
func TestSnapshotFormat(t *testing.T) {
	const golden = "testdata/snapshot-v1.hex"
	ks := New()
	stamp := Stamp{Now: 1_000, Wall: 1_796_000_000_000_000}
	run(t, ks, stamp, "SET lock owner PX 30000", "SET plain \"\"", "SET abs v PXAT 1796000001000",
		"HSET hash 8743c9c0-0795-4907-87fd-6c719a6b4586:1 1 mode read", "HSET large "+strings.Repeat("f", 65)+" v",
		"COPY lock lock DB 15", "SCRIPT LOAD \"return 1\"")
	ks.Begin(stamp).Remember(SHA1("return 2"), "return 2")
	got := dump(t, ks)
	if *update {
		if err := os.WriteFile(golden, []byte(hex.Dump(got)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if hex.Dump(got) != string(want) {
		t.Errorf("the snapshot has changed:\n%s", hex.Dump(got))
	}
	if again := restored(t, ks); !bytes.Equal(dump(t, again), got) {
		t.Error("a restored keyspace writes another snapshot")
	}
}

func TestRestoreRefusesAndKeepsTheState(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 3}, "SET a 1")
	before := dump(t, ks)
	future := bytes.Clone(before)
	future[len(snapshotMagic)] = snapshotVersion + 1
	for name, data := range map[string][]byte{
		"nothing":                 {},
		"another file":            []byte("REDIS0010 and so on, long enough to be read"),
		"a later version":         future,
		"bytes behind the end":    append(bytes.Clone(before), 0),
		"a string without an end": append([]byte(snapshotMagic+"\x01\x00\x00\x01"), bytes.Repeat([]byte{0xff}, 9)...),
	} {
		if err := ks.Restore(bytes.NewReader(data)); !errors.Is(err, ErrSnapshot) {
			t.Errorf("%s: error %v, want ErrSnapshot", name, err)
		}
		if !bytes.Equal(before, dump(t, ks)) {
			t.Errorf("%s: the state has changed", name)
		}
	}
}

// TestViewIsWrittenWhileTheKeyspaceGoesOn relies on the race detector. The view must be of the instant it was taken.
func TestViewIsWrittenWhileTheKeyspaceGoesOn(t *testing.T) {
	ks := withLocks(t, 2_000)
	for i := range 300 {
		run(t, ks, Stamp{Now: 1_000}, "HSET big "+held(i)+" v")
	}
	for round := range 4 {
		want, view := dump(t, ks), ks.View()
		var got bytes.Buffer
		var writer sync.WaitGroup
		writer.Go(func() {
			if _, err := view.WriteTo(&got); err != nil {
				t.Error(err)
			}
		})
		for i := range 300 {
			stamp := Stamp{Now: int64(2_000 + 1_000*round + i), Wall: 1}
			run(t, ks, stamp, "HSET big "+held(i)+" w"+held(round), "HDEL big "+held(i+7), "DEL "+held(i), "INCR n",
				"PEXPIRE "+held(i+400)+" 9000", "SET "+held(i+800)+" other", "COPY big big2 REPLACE", "SCRIPT LOAD \"return "+held(i)+"\"")
			if i%50 == 0 {
				ks.View()
				run(t, ks, stamp, "SWAPDB 0 1", "SWAPDB 0 1")
			}
		}
		run(t, ks, Stamp{}, "FLUSHDB", "HSET big f v g w")
		writer.Wait()
		if !bytes.Equal(want, got.Bytes()) {
			t.Fatalf("round %d: the view shows later changes", round)
		}
	}
}

// TestFlushOfManyKeysIsQuick compares with the time that it took to make them.
func TestFlushOfManyKeysIsQuick(t *testing.T) {
	start := time.Now()
	ks := withLocks(t, 100_000)
	making := time.Since(start)
	start = time.Now()
	txn := ks.Begin(Stamp{Now: 5_000})
	mark := txn.Mark()
	exec(t, txn, "FLUSHALL")
	if took := time.Since(start); took > making/10 {
		t.Errorf("FLUSHALL took %v, making the keys %v", took, making)
	}
	if _, due := ks.NextDeadline(); due || ks.Len() != 0 {
		t.Errorf("%d keys left, due %v", ks.Len(), due)
	}
	txn.Rollback(mark)
	if ks.Len() != 112_500 {
		t.Errorf("%d keys after a rollback", ks.Len())
	}
}
