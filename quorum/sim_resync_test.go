package quorum

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// simResync brings a node that has forgotten up to date, key by key, while requests go on. Then it is admitted again.
type simResync struct {
	w       *world
	n       *simNode
	at      time.Duration // of the next step
	begun   bool
	keys    []string
	rereads int
	copies  []pending
}

// pending is a state on its way to the node.
type pending struct {
	state runner.State
	read  time.Duration
	own   tally.Version // of the node then
}

// newSimResync begins when no request that was sent before the node forgot can execute on the others any more.
func newSimResync(w *world, n *simNode) *simResync {
	r := &simResync{w: w, n: n, at: w.now + w.book.longest + simSlack}
	if w.bug == bugHastyResync || w.bug == bugNoQuarantine {
		r.at = w.now
	}
	return r
}

// step reads or copies one key, or admits the node.
func (r *simResync) step() {
	if !r.begun {
		r.begun, r.keys = true, r.known()
	}
	switch {
	case len(r.copies) > 0 && r.w.rng.IntN(2) == 0:
		r.write(r.copies[0])
		r.copies = r.copies[1:]
	case len(r.keys) > 0:
		r.read(r.keys[0])
		r.keys = r.keys[1:]
	case len(r.copies) == 0:
		r.admit()
	}
}

// others are the nodes that have not forgotten.
func (r *simResync) others() []*simNode {
	return slices.DeleteFunc(slices.Clone(r.w.nodes), func(n *simNode) bool { return n == r.n || n.forgot() })
}

func (r *simResync) known() []string {
	keys := map[string]bool{}
	for _, n := range r.others() {
		for _, key := range n.known() {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// read takes the state of a key from N-M+1 others. While these differ, a request may be about to be put back, so the key
// is read again later, for a while.
func (r *simResync) read(key string) {
	others := r.others()
	r.w.rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	states := make([]runner.State, 0, len(others))
	for _, n := range others[:len(r.w.nodes)-r.w.majority()+1] {
		states = append(states, n.states([]string{key})[0])
	}
	differ := slices.ContainsFunc(states, func(s runner.State) bool {
		return s.Version != states[0].Version || !slices.Equal(s.Content, states[0].Content)
	})
	if differ && r.rereads < 20 && r.w.bug != bugHighestOnly {
		r.rereads++
		r.keys = append(r.keys, key)
		r.at = r.w.now + simTimeout/4
		return
	}
	best := slices.MaxFunc(states, func(a, b runner.State) int {
		return cmp.Compare(a.Version.Number, b.Version.Number)
	})
	for _, s := range states {
		best.Mark = max(best.Mark, s.Mark)
	}
	if differ && r.w.bug != bugHighestOnly {
		best = r.blocking(best, states)
	}
	r.copies = append(r.copies, pending{best, r.w.now, r.n.entry(key).version})
}

// blocking is what a node takes over when the others do not agree about a key, and one has it with a TTL: that may be
// a lock that the node had and has forgotten, or a lost request that will be put back, and nothing tells which. So the
// key is present until the last of them is over, under a version that nobody else has and therefore nobody puts back.
// The highest version alone would not do: a lost request can be as high as the grant in which the node took part.
func (r *simResync) blocking(best runner.State, states []runner.State) runner.State {
	lock := runner.State{}
	for _, s := range states {
		if s.Exists && s.TTL != tally.Forever && (!lock.Exists || lock.Version.Before(s.Version)) {
			ttl := max(lock.TTL, s.TTL)
			lock = s
			lock.TTL = ttl
		} else if s.Exists && s.TTL != tally.Forever {
			lock.TTL = max(lock.TTL, s.TTL)
		}
	}
	if !lock.Exists {
		return best
	}
	r.w.admissions++
	lock.Mark = best.Mark
	lock.Version = tally.Version{Number: best.Version.Number, Request: "resync " + strconv.Itoa(r.w.admissions)}
	return lock
}

// write copies a state, if the node is still as it was when the others were read. That its version is lower would not
// do as a condition: while it does not count, requests that are lost raise versions there, and are put back.
func (r *simResync) write(p pending) {
	p.state.Since = p.read
	op := &runner.Copy{Keys: []runner.Conditional{{State: p.state, Expect: &p.own}}}
	if r.w.bug == bugHighestOnly {
		op.Keys[0].Expect = nil
	}
	done := r.n.copy(op, 0)
	r.w.logf("resync of %s: %s: %v", r.n.name, describe(op), done[0].Done)
	if !done[0].Done && done[0].Version != p.own && r.w.bug != bugHighestOnly {
		r.keys = append(r.keys, p.state.Key)
	}
}

func (r *simResync) admit() {
	r.w.admissions++
	r.n.admit(&runner.Admit{Expect: r.n.canary, Canary: "admission " + strconv.Itoa(r.w.admissions)})
	r.w.resyncs = slices.DeleteFunc(r.w.resyncs, func(o *simResync) bool { return o == r })
	r.w.logf("%s is admitted", r.n.name)
}
