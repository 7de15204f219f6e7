package integration

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// TestFenceCheck holds the answers of a resource's register to what it promises, in commands, scripts and transactions.
func TestFenceCheck(t *testing.T) {
	steps := []struct {
		want string
		line []string
	}{
		{"(nil)", []string{"FENCE.LAST", "r"}},
		{"(integer) 1", []string{"FENCE.CHECK", "r", "100"}},
		{"(integer) 1", []string{"fence.check", "r", "100"}},
		{"(integer) 0", []string{"FENCE.CHECK", "r", "99"}},
		{"(integer) 100", []string{"FENCE.LAST", "r"}},
		{"(integer) 0", []string{"EVAL", checkScript, "1", "r", "99"}},
		{"(integer) 1", []string{"EVAL", checkScript, "1", "r", "101"}},
		{"(integer) 101", []string{"EVAL", "return redis.call('FENCE.LAST', KEYS[1])", "1", "r"}},
		{"(integer) 1", []string{"EVAL", "return redis.call('FENCE.CHECK', KEYS[1], ARGV[1] + 1)", "1", "r", "101"}},
		{"(integer) 0", []string{"FENCE.CHECK", "r", "101"}},
		{"(integer) 9007199254740991", []string{"EVAL", "redis.call('FENCE.CHECK', 'max', ARGV[1]) return redis.call('FENCE.LAST', 'max')", "0", "9007199254740991"}},
		{"(nil)", []string{"EVAL", "return redis.call('FENCE.LAST', 'nobody')", "0"}},
		{badToken, []string{"FENCE.CHECK", "r", "0"}},
		{badToken, []string{"FENCE.CHECK", "r", "9007199254740992"}},
		{badToken, []string{"FENCE.CHECK", "r", "1.5"}},
		{"OK", []string{"MULTI"}},
		{"QUEUED", []string{"FENCE.CHECK", "r", "101"}},
		{"QUEUED", []string{"FENCE.CHECK", "r", "103"}},
		{"QUEUED", []string{"FENCE.LAST", "r"}},
	}
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		for _, s := range steps {
			c.Want(s.want, s.line...)
		}
		if done := c.Do("EXEC"); len(done.Elems) != 3 || done.Elems[0].Text != "0" || done.Elems[1].Text != "1" || done.Elems[2].Text != "103" {
			t.Errorf("EXEC answered %s", done)
		}
		if reply := c.Do("EVAL_RO", checkScript, "1", "r", "200"); !reply.IsError() {
			t.Errorf("a script that may not write answered %s", reply)
		}
		c.Want("OK", "SET", "r", "a lock of the name", "NX", "PX", "30000")
		c.Want("(integer) 1", "DBSIZE")
		c.Want("OK", "FLUSHALL")
		c.Want("(integer) 0", "FENCE.CHECK", "r", "102")
		c.Want("OK", "SELECT", "1")
		c.Want("(nil)", "FENCE.LAST", "r")
		d.Restart()
		c = harness.Dial(t, d.Address())
		c.Want("(integer) 103", "FENCE.LAST", "r")
		c.Want("(integer) 0", "FENCE.CHECK", "r", "102")
	})
}

// TestTheFormerOwnerIsRefusedByTheResource takes a lock twice and checks what the two holders have.
func TestTheFormerOwnerIsRefusedByTheResource(t *testing.T) {
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		former := c.Int("SET", "lock", "a", "NX", "PX", "30000", "FENCE")
		c.Want("(integer) 1", "DEL", "lock") // as if its TTL were over
		present := c.Int("SET", "lock", "b", "NX", "PX", "30000", "FENCE")
		c.Want("(nil)", "FENCE", "lock", "a")
		c.Want("(integer) 1", "FENCE.CHECK", "stock", strconv.FormatInt(present, 10))
		c.Want("(integer) 0", "FENCE.CHECK", "stock", strconv.FormatInt(former, 10))
	})
}

// TestQuorumAWipedNodeLearnsWhatResourcesHaveSeen lets a majority see a token, wipes one of the two nodes of it, and asks a
// majority of which the other is no part.
func TestQuorumAWipedNodeLearnsWhatResourcesHaveSeen(t *testing.T) {
	wipes := map[string]func(s *harness.Server){
		"flushed":         func(s *harness.Server) { harness.Dial(t, s.Addr).Want("OK", "FLUSHALL") },
		"restarted empty": func(s *harness.Server) { s.Kill(); s.Restart() },
	}
	for name, wipe := range wipes {
		t.Run(name, func(t *testing.T) {
			r := startRing(t, ringOf{nodes: 3})
			p := r.addProxy()
			c := harness.Dial(t, p.Addr)
			r.relays[2].Hold(harness.ToServer)
			harness.Eventually(t, patience, func() bool { return c.Do("FENCE.CHECK", "r", "100").Text == "1" })
			wantSeen(t, r, "100", "100", "")
			wipe(r.servers[0])
			harness.Eventually(t, patience, func() bool { return strings.Contains(c.Do("INFO", "quorum").Text, "quorum_counted:1\r\n") })
			r.relays[2].Cut() // with what was kept back
			r.relays[2].Release(harness.ToServer)
			r.awaitCounted(p)
			wantSeen(t, r, "100", "100", "")
			r.relays[1].Hold(harness.ToServer)
			harness.Eventually(t, patience, func() bool {
				reply := c.Do("FENCE.CHECK", "r", "99")
				if !reply.IsError() && reply.Text != "0" {
					t.Fatalf("a stale token was answered %s", reply)
				}
				return !reply.IsError()
			})
			harness.Eventually(t, patience, func() bool { return c.Do("FENCE.LAST", "r").Text == "100" })
			wantSeen(t, r, "100", "100", "100")
		})
	}
}

// TestQuorumChecksInTransactionsGoOn leaves a higher token on one node of two that are up, as a check does whose proxy is killed: a
// check is refused all the same, also where the reply is that of a transaction or a script that writes besides, on which a majority must
// agree.
func TestQuorumChecksInTransactionsGoOn(t *testing.T) {
	const check = "redis.call('SET', KEYS[2], ARGV[1]) return redis.call('FENCE.CHECK', KEYS[1], ARGV[1])"
	for name, ask := range map[string]func(c *harness.Conn) harness.Reply{
		"a command": func(c *harness.Conn) harness.Reply { return c.Do("FENCE.CHECK", "r", "150") },
		"a script":  func(c *harness.Conn) harness.Reply { return c.Do("EVAL", check, "2", "r", "data", "150") },
		"a transaction": func(c *harness.Conn) harness.Reply {
			c.Want("OK", "MULTI")
			c.Want("QUEUED", "FENCE.CHECK", "r", "150")
			c.Want("QUEUED", "SET", "data", "150")
			return inner(c.Do("EXEC"))
		},
		"a script in a transaction": func(c *harness.Conn) harness.Reply {
			c.Want("OK", "MULTI")
			c.Want("QUEUED", "EVAL", check, "2", "r", "data", "150")
			return inner(c.Do("EXEC"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := harness.StartQuorum(t, 3)
			c := harness.Dial(t, q.Addr)
			c.Want("(integer) 1", "FENCE.CHECK", "r", "100")
			harness.Dial(t, q.Nodes[0].Addr).Want("OK", "SET", "__redfence__fence:r", "200")
			q.Nodes[2].Kill()
			harness.Eventually(t, patience, func() bool { return strings.Contains(c.Do("INFO", "quorum").Text, "quorum_counted:2\r\n") })
			if reply := ask(c); reply.String() != "(integer) 0" {
				t.Fatalf("answered %s", reply)
			}
		})
	}
}

// TestQuorumACheckWithoutAMajoritySaysWhatIsLeft takes nodes away: the error tells whether the token may be remembered, and no error is
// taken for a refusal.
func TestQuorumACheckWithoutAMajoritySaysWhatIsLeft(t *testing.T) {
	for left, want := range []string{"nothing was executed", "nothing was executed but that the token may be remembered: send it again"} {
		t.Run(strconv.Itoa(left)+" left", func(t *testing.T) {
			q := harness.StartQuorum(t, 3)
			c := harness.Dial(t, q.Addr)
			c.Want("(integer) 1", "FENCE.CHECK", "r", "100")
			for _, n := range q.Nodes[left:] {
				n.Kill()
			}
			counted := "quorum_counted:" + strconv.Itoa(left) + "\r\n"
			harness.Eventually(t, patience, func() bool { return strings.Contains(c.Do("INFO", "quorum").Text, counted) })
			for _, token := range []string{"99", "200"} {
				reply := c.Do("FENCE.CHECK", "r", token)
				if left == 1 && token == "99" {
					if reply.String() != "(integer) 0" { // one node is enough for a refusal
						t.Errorf("a stale token was answered %s", reply)
					}
					continue
				}
				if !strings.HasPrefix(reply.Text, "CLUSTERDOWN quorum lost: ") || !strings.HasSuffix(reply.Text, "; "+want) {
					t.Errorf("%s was answered %s", token, reply)
				}
			}
			for _, n := range q.Nodes[:left] {
				harness.Dial(t, n.Addr).Want(`"200"`, "GET", "__redfence__fence:r")
			}
		})
	}
}

// inner is the first reply of a transaction, or the error in its place.
func inner(r harness.Reply) harness.Reply {
	if len(r.Elems) > 0 {
		return r.Elems[0]
	}
	return r
}

// wantSeen looks at what each node remembers of the resource r.
func wantSeen(t *testing.T, r *ring, tokens ...string) {
	t.Helper()
	for i, s := range r.servers {
		if got := harness.Dial(t, s.Addr).Do("GET", "__redfence__fence:r").Text; got != tokens[i] {
			t.Errorf("node %d has seen %q, want %q", i+1, got, tokens[i])
		}
	}
}
