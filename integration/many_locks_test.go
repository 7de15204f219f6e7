package integration

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// mostPerLock is how many bytes of the process's memory a held lock may take.
const mostPerLock = 1024

// TestManyHeldLocks takes a million locks (100,000 in the gate) through the real
// program and prints what each takes, how long a start with them takes and,
// in a long run, how long writes wait while the program takes a snapshot.
func TestManyHeldLocks(t *testing.T) {
	n, long := 100_000, os.Getenv("REDFENCE_LONG") == "1"
	if long {
		n = 1_000_000
	}
	s := harness.StartRedfenceWith(t, harness.Options{NoRace: true})
	c := harness.Dial(t, s.Addr)
	before := s.RSS()
	began := time.Now()
	takeMany(t, c, n)
	t.Logf("taking %d locks took %v", n, time.Since(began))
	wantSmall(t, s, n, before, "after taking them")
	if long {
		watchSnapshot(t, s, n)
	}
	began = time.Now()
	s.Restart()
	t.Logf("stop and start took %v", time.Since(began))
	c = harness.Dial(t, s.Addr)
	if held := c.Int("DBSIZE"); held < int64(n) {
		t.Errorf("%d locks of %d are held after a restart", held, n)
	}
	c.Want("(nil)", "SET", "lock:{order}:77", "other", "NX", "PX", "1000")
	wantSmall(t, s, n, before, "after a start")
}

// takeMany takes locks in a pipeline.
func takeMany(t *testing.T, c *harness.Conn, n int) {
	t.Helper()
	failed := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < n && err == nil; i += 100 {
			var batch []byte
			for j := i; j < min(i+100, n); j++ {
				batch = append(batch, harness.Encode("SET", fmt.Sprint("lock:{order}:", j),
					"f81d4fae-7dec-11d0-a765-00a0c91e6bf6:77", "NX", "PX", "3600000")...)
			}
			err = c.Wire.SendRaw(batch)
		}
		failed <- err
	}()
	for i := range n {
		if reply := c.Receive(); reply.Text != "OK" {
			t.Fatalf("lock %d: %s", i, reply)
		}
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

func wantSmall(t *testing.T, s *harness.Server, n int, before int64, when string) {
	t.Helper()
	each := (s.RSS() - before) / int64(n)
	t.Logf("%s: %d MiB, %d bytes for each lock", when, s.RSS()>>20, each)
	if each > mostPerLock {
		t.Errorf("%s a lock takes %d bytes", when, each)
	}
}

// watchSnapshot writes until the program has taken a snapshot by itself, and
// compares how long writes take then with how long they took before. They wait
// for the disk, which the snapshot uses as well, so a single one proves nothing:
// TestSnapshotOfManyLocks in raftstore measures the state machine alone.
func watchSnapshot(t *testing.T, s *harness.Server, n int) {
	t.Helper()
	p := startProbe(t, s.Addr)
	await(t, p.expect(2000), "writes")
	quiet, worst := p.p99(t)
	t.Logf("writes without a snapshot: p99 %v, worst %v", quiet, worst)
	p.expect(1 << 62)
	began := time.Now()
	harness.Eventually(t, 5*time.Minute, func() bool { return len(snapshots(t, s.Dir)) > 0 })
	p99, worst := p.p99(t)
	t.Logf("until a snapshot of %d locks was there (%v): p99 %v, worst %v", n, time.Since(began), p99, worst)
}
