package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// Causes why an attempt to admit a node ends early.
var (
	errOvertaken = errors.New("its canary has changed: another proxy is at it, or it was flushed again")
	errSources   = errors.New("a node that was copied from does not count any more")
	errRestless  = errors.New("keys go on changing before they can be copied")
	errStates    = errors.New("a node did not answer for all keys")
)

// task is an attempt to admit a quarantined node.
type task struct {
	node    int
	facts   Facts
	cluster string
	sources []int
	only    bool // mark it as quarantined, for all proxies to see, and no more
	waited  bool // the sources are too few, but every lock that it may have forgotten is over
}

// task says what can be done about node i now.
func (a *Admission) task(i int, now time.Duration) (t task, ok bool) {
	n := &a.cluster.nodes[i]
	if !n.reachable() || n.verdict.Standing != Quarantined {
		return t, false
	}
	found, _ := parseCanary(n.facts.Canaries[0])
	if found.Attempt != "" && n.marker != a.mine[i] && now-n.markerAt < abandoned {
		return t, false // another proxy is at it
	}
	sources, enough := a.cluster.sources(i)
	t = task{node: i, facts: n.facts, cluster: a.cluster.id, sources: sources}
	t.waited = n.immortal == 0 && now-n.since >= a.cfg.MaxLockTTL
	t.only = !enough && !t.waited
	t.waited = t.waited && !enough
	if t.waited {
		t.sources = a.cluster.answering(i)
	}
	return t, !t.only || found.Cluster != "" && found.Attempt == ""
}

// answering are the nodes other than i that answer, whatever they are worth.
func (c *cluster) answering(i int) (list []int) {
	for j := range c.nodes {
		if j != i && c.nodes[j].reachable() && c.nodes[j].verdict.Standing != Refused {
			list = append(list, j)
		}
	}
	return list
}

// attempt carries a task out.
func (a *Admission) attempt(t task) {
	name := a.cfg.Members[t.node].Name()
	err := a.bring(t)
	a.mu.Lock()
	a.fails[t.node]++
	if err == nil {
		a.fails[t.node] = 0
	}
	if err == nil && !t.only {
		a.cluster.nodes[t.node].steps = t.facts.Steps
	}
	now := a.cfg.Clock.Now()
	a.busy[t.node], a.acted[t.node], a.next[t.node] = false, now, now+again<<min(a.fails[t.node], 5)
	a.mu.Unlock()
	if err != nil && a.ctx.Err() == nil {
		a.log.Warn("node could not be brought up to date, trying again", "node", name, "error", err)
	}
	a.cfg.Members[t.node].Look()
}

// bring copies everything to the node that it may have forgotten, and admits it. First the node is marked: a marker
// that is gone at the end shows that the node has forgotten again meanwhile.
func (a *Admission) bring(t task) error {
	r := &resync{a: a, task: t, began: a.cfg.Clock.Now(), open: map[place]sighting{}, marker: canary{
		Cluster: t.cluster, Nodes: len(a.cfg.Members), RunID: t.facts.RunID, Attempt: newID(),
	}}
	if err := r.mark(); err != nil || t.only {
		return err
	}
	if err := a.pause(a.settling()); err != nil {
		return err
	}
	before := a.canaries(t.sources)
	// A release that came to the node before the hold did has passed it by, and the copy would stand until its TTL. Twice:
	// what the node has after the first time, it releases itself.
	for range 2 {
		if err := r.copyAll(); err != nil {
			return err
		}
	}
	if !t.waited && !sameCounted(before, a.canaries(t.sources)) {
		return errSources
	}
	if err := r.admit(); err != nil {
		return err
	}
	a.log.Info("node is up to date", "node", a.cfg.Members[t.node].Name(), "seen", r.seen.Load(), "copied", r.copied.Load(),
		"from", len(t.sources), "took", a.cfg.Clock.Now()-r.began)
	return nil
}

// canaries are what makes the nodes of a list counted.
func (a *Admission) canaries(list []int) []Verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []Verdict
	for _, j := range list {
		v := a.cluster.nodes[j].verdict
		if s, _ := a.cfg.Members[j].Standing(); s == Down || s == Counted {
			found = append(found, v)
		} else {
			found = append(found, Verdict{})
		}
	}
	return found
}

// sameCounted tells whether all nodes counted before and after, and as the same.
func sameCounted(before, after []Verdict) bool {
	for i := range before {
		b, c := before[i], after[i]
		if b.Standing != Counted || c.Standing != Counted || b.Canary != c.Canary || b.RunID != c.RunID || b.Steps != c.Steps {
			return false
		}
	}
	return true
}

// resync is one attempt.
type resync struct {
	a            *Admission
	task         task
	marker       canary
	texts        []string // the marker as it is in each database now
	began        time.Duration
	seen, copied atomic.Int64 // keys

	mu   sync.Mutex
	open map[place]sighting // keys to be looked at again
}

// mark sets the marker in all databases in the place of what the latest look found there.
func (r *resync) mark() error {
	r.marker.At = (r.task.facts.Offset + r.began).Milliseconds()
	r.texts = make([]string, len(r.task.facts.Canaries))
	text := r.marker.String()
	r.a.mu.Lock()
	r.a.mine[r.task.node] = text
	r.a.mu.Unlock()
	for db, found := range r.task.facts.Canaries {
		if err := r.replace(db, found, text); err != nil {
			return err
		}
	}
	return nil
}

// replace changes the canary of a database, unless it has changed already.
func (r *resync) replace(db int, expect, text string) error {
	o, err := r.a.ask(r.a.ctx, r.task.node, db, &runner.Admit{Expect: expect, Canary: text})
	if err == nil && !o.Admitted.Done && o.Admitted.Canary != text {
		err = errOvertaken
	}
	if err == nil {
		r.texts[db] = text
	}
	return err
}

// admit makes the node count. Database 0 comes last: what breaks off before leaves it quarantined.
func (r *resync) admit() error {
	c := r.marker
	c.Attempt, c.At = "", (r.task.facts.Offset + r.a.cfg.Clock.Now()).Milliseconds()
	if r.task.waited {
		c.MaxTTL = r.a.cfg.MaxLockTTL.Milliseconds()
	}
	for db, text := range slices.Backward(r.texts) {
		if err := r.replace(db, text, c.String()); err != nil {
			return err
		}
	}
	return nil
}

// ask sends an operation to a node and waits for the outcome. A node that does not answer is asked again some times: the
// operations of an admission can be repeated.
func (a *Admission) ask(ctx context.Context, node, db int, op runner.Op) (o Outcome, err error) {
	const times, patience = 4, 5 * time.Second
	for try := 0; ; try++ {
		done := make(chan Outcome, 1)
		a.cfg.Members[node].Send(Sending{
			DB: db, Op: op, Deadline: a.cfg.Clock.Now() + patience, Done: func(o Outcome) { done <- o },
		})
		select {
		case o = <-done:
		case <-ctx.Done():
			return o, ctx.Err()
		}
		if o.Reason == "" {
			return o, nil
		}
		if try == times-1 {
			return o, fmt.Errorf("%s: %w", a.cfg.Members[node].Name(), silentError(o.Reason))
		}
		if err := a.pause(again / times); err != nil {
			return o, err
		}
	}
}

// silentError is the Reason of a node that gave no answer.
type silentError tally.Reason

func (e silentError) Error() string { return string(e) }

// pause waits, unless the admission is closed.
func (a *Admission) pause(d time.Duration) error {
	over := make(chan struct{})
	defer a.cfg.Clock.AfterFunc(d, func() { close(over) })()
	select {
	case <-over:
		return nil
	case <-a.ctx.Done():
		return a.ctx.Err()
	}
}
