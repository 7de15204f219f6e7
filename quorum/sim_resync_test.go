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
// What the node is given is decided as in a real one, by reading.choose.
type simResync struct {
	w        *world
	n        *simNode
	id       string
	at       time.Duration // of the next step
	sources  []*simNode    // nil before it begins
	canaries []string      // of the sources, then
	scans    []simScan
	open     map[string]sighting
	due      map[string]time.Duration // when each key is to be looked at
	jobs     []*simJob
}

// simScan is a key that comes up in the scan of a source.
type simScan struct {
	source int
	key    string
}

// simJob is what goes on about a key: its states are read one after another, and then perhaps one is written.
type simJob struct {
	reading
	key    string
	read   time.Duration // before any source was
	asked  time.Duration // when the node was read
	source int           // that was scanned, and so read first; -1: the node is read first
	choice *runner.Conditional
}

// newSimResync begins when no request that was sent before the node forgot can execute on the others any more.
func newSimResync(w *world, n *simNode) *simResync {
	r := &simResync{w: w, n: n}
	r.restart()
	return r
}

func (r *simResync) restart() {
	r.w.admissions++
	r.sources, r.jobs, r.scans, r.id = nil, nil, nil, "resync."+strconv.Itoa(r.w.admissions)
	r.at = r.w.now + r.patience()
	if r.w.bug == bugNoQuarantine {
		r.at = r.w.now
	}
}

// patience is how long after it was sent a request may still execute.
func (r *simResync) patience() time.Duration {
	if r.w.bug == bugHastyResync {
		return 0
	}
	return r.w.book.longest + simSlack
}

// step begins, reads or writes one key, or admits the node.
func (r *simResync) step() {
	if r.sources == nil {
		r.begin()
		return
	}
	next, any := r.nextDue()
	switch {
	case len(r.jobs) > 0 && (!any && len(r.scans) == 0 || len(r.jobs) == 3 || r.w.rng.IntN(3) > 0):
		r.advance(r.w.rng.IntN(len(r.jobs)))
	case len(r.scans) > 0:
		at := r.w.rng.IntN(len(r.scans))
		s := r.scans[at]
		r.scans = slices.Delete(r.scans, at, at+1)
		first := r.sources[s.source].states([]string{s.key})
		r.jobs = append(r.jobs, &simJob{key: s.key, source: s.source, reading: reading{others: first}, read: r.w.now})
	case len(r.jobs) > 0: // the scans come to their end first
		r.advance(0)
	case any:
		delete(r.due, next)
		r.jobs = append(r.jobs, &simJob{key: next, source: noSource, read: r.w.now})
	case len(r.due) > 0:
		r.at = slices.Min(slices.Collect(maps.Values(r.due)))
	default:
		r.admit()
	}
}

// begin chooses N-M+1 nodes that have not forgotten as sources.
func (r *simResync) begin() {
	others := slices.DeleteFunc(slices.Clone(r.w.nodes), func(n *simNode) bool { return n == r.n || n.forgot() })
	need := len(r.w.nodes) - r.w.majority() + 1
	if len(others) < need {
		r.at = r.w.now + simTimeout
		return
	}
	r.w.rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	r.sources, r.canaries = others[:need], nil
	r.open, r.due = map[string]sighting{}, map[string]time.Duration{}
	for i, n := range r.sources {
		r.canaries = append(r.canaries, n.canary)
		for _, key := range n.known() {
			r.scans = append(r.scans, simScan{i, key})
		}
	}
}

func (r *simResync) nextDue() (string, bool) {
	for _, key := range slices.Sorted(maps.Keys(r.due)) {
		if r.due[key] <= r.w.now {
			return key, true
		}
	}
	return "", false
}

// advance takes a key one step further.
func (r *simResync) advance(i int) {
	j := r.jobs[i]
	state := func(n *simNode) runner.State { return n.states([]string{j.key})[0] }
	switch {
	case j.asked == 0:
		j.own, j.asked = state(r.n), r.w.now
		s, known := r.open[j.key]
		j.rested = j.source == noSource && known && s.version == j.own.Version && j.asked-s.since >= r.patience()
		if j.source != noSource && j.has(&j.others[0]) {
			r.jobs = slices.Delete(r.jobs, i, i+1)
		}
	case len(j.others) < len(r.sources):
		j.others = append(j.others, state(r.sources[j.unread()]))
	case j.choice == nil:
		var again bool
		if j.choice, again = r.choose(&j.reading); again {
			r.again(j, j.own.Version)
		}
		if j.choice == nil {
			r.jobs = slices.Delete(r.jobs, i, i+1)
		}
	default:
		r.write(j)
		r.jobs = slices.Delete(r.jobs, i, i+1)
	}
}

// unread is the next source to be read.
func (j *simJob) unread() int {
	at := len(j.others)
	if j.source != noSource && at <= j.source {
		at-- // the one that was scanned has been read first
	}
	return at
}

func (r *simResync) choose(read *reading) (*runner.Conditional, bool) {
	if r.w.bug != bugHighestOnly {
		return read.choose(r.id)
	}
	best := slices.MaxFunc(read.others, func(a, b runner.State) int {
		return cmp.Compare(a.Version.Number, b.Version.Number)
	})
	return &runner.Conditional{State: best}, false
}

// again has a key looked at again, later.
func (r *simResync) again(j *simJob, version tally.Version) {
	r.due[j.key] = r.w.now + simTimeout/4
	if s, known := r.open[j.key]; !known || s.version != version {
		r.open[j.key] = sighting{version, j.asked}
	}
}

// write gives the node what was chosen. What it refuses has changed meanwhile.
func (r *simResync) write(j *simJob) {
	j.choice.Since = j.read
	op := &runner.Copy{Keys: []runner.Conditional{*j.choice}}
	done := r.n.copy(op, 0)
	r.w.logf("resync of %s: %s: %v", r.n.name, describe(op), done[0].Done)
	if !done[0].Done && !j.choice.Again && r.w.bug != bugHighestOnly {
		r.again(j, done[0].Version)
	}
}

func (r *simResync) admit() {
	for i, n := range r.sources {
		if n.canary != r.canaries[i] {
			r.restart()
			return
		}
	}
	r.w.admissions++
	r.n.admit(&runner.Admit{Expect: r.n.canary, Canary: "admission " + strconv.Itoa(r.w.admissions)})
	r.w.resyncs = slices.DeleteFunc(r.w.resyncs, func(o *simResync) bool { return o == r })
	r.w.logf("%s is admitted", r.n.name)
}
