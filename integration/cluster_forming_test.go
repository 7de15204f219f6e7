package integration

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// clusterPatience bounds what takes a cluster a second or two on an idle machine.
const clusterPatience = 60 * time.Second

// askLeader runs a command on the leader, again while it is told that nothing was executed.
func askLeader(t testing.TB, c *harness.Cluster, line ...string) harness.Reply {
	t.Helper()
	var r harness.Reply
	harness.Eventually(t, clusterPatience, func() bool {
		var err error
		r, err = askOnce(c.Members[c.Leader()].Addr, line...)
		return err == nil && !notExecuted(r)
	})
	return r
}

// askOnce runs a command on a connection of its own.
func askOnce(addr string, line ...string) (harness.Reply, error) {
	w, err := harness.Open(addr)
	if err != nil {
		return harness.Reply{}, err
	}
	r, err := w.Do(line...)
	return r, errors.Join(err, w.Close())
}

// notExecuted tells whether a reply says that nothing happened and that the client may ask again.
func notExecuted(r harness.Reply) bool {
	return strings.HasPrefix(r.Text, "CLUSTERDOWN") || strings.HasPrefix(r.Text, "TRYAGAIN")
}

func TestClusterFormsInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			c := harness.NewCluster(t, 3)
			for _, i := range order {
				c.Members[i].Launch()
			}
			for _, m := range c.Members {
				m.AwaitReady()
			}
			if got := askLeader(t, c, "SET", "lock", "me", "NX", "PX", "60000"); got.Text != "OK" {
				t.Errorf("SET NX: %v", got)
			}
		})
	}
}

// TestClusterRestartsAsAWhole kills all members at once.
func TestClusterRestartsAsAWhole(t *testing.T) {
	c := harness.StartCluster(t, 3)
	token, _ := askLeader(t, c, "SET", "lock", "me", "NX", "PX", "600000", "FENCE").Int()
	for _, m := range c.Members {
		m.Kill()
	}
	for _, m := range c.Members {
		m.Launch()
	}
	for _, m := range c.Members {
		m.AwaitReady()
	}
	if got, _ := askLeader(t, c, "FENCE", "lock", "me").Int(); got != token || token == 0 {
		t.Errorf("token %d after all were killed, want %d", got, token)
	}
}

// TestNextGrantAfterTheLeaderWasKilled measures from the SIGKILL of the leader to the next grant. REDFENCE_LONG=1 makes it
// 20 kills, and then holds the times to what the project promises: 1.5 s in the middle, and 3 s at 95 of 100.
func TestNextGrantAfterTheLeaderWasKilled(t *testing.T) {
	kills, long := 3, os.Getenv("REDFENCE_LONG") == "1"
	if long {
		kills = 20
	}
	c := harness.StartCluster(t, 3)
	var times []time.Duration
	last := int64(0)
	for n := range kills {
		leader := c.Leader()
		c.Members[leader].Kill()
		began := time.Now()
		token, _ := askLeader(t, c, "SET", fmt.Sprint("lock", n), "me", "NX", "PX", "600000", "FENCE").Int()
		times = append(times, time.Since(began))
		if token <= last {
			t.Fatalf("token %d after %d", token, last)
		}
		last = token
		c.Members[leader].Start()
	}
	slices.Sort(times)
	t.Logf("next grant after %d kills of the leader: %v", kills, times)
	median, p95 := times[len(times)/2], times[(len(times)*95+99)/100-1]
	t.Logf("median %v, p95 %v", median, p95)
	if long && (median > 1500*time.Millisecond || p95 > 3*time.Second) {
		t.Error("slower than promised")
	}
}

// TestAWipedMemberIsLetInAgain: it loses its disk, and comes back under its name with a new self.
func TestAWipedMemberIsLetInAgain(t *testing.T) {
	c := harness.StartCluster(t, 3)
	askLeader(t, c, "SET", "lock", "me", "NX", "PX", "600000")
	lostAt := (c.Leader() + 1) % 3
	lost := c.Members[lostAt]
	lost.Kill()
	if err := os.RemoveAll(lost.Dir); err != nil {
		t.Fatal(err)
	}
	lost.Start()
	harness.Eventually(t, clusterPatience, func() bool {
		info, err := askOnce(lost.Addr, "INFO", "keyspace")
		return err == nil && strings.Contains(info.Text, "db0:keys=1")
	})
	// it has a vote: with another one gone the two that are left go on
	leader := c.Leader()
	voters(t, c.Members[3-leader-lostAt], 3) // a follower knows it, so it stays when the leader goes
	c.Members[leader].Kill()
	if got := askLeader(t, c, "GET", "lock"); got.Text != "me" {
		t.Errorf("GET: %v", got)
	}
}

func TestAMemberOfAnotherClusterIsRefused(t *testing.T) {
	c, other := harness.StartCluster(t, 3), harness.StartCluster(t, 3)
	stray := other.Members[0]
	stray.Stop()
	stray = c.Prepare(0, stray.Dir, "--raft-listen", other.Ports[0])
	stray.Launch()
	if code := stray.AwaitEnd(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(stray.Stderr(), "another cluster") {
		t.Errorf("it does not say why:\n%s", stray.Stderr())
	}
	said := slices.ContainsFunc(c.Members, func(m *harness.Server) bool {
		return strings.Contains(m.Stderr(), "a node of another cluster was refused")
	})
	if !said {
		t.Error("the other side does not say that it refused a node")
	}
}
