package quorum

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redfence/redfence/quorum/tally"
)

// cluster is what an admission knows of all nodes together.
type cluster struct {
	id    string // "" as long as no node has told it and none was set up
	nodes []nodeState
	met   map[string]bool // run ids of servers that were at the nodes' addresses
}

// nodeState is what an admission knows of a node.
type nodeState struct {
	name  string
	facts Facts

	steps    int           // of its clock, that the last admission has made up for
	stepped  int           // of its clock, that were seen
	before   string        // the canary from before the last of them
	immortal int64         // keys without TTL when it was last counted, -1 when it never was
	since    time.Duration // when its quarantine began, 0 when it is not quarantined
	marker   string        // the canary of another attempt to admit it
	markerAt time.Duration // when that was first seen
	verdict  Verdict
	told     bool // the log says that it does not count
}

// reachable tells whether the node has been looked at and answered.
func (n *nodeState) reachable() bool { return n.facts.Look > 0 && n.facts.Reason == "" }

// settleSteps takes note of steps of the clock. When another proxy has admitted the node since, they are made up for.
func (n *nodeState) settleSteps() {
	switch now := firstOf(n.facts.Canaries); {
	case n.facts.Steps != n.stepped:
		n.stepped, n.before = n.facts.Steps, now
		if n.verdict.Canary != "" {
			n.before = n.verdict.Canary
		}
	case n.steps < n.stepped && now != n.before:
		if got, err := parseCanary(now); err == nil && got.Attempt == "" {
			n.steps = n.stepped
		}
	}
}

// judge is the verdict about node i, by its facts. It says nothing about a node that does not answer: its last verdict
// stays, and its answers, should there be some, are checked by the node itself.
func (c *cluster) judge(i int) Verdict {
	n := &c.nodes[i]
	if !n.reachable() {
		return n.verdict
	}
	v := Verdict{Look: n.facts.Look, RunID: n.facts.RunID, Steps: n.facts.Steps}
	if c.id == "" && slices.ContainsFunc(c.nodes, func(n nodeState) bool { return n.facts.Look == 0 }) {
		v.Standing, v.Reason = Quarantined, "not all nodes have been asked yet"
		return v
	}
	if v.Reason = c.unfit(i); v.Reason != "" {
		v.Standing = Refused
		return v
	}
	found, refused, reason := c.readCanaries(n)
	switch {
	case refused:
		v.Standing = Refused
	case reason == "" && found.RunID != n.facts.RunID && !n.facts.Always:
		reason = "it was restarted without appendonly yes and appendfsync always"
	case reason == "" && n.facts.Steps > n.steps:
		reason = tally.Reason("its clock stepped by " + n.facts.Step.Round(time.Millisecond).String())
	}
	switch v.Reason = reason; {
	case refused:
	case c.replaced(i, found, reason == "") != "":
		v.Standing, v.Reason = Refused, c.replaced(i, found, reason == "")
	case reason != "":
		v.Standing = Quarantined
	default:
		v.Standing, v.Canary = Counted, n.facts.Canaries[0]
	}
	return v
}

// unfit says why a server cannot be a node, and the way out.
func (c *cluster) unfit(i int) tally.Reason {
	f := &c.nodes[i].facts
	switch {
	case f.Role != "master":
		return "it is a replica: list independent servers only, or send it REPLICAOF NO ONE"
	case f.MaxMemory > 0 && f.Policy != "noeviction":
		return tally.Reason("it evicts keys, and locks with them: CONFIG SET maxmemory-policy noeviction (it is " + f.Policy + ")")
	}
	for j := range i {
		if c.nodes[j].reachable() && c.nodes[j].facts.RunID == f.RunID {
			return tally.Reason("it is the same server as " + c.nodes[j].name + ": list each server once")
		}
	}
	return ""
}

// readCanaries reads what the canaries of all databases say together. A reason means that they do not prove that the
// node has everything; refused, that it must not be used at all.
func (c *cluster) readCanaries(n *nodeState) (found canary, refused bool, reason tally.Reason) {
	missing, different := 0, false
	for _, text := range n.facts.Canaries {
		if text == "" {
			missing++
			continue
		}
		got, err := parseCanary(text)
		if err != nil {
			return found, true, "its key __redfence__ was not written by this version: use another server, or delete the key"
		}
		if refusal := c.foreign(got); refusal != "" {
			return found, true, refusal
		}
		different = different || found.Cluster != "" && got != found
		found = got
	}
	switch {
	case missing == len(n.facts.Canaries):
		return found, false, "it is empty or was flushed"
	case missing > 0:
		return found, false, "a database of it was flushed"
	case found.Attempt == settingUp:
		return found, false, "it is being set up"
	case found.Attempt != "" || different:
		return found, false, "it is being brought up to date"
	}
	return found, false, ""
}

// foreign says why a canary is not of this cluster.
func (c *cluster) foreign(got canary) tally.Reason {
	switch {
	case c.id == "":
		return tally.Reason("the nodes belong to different clusters, as many to " + got.Cluster + " as to another: list other servers")
	case got.Cluster != c.id:
		return tally.Reason("it belongs to another cluster, " + got.Cluster + ": use another server, or delete its key __redfence__")
	case got.Nodes != len(c.nodes):
		return tally.Reason(fmt.Sprintf("it belongs to a cluster of %d nodes, here are %d: all proxies must list the same", got.Nodes, len(c.nodes)))
	}
	return ""
}

// learn takes the cluster's id from the canaries, once all nodes have been looked at: the one that most nodes have. It
// stays unknown when there is none, or when two are equally frequent.
func (c *cluster) learn() {
	count := map[string]int{}
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.facts.Look == 0 {
			return
		}
		if n.reachable() {
			if got, err := parseCanary(firstOf(n.facts.Canaries)); err == nil {
				count[got.Cluster]++
			}
		}
	}
	best, tie := "", false
	for id, times := range count {
		tie = times == count[best] || tie && times < count[best]
		if times > count[best] {
			best = id
		}
	}
	if !tie {
		c.id = best
	}
}

func firstOf(texts []string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// limit is the longest TTL that may be given, 0 when any may: while a node can only be admitted by waiting, and for
// as long as one counts that was, nothing may be given that outlasts the wait.
func (c *cluster) limit(wait time.Duration) time.Duration {
	limit := time.Duration(0)
	for i := range c.nodes {
		n := &c.nodes[i]
		switch n.verdict.Standing {
		case Counted:
			if got, err := parseCanary(n.verdict.Canary); err == nil && got.MaxTTL != 0 {
				limit = time.Duration(got.MaxTTL) * time.Millisecond
			}
		case Quarantined:
			if _, enough := c.sources(i); !enough && c.id != "" {
				limit = wait
			}
		case Down, Refused:
		}
	}
	return limit
}

// waitsFor says what keeps new nodes from being set up.
func (c *cluster) waitsFor() tally.Reason {
	var list []string
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.reachable() || c.unfit(i) != "" {
			list = append(list, n.name)
		}
	}
	if list == nil {
		return "it is new"
	}
	return tally.Reason("new nodes are set up when all can be used, which is not so of " + strings.Join(list, ", "))
}

// sources are the counted nodes other than i, and whether they are enough to bring i up to date: whatever a majority
// holds, i perhaps among them, at least one of N-M+1 others has.
func (c *cluster) sources(i int) (list []int, enough bool) {
	for j := range c.nodes {
		if j != i && c.nodes[j].reachable() && c.nodes[j].verdict.Standing == Counted {
			list = append(list, j)
		}
	}
	return list, len(list) >= len(c.nodes)-tally.Majority(len(c.nodes))+1
}
