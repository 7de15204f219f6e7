package keyspace

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the snapshots of testdata anew: only when the format has a new version")

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
	stamp := Stamp{Now: 1_000, Wall: 1_796_000_000_000_000}
	first := New()
	run(t, first, stamp, "SET lock owner PX 30000", "SET plain \"\"", "SET abs v PXAT 1796000001000",
		"HSET hash 8743c9c0-0795-4907-87fd-6c719a6b4586:1 1 mode read", "HSET large "+strings.Repeat("f", 65)+" v",
		"COPY lock lock DB 15", "SCRIPT LOAD \"return 1\"")
	first.Begin(stamp).Remember(SHA1("return 2"), "return 2")
	checkGolden(t, "testdata/snapshot-v1.hex", first)

	collections := New()
	long := strings.Repeat("m", 65)
	run(t, collections, stamp, "RPUSH list a b \"\"", "SADD ints 3 -1 9223372036854775807", "SADD set b a 1",
		"ZADD zset 1796024563039 a -inf b 0.1 c", "ZADD skiplist 2 "+long+" 1 x")
	for i := range 129 {
		run(t, collections, stamp, fmt.Sprintf("RPUSH longlist e%d", i), fmt.Sprintf("SADD large m%d", i))
	}
	checkGolden(t, "testdata/snapshot-v1-collections.hex", collections)
}

func checkGolden(t *testing.T, golden string, ks *Keyspace) {
	t.Helper()
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
		t.Errorf("%s: the snapshot has changed:\n%s", golden, hex.Dump(got))
	}
	if again := restored(t, ks); !bytes.Equal(dump(t, again), got) {
		t.Errorf("%s: a restored keyspace writes another snapshot", golden)
	}
}

func TestRestoreRefusesAndKeepsTheState(t *testing.T) {
	ks := New()
	run(t, ks, Stamp{Now: 3}, "SET a 1")
	before := dump(t, ks)
	future := bytes.Clone(before)
	future[len(snapshotMagic)] = withResources + 1
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
		run(t, ks, Stamp{Now: 1_000}, "HSET big "+held(i)+" v", "RPUSH list "+held(i), "SADD set "+held(i), "ZADD zset 1 "+held(i))
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
				"PEXPIRE "+held(i+400)+" 9000", "SET "+held(i+800)+" other", "COPY big big2 REPLACE", "SCRIPT LOAD \"return "+held(i)+"\"",
				"LPUSH list x", "RPOP list", "LSET list 100 "+held(i), "LINSERT list BEFORE x y", "SADD set n"+held(i), "SREM set "+held(i+3),
				"ZINCRBY zset 2 "+held(i), "ZPOPMIN zset", "ZRANGE zset 50 60", "SRANDMEMBER set 3", "LINDEX list 70")
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

// TestFlushOfManyKeysIsQuick compares with the time that it took to make them. The quickest of several counts, since the
// scheduler may come between.
func TestFlushOfManyKeysIsQuick(t *testing.T) {
	start := time.Now()
	ks := withLocks(t, 100_000)
	making := time.Since(start)
	txn, took := ks.Begin(Stamp{Now: 5_000}), making
	mark := txn.Mark()
	for range 5 {
		txn.Rollback(mark)
		start = time.Now()
		exec(t, txn, "FLUSHALL")
		took = min(took, time.Since(start))
	}
	if took > making/10 {
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
