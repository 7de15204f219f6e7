package integration

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// manyWrites is more than the log has room for on a full disk: a segment of raft-wal has 64 MiB, and each write 1 MiB.
const manyWrites = 200

// fillDisk leaves no room below dir until the file that it returns is removed.
func fillDisk(t *testing.T, dir string) (filler string) {
	t.Helper()
	filler = filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 512<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	return filler
}

// writes counts in a key, in values of 1 MiB.
type writes struct{ tried, acked int }

// next writes the next number on a server, and returns the reply; that is empty when there was none.
func (w *writes) next(addr string) string {
	w.tried++
	r, _ := askOnce(addr, "SET", "big", strconv.Itoa(w.tried)+strings.Repeat("x", 1<<20))
	if r.Text == "OK" {
		w.acked = w.tried
	}
	return r.Text
}

// expect checks that the last acknowledged number is there, or one whose outcome is unknown.
func (w *writes) expect(t *testing.T, value string) {
	t.Helper()
	if n, err := strconv.Atoi(strings.TrimRight(value, "x")); err != nil || n < w.acked || n > w.tried {
		t.Errorf("number %d (%v) is there, %d is acknowledged, and %d was tried", n, err, w.acked, w.tried)
	}
}

// TestANodeGoesOnWhenItsDiskHasRoomAgain fills the disk of a single node until it takes nothing, and makes room: it goes on by itself
// with all that it has acknowledged.
func TestANodeGoesOnWhenItsDiskHasRoomAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	dir := t.TempDir()
	smallDisk(t, dir, "128m")
	s := harness.StartRedfence(t, "--data-dir", dir)
	c := harness.Dial(t, s.Addr)
	token, _ := c.Do("SET", "held", "me", "NX", "PX", "600000", "FENCE").Int()
	filler, w := fillDisk(t, dir), &writes{}
	for w.next(s.Addr) == "OK" {
		if w.tried > manyWrites {
			t.Fatal("the log does not fill the disk")
		}
	}
	harness.Eventually(t, clusterPatience, func() bool {
		why := w.next(s.Addr)
		return strings.HasPrefix(why, "CLUSTERDOWN") && strings.Contains(why, syscall.ENOSPC.Error())
	})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, clusterPatience, func() bool {
		r, err := askOnce(s.Addr, "SET", "more", "v")
		return err == nil && r.Text == "OK"
	})
	check := func() {
		c := harness.Dial(t, s.Addr)
		w.expect(t, c.Do("GET", "big").Text)
		if got, _ := c.Do("FENCE", "held", "me").Int(); got != token {
			t.Errorf("token %d, want %d", got, token)
		}
		c.Want(`"v"`, "GET", "more")
	}
	check()
	s.Kill()
	s.Start()
	check()
}

// TestALeaderGoesOnWhenItsDiskHasRoomAgain fills the disk of a leader until another one leads, and makes room: it catches up by itself,
// and can lead again.
func TestALeaderGoesOnWhenItsDiskHasRoomAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	c := harness.NewCluster(t, 3)
	for _, m := range c.Members {
		smallDisk(t, m.Dir, "256m")
	}
	c.Start()
	voters(t, c.Members[0], 3)
	token, _ := askLeader(t, c, "SET", "held", "me", "NX", "PX", "600000", "FENCE").Int()
	old := c.Leader()
	other := c.Members[(old+1)%3]
	filler, w := fillDisk(t, c.Members[old].Dir), &writes{}
	for c.Leader() == old {
		if w.next(other.Addr); w.tried > manyWrites {
			t.Fatal("the leader goes on with a full disk")
		}
	}
	harness.Eventually(t, clusterPatience, func() bool { return w.next(other.Addr) == "OK" })
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, clusterPatience, func() bool {
		_, _ = askOnce(other.Addr, "REDFENCE", "MEMBER", "TRANSFER", c.Name(old)) // refused until it has caught up
		return c.Leader() == old
	})
	w.expect(t, askLeader(t, c, "GET", "big").Text)
	if got, _ := askLeader(t, c, "FENCE", "held", "me").Int(); got != token {
		t.Errorf("token %d, want %d", got, token)
	}
	if r := askLeader(t, c, "SET", "more", "v"); r.Text != "OK" {
		t.Errorf("SET: %v", r)
	}
}
