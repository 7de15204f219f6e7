package integration

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// TestQuorumMajorityGone takes the majority away: the error names each node's reason, comes as soon as it can, and
// nothing is left on the nodes that answer, nor on the others when they are back.
func TestQuorumMajorityGone(t *testing.T) {
	tests := map[string]struct {
		nodes        int
		strike, heal func(s *harness.Server)
		reason       string
	}{
		"killed":               {3, (*harness.Server).Kill, (*harness.Server).Restart, "(connection refused|connection lost)"},
		"paused":               {3, (*harness.Server).Pause, (*harness.Server).Resume, "(no answer within 100ms|it owes an answer|timeout)"},
		"three of five killed": {5, (*harness.Server).Kill, (*harness.Server).Restart, "(connection refused|connection lost)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := startRing(t, ringOf{nodes: tc.nodes, durable: true, direct: true})
			p := r.addProxy()
			c := harness.Dial(t, p.Addr)
			c.Want("OK", "SET", "before", "v", "NX", "PX", "60000")
			gone := r.servers[:tc.nodes/2+1]
			for _, s := range gone {
				tc.strike(s)
			}
			wantQuorumLost(t, r, p, len(gone), tc.reason)
			for _, s := range gone {
				tc.heal(s)
			}
			c = harness.Dial(t, p.Addr)
			harness.Eventually(t, patience, func() bool { return c.Do("GET", "before").Text == "v" })
			r.awaitCounted(p)
			wantAbsentOn(t, r.servers, "lock")
			harness.Eventually(t, patience, func() bool { return c.Do("SET", "lock", "owner", "NX", "PX", "60000").Text == "OK" })
		})
	}
}

// wantQuorumLost asks for a lock several times, and looks at the nodes that answer after each.
func wantQuorumLost(t *testing.T, r *ring, p *harness.Server, gone int, reason string) {
	t.Helper()
	n, left := len(r.servers), r.servers[gone:]
	var named []string
	for _, s := range r.servers[:gone] {
		named = append(named, regexp.QuoteMeta(s.Addr)+": "+reason)
	}
	want := regexp.MustCompile(fmt.Sprintf(`^CLUSTERDOWN quorum lost: %d of %d nodes answered \(%s\); nothing was executed$`,
		n-gone, n, strings.Join(named, ", ")))
	c := awaitReply(t, p.Addr, want, "SET", "lock", "owner", "NX", "PX", "60000")
	var took []time.Duration
	for range 9 {
		began := time.Now()
		reply := c.Do("SET", "lock", "owner", "NX", "PX", "60000")
		took = append(took, time.Since(began))
		if !reply.IsError() || !want.MatchString(reply.Text) {
			t.Errorf("answered %s, want %s", reply, want)
		}
		wantAbsentOn(t, left, "lock")
	}
	if reply := c.Do("GET", "before"); !want.MatchString(reply.Text) {
		t.Errorf("GET was answered %s, want %s", reply, want)
	}
	const longer = " but that a TTL may be longer now" // what a renewal did is not put back
	if reply := c.Do("EVAL", compareAndExpire, "1", "before", "v", "60000"); !want.MatchString(strings.TrimSuffix(reply.Text, longer)) {
		t.Errorf("a renewal was answered %s, want %s", reply, want)
	}
	slices.Sort(took)
	t.Logf("the error came after %v, %v at most (node timeout %v)", took[len(took)/2], took[len(took)-1], nodeTimeout)
	if median := took[len(took)/2]; median > 5*nodeTimeout {
		t.Errorf("the error came after %v, the node timeout is %v", median, nodeTimeout)
	}
}

// wantAbsentOn looks at servers directly.
func wantAbsentOn(t *testing.T, servers []*harness.Server, key string) {
	t.Helper()
	for i, s := range servers {
		if n := harness.Dial(t, s.Addr).Int("EXISTS", key); n != 0 {
			t.Errorf("%s is on node %d of %d", key, i+1, len(servers))
		}
	}
}

// awaitReply sends a command until it is answered with an error as wanted. The first ones may have gone to nodes before
// they were known to be away, and end with an unknown outcome and the connection.
func awaitReply(t *testing.T, addr string, want *regexp.Regexp, command ...string) *harness.Conn {
	t.Helper()
	w, last := &proxyClient{addr: addr, h: newHistory()}, harness.Reply{}
	defer w.close()
	if !harness.Poll(patience/3, func() bool {
		last, _ = w.do(command...)
		return want.MatchString(last.Text)
	}) {
		t.Fatalf("%q was last answered %s, want %s", command, last, want)
	}
	return harness.Dial(t, addr)
}
