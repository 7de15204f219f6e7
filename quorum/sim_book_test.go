package quorum

import (
	"fmt"
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// book knows the truth about a schedule: what each node executed, which no proxy can see, and who holds what by the
// holder's own clock. It finds the violations.
type book struct {
	w        *world
	calls    map[string]*call   // by nonce
	trials   map[string]*trial  // by request ID
	ends     map[string]int64   // by key and state: when the grants of it end, in ms of the world
	holds    map[string][]*hold // by key
	tokens   map[string]fencing.Token
	unknown  map[string]int  // by key: calls that may have taken a permit
	doubtful map[string]bool // owners who were told that the outcome is unknown
	stuck    bool            // a semaphore is the same on no majority of the nodes
	apart    bool            // a present key has different versions on all nodes, when all is quiet
	lame     bool            // or on one node
	back     bool            // a released hold came back
	// oversold: of the nodes that a permit was taken on one forgets it, and the others are in different states, one of them
	// by a request that was lost and is not put back yet. Nothing tells which is right, and a key without TTL would never
	// be of use again if neither were taken.
	oversold bool
	// stranded: of two nodes that have a lock one forgets it, is given what a lost request has just left on the third, and
	// is counted; then the other forgets it. Nobody else gets it before its end, but its holder's release is answered no.
	stranded bool
	longest  time.Duration // a request may execute for so long after it was sent
}

func newBook(w *world) *book {
	return &book{
		w: w, calls: map[string]*call{}, trials: map[string]*trial{}, ends: map[string]int64{},
		holds: map[string][]*hold{}, unknown: map[string]int{}, doubtful: map[string]bool{}, tokens: map[string]fencing.Token{},
	}
}

// What became of an trial on one node.
type fate uint8

const (
	fateNone    fate = iota // not written to its connection
	fateOnWire              // may execute
	fateLost                // never will; the proxy does not know
	fateRefused             // too late
	fateNothing             // executed, wrote nothing
	fateWrote
	fateUndone
)

// trial is one Run of a call's request on the nodes.
type trial struct {
	call   *call
	fates  [5]fate
	told   [5]bool         // the proxy has the answer
	inTime [5]bool         // and before the vote was over
	until  time.Duration   // in the world's time: no node executes it later
	votes  [5][]resp.Value // of arrays: what counted nodes answered
}

// nonceOf is what makes a request of a client different from all others: the value of SET, the last argument of EVAL.
func nonceOf(r *commands.Request) string {
	switch r.Spec.Name {
	case "set":
		return r.Args[2]
	case "eval":
		return r.Args[len(r.Args)-1]
	}
	return ""
}

func (b *book) trial(op runner.Op) *trial {
	run := isRun(op)
	if run == nil {
		return nil
	}
	a := b.trials[run.ID]
	if a == nil {
		c := b.calls[nonceOf(run.Requests[0])]
		if c == nil {
			return nil
		}
		a = &trial{call: c}
		b.trials[run.ID] = a
		c.trials = append(c.trials, a)
	}
	return a
}

func (b *book) mark(node int, op runner.Op, f fate) {
	if a := b.trial(op); a != nil {
		a.fates[node] = f
	}
}

func (b *book) sent(node int, op runner.Op, until time.Duration) {
	b.mark(node, op, fateOnWire)
	if t := b.trial(op); t != nil {
		t.until = until
		b.longest = max(b.longest, until-b.w.now)
	}
}

func (b *book) lost(node int, op runner.Op)    { b.mark(node, op, fateLost) }
func (b *book) refused(node int, op runner.Op) { b.mark(node, op, fateRefused) }

func (b *book) executed(n *simNode, run *runner.Run, a *tally.Answer) {
	f := fateNothing
	if a.Wrote() {
		f = fateWrote
	}
	b.mark(n.id, run, f)
	if t := b.trial(run); t != nil && !a.Quarantined {
		t.votes[n.id] = a.Reply.Elems
	}
	for i := range a.Writes {
		w := &a.Writes[i]
		if w.Exists && w.TTL != tally.Forever {
			k := w.Key + "\x00" + w.State
			b.ends[k] = max(b.ends[k], b.w.now.Milliseconds()+w.TTL+1)
		}
	}
}

func (b *book) answered(node int, op runner.Op, out *Outcome) {
	if a := b.trial(op); a != nil {
		a.told[node], a.inTime[node] = true, b.w.now <= a.until
		a.call.answered[node] = a.call.answered[node] || out.Reason == ""
	}
}

func (b *book) undone(node int, id string) {
	if a := b.trials[id]; a != nil {
		a.fates[node] = fateUndone
	}
}

// copied checks that a copy neither prolongs nor invents, and notes when it brings a released hold back to a majority for
// the rest of its time: copies that were under way at the release of a hold that some nodes had missed can do so. A resync may bring a hold back for the rest
// of its time, for it cannot know whether it was released.
func (b *book) copied(n *simNode, key string, e *simEntry) {
	if e.end == tally.Forever {
		if !strings.HasPrefix(key, "sem") {
			b.w.fail("a copy of %s to %s never ends", key, n.name)
		}
		return
	}
	granted, known := b.ends[key+"\x00"+e.value.name()]
	end := e.end - (simEpoch + n.offset).Milliseconds()
	if strings.HasPrefix(e.version.Request, "resync.") {
		return // a key that is only blocked
	}
	if !known {
		b.w.fail("a copy to %s gives %s a state that no request made", n.name, key)
	} else if end > granted+b.slack() {
		b.w.fail("a copy to %s prolongs %s by %d ms", n.name, key, end-granted)
	}
	for _, h := range b.holds[key] {
		if h.released && !b.w.forgotten && e.value.kind == "string" && b.holders(key, h.owner) >= b.w.majority() {
			b.back = true
			b.w.logf("a copy to %s brings the released hold %s of %s back", n.name, h.owner, key)
		}
	}
}

// slack is what a copy may be longer for rounding, in ms; where nodes forget often, copies are made of copies.
func (b *book) slack() int64 {
	if b.w.plan.often {
		return 4 * simSlack.Milliseconds()
	}
	return simSlack.Milliseconds()
}

// holders is the number of nodes that have a hold.
func (b *book) holders(key, owner string) (n int) {
	for _, node := range b.w.nodes {
		if node.entry(key).value.holds(owner) {
			n++
		}
	}
	return n
}

// may is the number of nodes on which a call may still have an effect, now or later.
func (b *book) may(c *call) int {
	return b.count(c, func(a *trial, node int) bool {
		switch a.fates[node] {
		case fateOnWire:
			return b.w.now < a.until
		case fateWrote:
			return c.owner == "" || b.w.nodes[node].entry(c.key).value.holds(c.owner)
		default:
			return false
		}
	})
}

// unclear is the number of nodes of which the proxy cannot know that a call had no effect there.
func (b *book) unclear(c *call) int {
	return b.count(c, func(a *trial, node int) bool {
		f := a.fates[node]
		return f != fateNone && (!a.told[node] || f != fateRefused && f != fateNothing)
	})
}

func (b *book) count(c *call, is func(a *trial, node int) bool) (n int) {
	for node := range b.w.nodes {
		for _, a := range c.trials {
			if is(a, node) {
				n++
				break
			}
		}
	}
	return n
}

// reply checks what a client is told.
func (b *book) reply(c *call, v resp.Value, closes bool) {
	c.replies++
	c.ended = b.w.now
	if c.replies > 1 {
		b.w.fail("%s was answered twice", c)
	}
	unknown := v.IsErr() && strings.HasPrefix(v.Str, "ERR UNKNOWN outcome")
	switch {
	case unknown:
		b.unknown[c.key]++
		b.doubtful[c.owner] = true
		if !closes {
			b.w.fail("%s: UNKNOWN, but the connection stays open", c)
		}
		if c.kind == acquire && b.unclear(c) < b.w.majority() {
			b.w.fail("%s: UNKNOWN, but only %d nodes may have executed it", c, b.unclear(c))
		}
	case v.IsErr() && (strings.HasPrefix(v.Str, "CLUSTERDOWN ") || strings.HasPrefix(v.Str, "TRYAGAIN ")):
		b.undecided(c)
		answered := 0
		if n, _ := fmt.Sscanf(v.Str, "CLUSTERDOWN quorum lost: %d", &answered); n == 1 && answered >= b.w.majority() {
			b.w.fail("%s: %s", c, v.Str)
		}
		if c.kind != renewal && !b.w.plan.often && b.may(c) >= b.w.majority() {
			b.w.fail("%s: %s, but %d nodes executed it or may do so", c, v.Str, b.may(c))
		}
	case v.IsErr():
		b.w.fail("%s: %s", c, v.Str)
	case c.denied(v):
		b.denied(c)
	}
}

// undecided checks that an array was not refused on each of whose elements a majority agreed.
func (b *book) undecided(c *call) {
	if len(c.trials) == 0 {
		return
	}
	last := c.trials[len(c.trials)-1]
	var rows [][]resp.Value
	for node, inTime := range last.inTime {
		if inTime && len(last.votes[node]) > 0 {
			rows = append(rows, last.votes[node])
		}
	}
	if len(rows) < b.w.majority() {
		return
	}
	for i := range rows[0] {
		ones := 0
		for _, row := range rows {
			ones += int(row[i].Int())
		}
		if max(ones, len(rows)-ones) < b.w.majority() {
			return
		}
	}
	b.w.fail("%s: refused, but the nodes agree on each element", c)
}

// denied checks the answers that say that somebody else has the lock: a majority said so to this call, or to another
// one of the same proxy that wanted the same and was under way at some time since.
func (b *book) denied(c *call) {
	most := 0
	for _, q := range b.calls {
		if q.key != c.key || q.p != c.p || (q.replies > 0 && q.ended < c.at) {
			continue
		}
		n := 0
		for _, yes := range q.answered {
			if yes {
				n++
			}
		}
		most = max(most, n)
	}
	if most < b.w.majority() {
		b.w.fail("%s: not granted, but only %d nodes answered", c, most)
	}
}
