package quorum

import (
	"math/rand/v2"
	"time"
)

// plan is what may go wrong in a schedule.
type plan struct {
	nodes, proxies, clients, todo int

	rarity  int // one step in so many is a fault
	prompt  bool
	stalls  bool // nodes and connections are slow
	cuts    bool // connections are lost
	kills   bool // proxies die
	amnesia bool // nodes restart empty, or are flushed
	pauses  bool // proxies stand still
	wall    bool // wall clocks differ and step
	often   bool // nodes forget often
}

// newPlan draws a plan. A quarter of the schedules know no fault, and in these every message comes in time.
func newPlan(rng *rand.Rand) plan {
	p := plan{nodes: 3, proxies: 1 + rng.IntN(3), clients: 2 + rng.IntN(4), todo: 3 + rng.IntN(6), rarity: 40 + rng.IntN(200)}
	if rng.IntN(5) == 0 {
		p.nodes = 5
	}
	p.wall = rng.IntN(4) > 0
	if rng.IntN(4) == 0 {
		p.prompt = true
		return p
	}
	for _, f := range []*bool{&p.stalls, &p.cuts, &p.kills, &p.amnesia, &p.pauses} {
		*f = rng.IntN(2) == 0
	}
	return p
}

// forgetful makes it a plan in which nodes forget often, while requests come late.
func (p *plan) forgetful() {
	p.prompt, p.amnesia, p.stalls, p.cuts, p.rarity = false, true, true, true, 20
	p.often = true
	p.todo += 6
}

// moves are the things that can happen now. In a prompt schedule what has waited for long comes first.
func (w *world) moves() []func() {
	var moves, old []func()
	add := func(since time.Duration, f func()) {
		moves = append(moves, f)
		if w.plan.prompt && since > 3*time.Millisecond {
			old = append(old, f)
		}
	}
	for _, p := range w.proxies {
		for _, l := range p.links {
			w.linkMoves(l, add)
		}
	}
	for _, c := range w.clients {
		if c.busy == nil && !c.idle() && c.next <= w.now && c.p.paused <= w.now {
			moves = append(moves, c.act)
		}
	}
	for _, r := range w.resyncs {
		if r.at <= w.now {
			moves = append(moves, r.step)
		}
	}
	if len(old) > 0 {
		return old
	}
	return moves
}

func (w *world) linkMoves(l *simLink, add func(time.Duration, func())) {
	if len(l.late) > 0 && l.n.stalled <= w.now {
		add(0, l.lateBytes)
	}
	if len(l.wire) > 0 && max(l.stalled, l.n.stalled) <= w.now {
		add(l.oldest(l.wire), l.deliver)
	}
	if l.p.dead || l.p.paused > w.now {
		return
	}
	if len(l.failed) > 0 {
		add(l.oldest(l.failed), func() { l.finish(pop(&l.failed)) })
	}
	if !l.up {
		add(0, l.maybeConnect)
		return
	}
	if l.canary == "" && !l.n.forgot() {
		add(0, func() { l.canary = l.n.canary })
	}
	if len(l.queue) > 0 {
		add(l.oldest(l.queue), l.write)
	}
	if len(l.back) > 0 && l.muted <= w.now {
		add(l.oldest(l.back), l.answer)
	}
	if max(l.oldest(l.wire), l.oldest(l.back)) > 10*simTimeout {
		add(0, l.cut)
	}
}

// maybeConnect connects, sooner or later.
func (l *simLink) maybeConnect() {
	if l.w.calm || l.w.rng.IntN(8) == 0 {
		l.connect()
	}
}

// fault lets one of the things of the plan go wrong. It returns false when it draws one that is not planned.
func (w *world) fault() bool {
	p := w.proxies[w.rng.IntN(len(w.proxies))]
	l := p.links[w.rng.IntN(len(p.links))]
	long := time.Duration(w.rng.Int64N(int64(4 * simTimeout)))
	switch kind := w.rng.IntN(8); {
	case kind == 0 && w.plan.stalls:
		l.n.stalled = w.now + long
	case kind == 1 && w.plan.stalls:
		l.stalled = w.now + long
	case kind == 2 && w.plan.stalls:
		l.muted = w.now + long
	case kind == 3 && w.plan.cuts && !p.dead:
		l.cut()
	case kind == 4 && w.plan.kills && !p.dead:
		w.kill(p)
	case kind == 5 && w.plan.amnesia:
		return w.amnesia(l.n)
	case kind == 6 && w.plan.pauses:
		p.paused = w.now + 3*long
	case kind == 7 && w.plan.wall:
		p.wall = time.Duration(w.rng.Int64N(int64(4*time.Second))) - 2*time.Second
	default:
		return false
	}
	w.logf("FAULT at %s, %s for %v", p.name, l.n.name, long)
	return true
}

// kill ends a proxy; a new one takes its place, and its clients go to any of those that run.
func (w *world) kill(p *simProxy) {
	w.logf("%s is killed", p.name)
	for _, l := range p.links {
		l.cut()
		l.queue, l.failed = nil, nil
	}
	p.dead = true
	w.startProxy()
	alive := w.alive()
	for _, c := range w.clients {
		if c.p == p {
			c.moved(alive[w.rng.IntN(len(alive))])
		}
	}
}

// amnesia makes a node forget everything: it restarts empty, or is flushed. No more nodes do so at a time than leave
// N-M+1 others.
func (w *world) amnesia(n *simNode) bool {
	if len(w.nodes)-len(w.resyncs)-1 < len(w.nodes)-w.majority()+1 || n.forgot() {
		return false
	}
	restarts := w.rng.IntN(2) == 0
	for _, p := range w.proxies {
		if restarts {
			p.links[n.id].cut()
			p.links[n.id].late = nil
		}
	}
	w.logf("%s forgets everything; restarts: %v", n.name, restarts)
	n.forget()
	w.forgotten = true
	if w.bug == bugNoQuarantine {
		return true
	}
	w.resyncs = append(w.resyncs, newSimResync(w, n))
	return true
}

// heal ends all faults.
func (w *world) heal() {
	w.calm = true
	for _, n := range w.nodes {
		n.stalled = 0
	}
	for _, p := range w.proxies {
		p.paused = 0
		for _, l := range p.links {
			l.stalled, l.muted = 0, 0
		}
	}
}
