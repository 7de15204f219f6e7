package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// TestOnlyTheMajorityGrants cuts the leader off, with clients on both sides.
func TestOnlyTheMajorityGrants(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	c, network := harness.StartApartCluster(t, 3)
	voters(t, c.Members[0], 3)
	token, _ := askLeader(t, c, "SET", "held", "me", "NX", "PX", "600000", "FENCE").Int()
	old := c.Leader()
	network.Isolate(old)
	minority, majority := c.Members[old], c.Members[(old+1)%3]
	wrong := make(chan string, 1)
	var client sync.WaitGroup
	stop := make(chan struct{})
	client.Go(func() {
		for n := 0; !ended(stop); n++ {
			r, err := askOnce(minority.Addr, "SET", fmt.Sprint("minority", n), "me", "NX", "PX", "600000", "FENCE")
			if _, granted := r.Int(); err == nil && granted {
				wrong <- fmt.Sprintf("the minority granted %v", r)
				return
			}
		}
	})
	var granted int64
	harness.Eventually(t, clusterPatience, func() bool {
		r, err := askOnce(majority.Addr, "SET", "new", "me", "NX", "PX", "600000", "FENCE")
		var ok bool
		granted, ok = r.Int()
		return err == nil && ok
	})
	if granted <= token {
		t.Errorf("token %d behind %d", granted, token)
	}
	for range 3 { // what the minority has heard of is no answer
		if r, err := askOnce(minority.Addr, "GET", "held"); err == nil && !r.IsError() {
			t.Errorf("the minority answered %v", r)
		}
	}
	close(stop)
	client.Wait()
	select {
	case what := <-wrong:
		t.Error(what)
	default:
	}
	network.Heal()
	harness.Eventually(t, clusterPatience, func() bool {
		r, err := askOnce(minority.Addr, "FENCE", "new", "me")
		n, _ := r.Int()
		return err == nil && n == granted
	})
}

// TestGrantsSurviveAMinority loses a member again and again, by kill -9 and by the loss of its disk, and at last kills all at
// once. Whatever was acknowledged is there.
func TestGrantsSurviveAMinority(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	c := harness.StartCluster(t, 3)
	voters(t, c.Members[0], 3)
	var granted []grant
	take := func() {
		t.Helper()
		name := fmt.Sprint("lock", len(granted))
		token, _ := askLeader(t, c, "SET", name, "me", "NX", "PX", "600000", "FENCE").Int()
		granted = append(granted, grant{name, token})
	}
	for round := range 4 {
		take()
		lost := c.Members[(c.Leader()+round)%3] // the leader as well
		take()
		lost.Kill()
		if round%2 == 1 {
			if err := os.RemoveAll(lost.Dir); err != nil {
				t.Fatal(err)
			}
		}
		take()
		wantGrants(t, c, granted)
		lost.Start()
		voters(t, c.Members[c.Leader()], 3)
	}
	for _, m := range c.Members {
		m.Kill()
	}
	for _, m := range c.Members {
		m.Launch()
	}
	for _, m := range c.Members {
		m.AwaitReady()
	}
	wantGrants(t, c, granted)
}

// TestClocksOfMembersMoveNoLease steps and strobes the wall clocks of single members by an hour while leases run, and hands the
// leadership from one to the other: none ends early, and none later than its TTL and the change of leader.
func TestClocksOfMembersMoveNoLease(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out clocks")
	}
	c := harness.NewClusterWith(t, 3, harness.Options{Tags: "clockskew"})
	clocks := make([]steppedClock, 3)
	for i, m := range c.Members {
		clocks[i] = steppedClock{t: t, file: filepath.Join(t.TempDir(), "offset")}
		clocks[i].step(0)
		m.SetEnv("REDFENCE_CLOCK_OFFSET_FILE=" + clocks[i].file)
	}
	c.Start()
	voters(t, c.Members[0], 3)
	const ttl = 3 * time.Second
	last := int64(0)
	for round, offset := range []time.Duration{time.Hour, -time.Hour, 0} {
		key := fmt.Sprint("lease", round)
		asked := time.Now()
		token, _ := askLeader(t, c, "SET", key, "me", "NX", "PX", milliseconds(ttl), "FENCE").Int()
		acked := time.Now()
		if token <= last {
			t.Errorf("token %d behind %d", token, last)
		}
		last = token
		leader := c.Leader()
		for n := range 10 { // strobe
			clocks[leader].step(offset * time.Duration(n%2))
			clocks[(leader+1)%3].step(-offset * time.Duration((n+1)%2))
		}
		clocks[leader].step(offset)
		to := (leader + 1 + round%2) % 3
		_, _ = askOnce(c.Members[leader].Addr, "REDFENCE", "MEMBER", "TRANSFER", c.Name(to)) // or not
		for {
			began := time.Now()
			r := askLeader(t, c, "EXISTS", key)
			if n, _ := r.Int(); n == 0 {
				if held := time.Since(asked); held < ttl {
					t.Errorf("%s was over after %v", key, held)
				}
				break
			}
			if late := began.Sub(acked) - ttl; late > clusterPatience {
				t.Fatalf("%s is there %v after its end", key, late)
			}
		}
		t.Logf("a lease of %v was over %v after it was granted", ttl, time.Since(acked))
	}
}

// TestALeaderWithoutADiskGivesWay: the disk of the leader is full, or hangs. Somebody else leads within 10 s on a machine that is
// idle, and the old leader says why.
func TestALeaderWithoutADiskGivesWay(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	for name, spoil := range map[string]func(*testing.T, string){
		"full": func(t *testing.T, dir string) {
			t.Helper()
			err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 512<<20), 0o600)
			if err == nil {
				t.Fatal("the disk is not full")
			}
		},
		"hangs": func(t *testing.T, dir string) { // for who opens the file that is tried
			t.Helper()
			path := filepath.Join(dir, "disk-check")
			harness.Eventually(t, clusterPatience, func() bool { return os.Remove(path) == nil })
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := harness.NewCluster(t, 3, "--log-store", "bolt") // whose file grows; raft-wal has its segment beforehand
			for _, m := range c.Members {
				smallDisk(t, m.Dir, "128m")
			}
			c.Start()
			voters(t, c.Members[0], 3)
			token, _ := askLeader(t, c, "SET", "held", "me", "NX", "PX", "600000", "FENCE").Int()
			old := c.Leader()
			spoil(t, c.Members[old].Dir)
			began := time.Now()
			harness.Eventually(t, clusterPatience, func() bool {
				// something to write, long enough that it does not fit what is left
				_, _ = askOnce(c.Members[(old+1)%3].Addr, "SET", "big", strings.Repeat("x", 1<<20))
				return c.Leader() != old
			})
			t.Logf("another one leads after %v", time.Since(began))
			if got, _ := askLeader(t, c, "FENCE", "held", "me").Int(); got != token {
				t.Errorf("token %d, want %d", got, token)
			}
			harness.Eventually(t, clusterPatience, func() bool {
				why := c.Members[old].Stderr()
				return strings.Contains(why, "disk") || strings.Contains(why, "no space left on device")
			})
		})
	}
}

// smallDisk mounts a file system of a size at dir, where that can be had.
func smallDisk(t *testing.T, dir, size string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("skipped: mounting a small disk needs root")
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("skipped: no small disk: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v\n%s", err, out)
		}
	})
}
