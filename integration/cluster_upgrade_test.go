package integration

import (
	"fmt"
	"os"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// previousBuild is the last commit whose log entries and snapshots have no checksums.
const previousBuild = "e020d2c"

// TestUpgradeOfARunningCluster replaces the program of one member after the other, the leader last, and then goes back with one:
// data directories of the earlier build are taken over, both builds work together, and no lock is lost.
func TestUpgradeOfARunningCluster(t *testing.T) {
	if os.Getenv("REDFENCE_LONG") != "1" {
		t.Skip("skipped: an earlier build is made only with REDFENCE_LONG=1")
	}
	before, now := harness.BuildCommit(t, previousBuild), harness.Binary(t, harness.Options{})
	c := harness.NewCluster(t, 3)
	for _, m := range c.Members {
		m.SetProgram(before)
	}
	c.Start()
	var granted []grant
	take := func(name string) {
		t.Helper()
		token, _ := askLeader(t, c, "SET", name, "me", "NX", "PX", "600000", "FENCE").Int()
		granted = append(granted, grant{name, token})
		wantGrants(t, c, granted)
	}
	take("before")
	leader := c.Leader()
	for n := range c.Members {
		i := (leader + 1 + n) % 3
		c.Members[i].Stop()
		c.Members[i].SetProgram(now)
		c.Members[i].Start()
		voters(t, c.Members[i], 3)
		take(fmt.Sprint("after ", n+1))
	}
	back := c.Members[(c.Leader()+1)%3]
	back.Stop()
	back.SetProgram(before)
	back.Start()
	voters(t, back, 3)
	take("back")
}

// grant is what a client was told.
type grant struct {
	lock  string
	token int64
}

// wantGrants checks that all locks are held, with tokens that grow.
func wantGrants(t testing.TB, c *harness.Cluster, granted []grant) {
	t.Helper()
	last := int64(0)
	for _, g := range granted {
		if got, _ := askLeader(t, c, "FENCE", g.lock, "me").Int(); got != g.token || got <= last {
			t.Fatalf("%s has token %d, was granted %d behind %d", g.lock, got, g.token, last)
		}
		last = g.token
	}
}
