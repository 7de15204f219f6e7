package integration

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// clusterStatus is what redfence status --json says of the members.
type clusterStatus struct {
	Members struct {
		Cluster, Leader string
		Members         []struct {
			ID, Name, State, Error string
			Voter                  bool
			Applied                uint64
			StoreTime              int64 `json:"store_time_ms"`
		}
	} `json:"cluster_members"`
}

func statusOf(t *testing.T, s *harness.Server) (st clusterStatus) {
	t.Helper()
	code, text := harness.RunRedfence(t, "status", "--json", "--addr", s.Addr)
	if code != 0 {
		t.Fatalf("status: %d\n%s", code, text)
	}
	if err := json.Unmarshal([]byte(text), &st); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return st
}

// voters waits until a member knows n members with a vote, all of which answer.
func voters(t *testing.T, s *harness.Server, n int) {
	t.Helper()
	harness.Eventually(t, clusterPatience, func() bool {
		st, up := statusOf(t, s), 0
		for _, m := range st.Members.Members {
			if m.Voter && m.Error == "" {
				up++
			}
		}
		return up == n && len(st.Members.Members) == n
	})
}

// TestMembersByCommandLine: every command goes to a follower.
func TestMembersByCommandLine(t *testing.T) {
	c := harness.StartCluster(t, 3)
	voters(t, c.Members[0], 3)
	leader := c.Leader()
	asked, third := c.Members[(leader+1)%3], (leader+2)%3
	run := func(want int, part string, args ...string) {
		t.Helper()
		code, text := harness.RunRedfence(t, append(append([]string{"member"}, args...), "--addr", asked.Addr)...)
		if code != want || !strings.Contains(text, part) {
			t.Fatalf("member %v: exit code %d, want %d and %q:\n%s", args, code, want, part, text)
		}
	}
	name := c.Name(third)
	run(0, name, "list")
	run(0, "done", "transfer", name)
	harness.Eventually(t, clusterPatience, func() bool { return c.Leader() == third })
	run(1, "no member", "remove", "nobody")
	run(0, "done", "remove", name)
	voters(t, asked, 2)
	c.Members[third].Stop()
	c.Members[leader].Kill()
	run(1, "leader", "remove", c.Name(leader)) // there is no majority, so nobody decides
	c.Members[leader].Start()
	voters(t, asked, 2)
	if err := os.RemoveAll(c.Members[third].Dir); err != nil {
		t.Fatal(err)
	}
	c.Members[third].Start() // with an empty disk it comes back by itself
	voters(t, asked, 3)
}

// TestRemovingTheMajorityAsksForForce: with one of three down, the two others are all there is.
func TestRemovingTheMajorityAsksForForce(t *testing.T) {
	c := harness.StartCluster(t, 3)
	voters(t, c.Members[0], 3)
	leader := c.Leader()
	down, up := (leader+1)%3, (leader+2)%3
	c.Members[down].Kill()
	code, text := harness.RunRedfence(t, "member", "remove", c.Name(up), "--addr", c.Members[leader].Addr)
	if code != 1 || !strings.Contains(text, "--force") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	code, text = harness.RunRedfence(t, "member", "remove", c.Name(down), "--addr", c.Members[leader].Addr)
	if code != 0 {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	voters(t, c.Members[leader], 2)
}

// TestRecoverOfALostMajority keeps one of three, and a lock that it knows.
func TestRecoverOfALostMajority(t *testing.T) {
	c := harness.StartCluster(t, 3)
	token, _ := askLeader(t, c, "SET", "lock", "me", "NX", "PX", "600000", "FENCE").Int()
	left := c.Members[c.Leader()]
	for _, m := range c.Members {
		m.Kill()
	}
	recoverIt := []string{"member", "recover", "--data-dir", left.Dir, "--hold", "2s"}
	if code, text := harness.RunRedfence(t, recoverIt...); code != 2 || !strings.Contains(text, "--yes") {
		t.Fatalf("exit code %d without --yes:\n%s", code, text)
	}
	code, text := harness.RunRedfence(t, append(recoverIt, "--yes")...)
	if code != 0 || !strings.Contains(text, "with 1 keys") {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	left.Start()
	got, err := askOnce(left.Addr, "FENCE", "lock", "me")
	if n, _ := got.Int(); err != nil || n != token {
		t.Errorf("token %v, %v; want %d", got, err, token)
	}
	const hour = int64(3600e6)
	got, err = askOnce(left.Addr, "SET", "new", "me", "FENCE")
	if n, _ := got.Int(); err != nil || n <= token+hour {
		t.Errorf("a new token %v, %v; want more than an hour above %d", got, err, token)
	}
}

// TestAGracefulStopHandsTheLeadershipOver: the next leader is there before the old one is gone, and needs no election timeout.
func TestAGracefulStopHandsTheLeadershipOver(t *testing.T) {
	c := harness.StartCluster(t, 3)
	voters(t, c.Members[0], 3)
	old := c.Leader()
	if code := c.Members[old].Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if text := c.Members[old].Stderr(); strings.Contains(text, "could not be handed over") {
		t.Errorf("it did not hand over:\n%s", text)
	}
	if c.Leader() == old {
		t.Error("the one that stopped leads")
	}
}
