package quorum

import (
	"time"

	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// simLink is one proxy's connection to one node: the Node that the engine talks to. Whatever is sent goes through
// three lines, each in order: waiting to be written, under way to the node, and its answer under way back.
type simLink struct {
	w *world
	p *simProxy
	n *simNode

	queue, wire, back []*parcel
	failed            []*parcel // whose Done is due without an answer
	late              []*parcel // bytes of the connection before, which the node may still execute
	up                bool
	stalled           time.Duration // until then nothing reaches the node
	muted             time.Duration // until then no answer comes back
	canary            string        // what the proxy knows of the node's; empty while it does not count the node
}

// parcel is an operation on its way.
type parcel struct {
	Sending
	out    Outcome
	canary string // that the node must have; empty: it is not looked at, and the answer is marked
	void   bool
	since  time.Duration // when it entered its present line
}

var _ Node = (*simLink)(nil)

// Name is the name of the node.
func (l *simLink) Name() string { return l.n.name }

// Standing is what the proxy knows of the node.
func (l *simLink) Standing() (Standing, tally.Reason) {
	switch {
	case !l.up:
		return Down, "connection refused"
	case l.canary == "":
		return Quarantined, "may have forgotten"
	default:
		return Counted, ""
	}
}

// Send takes an operation into the line of those that wait to be written.
func (l *simLink) Send(s Sending) {
	p := &parcel{Sending: s, since: l.w.now}
	if l.w.tracing {
		l.w.logf("%s -> %s: queue %s", l.p.name, l.n.name, describe(s.Op))
	}
	if !l.up {
		l.fail(p, "connection refused", false)
		return
	}
	if !s.Ahead {
		l.queue = append(l.queue, p)
		return
	}
	at := 0
	for at < len(l.queue) && l.queue[at].Ahead {
		at++
	}
	l.queue = append(l.queue[:at:at], append([]*parcel{p}, l.queue[at:]...)...)
}

func (l *simLink) fail(p *parcel, reason tally.Reason, ran bool) {
	p.out, p.since = Outcome{Reason: reason, Ran: ran}, l.w.now
	l.failed = append(l.failed, p)
}

func pop(line *[]*parcel) *parcel {
	p := (*line)[0]
	*line = (*line)[1:]
	return p
}

// write puts the first that waits onto the wire, unless it is withdrawn.
func (l *simLink) write() {
	p := pop(&l.queue)
	if p.Withdrawn != nil && p.Withdrawn() {
		l.fail(p, "withdrawn", false)
		return
	}
	p.since, p.canary = l.w.now, l.canary
	l.wire = append(l.wire, p)
	l.w.book.sent(l.n.id, p.Op, p.Deadline-l.p.clock.ahead)
}

// deliver makes the node execute the first on the wire.
func (l *simLink) deliver() {
	p := pop(&l.wire)
	p.out, p.since = l.perform(p), l.w.now
	l.back = append(l.back, p)
}

// perform executes an operation, unless its deadline has passed in the node's time, which the node reads a little late.
func (l *simLink) perform(p *parcel) Outcome {
	left := p.Deadline - l.p.clock.Now()
	if p.Deadline != 0 && left < time.Duration(l.w.rng.Int64N(int64(2*time.Millisecond))) {
		l.w.book.refused(l.n.id, p.Op)
		return Outcome{Reason: "too late"}
	}
	if p.void = p.canary != "" && p.canary != l.n.canary; p.void {
		l.w.book.refused(l.n.id, p.Op)
		return Outcome{Reason: "may have forgotten"}
	}
	out := l.n.execute(p.Sending, l.p.clock.ahead, p.canary != "")
	if l.w.tracing {
		l.w.logf("%s executes for %s: %s: %s", l.n.name, l.p.name, describe(p.Op), outcome(&out))
	}
	return out
}

// answer hands the first answer to the engine.
func (l *simLink) answer() {
	p := pop(&l.back)
	if p.void {
		l.canary = l.n.canary
	}
	l.w.book.answered(l.n.id, p.Op, &p.out)
	l.finish(p)
}

func (l *simLink) finish(p *parcel) {
	if l.w.tracing {
		l.w.logf("%s <- %s: %s: %s", l.p.name, l.n.name, describe(p.Op), outcome(&p.out))
	}
	p.Done(p.out)
}

// cut loses the connection. Some of what was under way still reaches the node, in order, until a new connection kills
// the old one. What was not written waits for that, or fails.
func (l *simLink) cut() {
	if !l.up {
		return
	}
	l.up = false
	l.w.logf("%s loses its connection to %s", l.p.name, l.n.name)
	keep := l.w.rng.IntN(len(l.wire) + 1)
	l.late = append(l.late, l.wire[:keep]...)
	for _, p := range l.wire[keep:] {
		l.w.book.lost(l.n.id, p.Op)
	}
	for _, p := range append(l.wire, l.back...) {
		l.fail(&parcel{Sending: p.Sending}, "connection lost", true)
	}
	l.wire, l.back = nil, nil
	if l.w.rng.IntN(2) == 0 {
		for _, p := range l.queue {
			l.fail(p, "connection lost", false)
		}
		l.queue = nil
	}
}

// lateBytes makes the node execute what an abandoned connection still held.
func (l *simLink) lateBytes() { l.perform(pop(&l.late)) }

// connect makes a new connection: it kills the old one first, and reads whether the node has restarted.
func (l *simLink) connect() {
	for _, p := range l.late {
		l.w.book.lost(l.n.id, p.Op)
	}
	l.late, l.up, l.canary = nil, true, l.n.canary
	l.w.logf("%s connects to %s", l.p.name, l.n.name)
}

// oldest is how long the first in any line has been there.
func (l *simLink) oldest(line []*parcel) time.Duration {
	if len(line) == 0 {
		return 0
	}
	return l.w.now - line[0].since
}

// isRun returns the request that an operation executes, nil for other operations.
func isRun(op runner.Op) *runner.Run {
	run, _ := op.(*runner.Run)
	return run
}
