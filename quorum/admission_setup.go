package quorum

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// step is what a new installation needs next.
type step uint8

const (
	nothing step = iota
	mark         // give all nodes the same cluster id
	count        // let all nodes count that have it
)

// settingUp is the attempt that a canary names while its node is being set up. Nodes begin to count only after all have
// such a canary. So while fewer than a majority count and all others have it, no lock can have been given yet, and any
// proxy may go on with a set-up that another began.
const settingUp = "setup"

// setUpStep says what a new installation needs next, and nothing when this is none: all nodes must answer and be fit, and
// none may have lost what it had.
func (c *cluster) setUpStep() step {
	empty, marked, counted := 0, 0, 0
	for i := range c.nodes {
		n := &c.nodes[i]
		if !n.reachable() || c.unfit(i) != "" {
			return nothing
		}
		text := n.facts.Canaries[0]
		got, err := parseCanary(text)
		switch {
		case text == "" && firstOf(n.facts.Canaries) == "":
			empty++
		case err != nil || c.foreign(got) != "":
			return nothing
		case got.Attempt == settingUp:
			marked++
		case got.Attempt == "":
			counted++
		}
	}
	known := c.wasCounted()
	switch {
	case empty+marked == len(c.nodes) && !known:
		return mark
	case marked > 0 && marked+counted == len(c.nodes) && counted < tally.Majority(len(c.nodes)):
		return count
	}
	return nothing
}

// wasCounted tells whether a node counted since this proxy started: then a node without canary has lost it.
func (c *cluster) wasCounted() bool {
	return slices.ContainsFunc(c.nodes, func(n nodeState) bool { return n.immortal >= 0 })
}

// newNode is a node that is being set up.
type newNode struct {
	index int
	runID string
	at    int64 // its wall clock, in ms
	keys  int64
	db    int // how many databases it has
}

// setUp is the work on a new installation.
type setUp struct {
	step  step
	id    string
	nodes []newNode // by run id: all proxies begin with the same node, and its canary decides between them
}

func (a *Admission) newSetUp(s step) setUp {
	now := a.cfg.Clock.Now()
	u := setUp{step: s, id: a.cluster.id}
	if u.id == "" {
		u.id = newID()
	}
	for i := range a.cluster.nodes {
		f := &a.cluster.nodes[i].facts
		u.nodes = append(u.nodes, newNode{
			index: i, runID: f.RunID, at: (f.Offset + now).Milliseconds(), keys: f.Keys, db: len(f.Canaries),
		})
	}
	slices.SortFunc(u.nodes, func(x, y newNode) int { return strings.Compare(x.runID, y.runID) })
	return u
}

// setUp makes a new installation of the nodes, or goes on with it. What fails is tried again after the next look.
func (a *Admission) setUp(u setUp) {
	err := a.markAll(&u)
	for _, n := range u.nodes {
		if err == nil {
			err = a.countNew(u.id, n)
		}
	}
	if err != nil {
		a.log.Warn("the nodes could not be set up, trying again", "error", err)
	}
	a.mu.Lock()
	a.setting = false
	for i := range a.acted {
		a.acted[i] = a.cfg.Clock.Now()
	}
	a.mu.Unlock()
	for _, m := range a.cfg.Members {
		m.Look()
	}
}

// markAll gives all nodes the cluster's id, that of the first node if it has one already.
func (a *Admission) markAll(u *setUp) error {
	if u.step == count {
		return nil
	}
	for _, n := range u.nodes {
		text, err := a.admitAll(n, "", canary{Cluster: u.id, Nodes: len(u.nodes), Attempt: settingUp}.String())
		if err != nil {
			return err
		}
		found, err := parseCanary(text)
		switch {
		case err != nil:
			return err
		case n.index == u.nodes[0].index:
			u.id = found.Cluster
		case found.Cluster != u.id:
			return fmt.Errorf("%s was set up for cluster %s", a.cfg.Members[n.index].Name(), found.Cluster)
		}
		if n.keys > 0 {
			a.log.Warn("a new node is not empty: its keys are taken as they are", "node", a.cfg.Members[n.index].Name(), "keys", n.keys)
		}
	}
	a.log.Info("set up a new installation", "cluster", u.id, "nodes", len(u.nodes))
	return nil
}

// countNew lets a node count that was marked.
func (a *Admission) countNew(id string, n newNode) error {
	marked := canary{Cluster: id, Nodes: len(a.cfg.Members), Attempt: settingUp}
	counts := canary{Cluster: id, Nodes: len(a.cfg.Members), RunID: n.runID, At: n.at}
	_, err := a.admitAll(n, marked.String(), counts.String())
	return err
}

// admitAll sets the canaries of all databases of a node. Where another proxy was faster, its canary in database 0 is
// taken for the others too. It returns that canary.
func (a *Admission) admitAll(n newNode, expect, text string) (string, error) {
	for db := range n.db {
		o, err := a.ask(a.ctx, n.index, db, &runner.Admit{Expect: expect, Canary: text})
		if err != nil {
			return "", err
		}
		if db == 0 && !o.Admitted.Done {
			text = o.Admitted.Canary
		}
	}
	return text, nil
}
