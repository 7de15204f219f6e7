package quorum

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redfence/redfence/quorum/tally"
)

// claim is a server that a proxy counts. Each proxy leaves its claims on all nodes, for the others to see whether all list
// the same servers: with lists that differ in one, two majorities need not meet.
type claim struct {
	runID string
	at    int64 // when the server was admitted, from its canary
}

// claims are those of this proxy, as they are left on the nodes: empty while it counts none.
func (c *cluster) claims() string {
	var words []string
	for i := range c.nodes {
		n := &c.nodes[i]
		if got, err := parseCanary(n.verdict.Canary); err == nil && n.reachable() && n.verdict.Standing == Counted {
			words = append(words, fmt.Sprintf("%s@%d", n.facts.RunID, got.At))
		}
	}
	return strings.Join(words, " ")
}

// parseClaims reads the claims of a proxy, and leaves out what is none.
func parseClaims(text string) (list []claim) {
	for word := range strings.FieldsSeq(text) {
		runID, at, _ := strings.Cut(word, "@")
		if n, err := strconv.ParseInt(at, 10, 64); err == nil {
			list = append(list, claim{runID, n})
		}
	}
	return list
}

// meet takes note of the servers that are at the addresses of the nodes. One that was there before has been restarted, and
// is no other one.
func (c *cluster) meet() {
	if c.met == nil {
		c.met = map[string]bool{}
	}
	for i := range c.nodes {
		if n := &c.nodes[i]; n.reachable() {
			c.met[n.facts.RunID] = true
		}
	}
}

// rival is a server that another proxy counts in the place of node i: it is not listed here, and i is not listed there.
func (c *cluster) rival(i int) (found claim, yes bool) {
	runID := c.nodes[i].facts.RunID
	for j := range c.nodes {
		if !c.ours(j) {
			continue
		}
		for _, text := range c.nodes[j].facts.Others {
			others := parseClaims(text)
			stranger := slices.IndexFunc(others, func(o claim) bool { return !c.met[o.runID] })
			if stranger >= 0 && !slices.ContainsFunc(others, func(o claim) bool { return o.runID == runID }) {
				return others[stranger], true
			}
		}
	}
	return claim{}, false
}

// ours tells whether a node is of this cluster: proxies of another one leave their claims on its nodes.
func (c *cluster) ours(i int) bool {
	n := &c.nodes[i]
	got, err := parseCanary(firstOf(n.facts.Canaries))
	return n.reachable() && err == nil && c.foreign(got) == ""
}

// replaced says why a node must not count, or not be brought up to date, beside a rival. Of two that count the one that was
// admitted later stays, for all proxies: the other was not needed for its admission.
func (c *cluster) replaced(i int, found canary, counts bool) tally.Reason {
	rival, yes := c.rival(i)
	if !yes || counts && rival.at <= found.At {
		return ""
	}
	return tally.Reason("another proxy counts a server in its place that is not listed here, of run_id " + rival.runID + ": all proxies must list the same nodes")
}
