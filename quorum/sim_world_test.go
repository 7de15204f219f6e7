package quorum

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/quorum/tally"
)

// The measures of a schedule.
const (
	simTimeout  = 20 * time.Millisecond // of a vote
	simSlack    = 3 * time.Millisecond  // clocks are read in whole ms
	simSettling = 2 * time.Second       // in which all nodes come to be the same, when there is no fault
	simPermits  = 2                     // of each semaphore
	simSteps    = 60_000                // a schedule that takes more has not come to its end
)

// bug is a defect that is planted into the nodes and the network, to show that the schedules find it.
type bug uint8

const (
	bugNone         bug = iota
	bugNoUndo           // what a lost request wrote stays
	bugAnyUndo          // an undo puts back whatever was written since
	bugNoQuarantine     // a node that forgot everything counts at once
	bugNoWriteBack      // winners keep different tokens, of which the largest is answered
	bugAnyCopy          // a copy overwrites whatever is there
	bugLongCopy         // a copy has a longer TTL than its source
	bugNoVersions       // votes do not tell to which version a write was made
	bugWholeArrays      // arrays are voted on as a whole
	bugHighestOnly      // a resync takes over the highest version, present or not
	bugHastyResync      // a node that forgot counts again while requests from before are under way
)

// world is one schedule: nodes, proxies and clients, and a seed that decides what happens next. It is run by one
// goroutine.
type world struct {
	rng     *rand.Rand
	seed    uint64
	bug     bug
	plan    plan
	now     time.Duration
	tracing bool
	trace   []string
	failure string

	nodes      []*simNode
	proxies    []*simProxy
	clients    []*client
	semaphores []string
	timers     simTimers
	timerCount int
	procs      int // proxies ever started
	book       *book
	resyncs    []*simResync
	admissions int
	forgotten  bool // a node has forgotten something
	calm       bool // faults have ended
	steps      int
	ttls       []time.Duration
	patience   time.Duration // of holders
}

// simStream is the stream of a session.
type simStream interface {
	Submit(c *commands.Call)
	Close()
}

// simProxy is a process with an engine.
type simProxy struct {
	name   string
	w      *world
	clock  *simClock
	engine *Engine
	links  []*simLink
	wall   time.Duration // how far its wall clock is off
	paused time.Duration // until then it does nothing
	dead   bool
}

func newWorld(seed uint64, b bug, tracing bool) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 1)), seed: seed, bug: b, tracing: tracing}
	w.plan = newPlan(w.rng)
	if b == bugHighestOnly || b == bugHastyResync {
		w.plan.forgetful()
	}
	w.book = newBook(w)
	w.ttls = [][]time.Duration{{60e6, 120e6, 400e6}, {400e6, 2e9}, {5e9, 20e9}}[w.rng.IntN(3)]
	w.patience = []time.Duration{3e5, 2e6, 20e6, 150e6}[w.rng.IntN(4)]
	for i := range w.plan.nodes {
		w.nodes = append(w.nodes, newSimNode(w, i))
	}
	for range w.plan.proxies {
		w.startProxy()
	}
	w.startClients()
	return w
}

func (w *world) majority() int { return tally.Majority(len(w.nodes)) }

func (w *world) logf(format string, args ...any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%9.3f ms  ", float64(w.now)/1e6)+fmt.Sprintf(format, args...))
	}
}

// fail notes the first violation; the schedule ends there.
func (w *world) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
		w.logf("VIOLATION %s", w.failure)
	}
}

func (w *world) startProxy() {
	w.procs++
	p := &simProxy{name: "P" + strconv.Itoa(w.procs), w: w}
	p.clock = &simClock{w: w, p: p, ahead: time.Duration(w.rng.Int64N(int64(time.Hour)))}
	if w.plan.wall {
		p.wall = time.Duration(w.rng.Int64N(int64(4*time.Second))) - 2*time.Second
	}
	nodes := make([]Node, len(w.nodes))
	for i, n := range w.nodes {
		l := &simLink{w: w, p: p, n: n, up: true, canary: n.canary}
		p.links = append(p.links, l)
		nodes[i] = l
	}
	p.engine = newSimEngine(p, nodes)
	w.proxies = append(w.proxies, p)
}

// alive are the proxies that run.
func (w *world) alive() []*simProxy {
	return slices.DeleteFunc(slices.Clone(w.proxies), func(p *simProxy) bool { return p.dead })
}

func (w *world) startClients() {
	kinds := []string{"lock", "lock", "sem", "set", "many"}
	topic := kinds[w.rng.IntN(len(kinds))]
	for i := range w.plan.clients {
		kind := topic
		if w.rng.IntN(4) == 0 {
			kind = kinds[w.rng.IntN(len(kinds))]
		}
		w.startClient(kind, "c"+strconv.Itoa(i+1), w.plan.todo)
	}
}

func (w *world) startClient(kind, name string, todo int) {
	c := &client{w: w, name: name, key: kind, todo: todo}
	switch kind {
	case "lock":
		c.do = mutex(1)
	case "many":
		c.do = mutex(3)
	case "set":
		c.do = shared()
	case "sem":
		c.do = semaphore()
		w.addSemaphore(kind)
	}
	alive := w.alive()
	c.p = alive[w.rng.IntN(len(alive))]
	c.stream = c.p.engine.Open()
	c.later(10 * time.Millisecond)
	w.clients = append(w.clients, c)
}

func (w *world) addSemaphore(key string) {
	if slices.Contains(w.semaphores, key) {
		return
	}
	w.semaphores = append(w.semaphores, key)
	for _, n := range w.nodes {
		n.keys[key] = &simEntry{
			value: simString(strconv.Itoa(simPermits)), end: tally.Forever, version: tally.Version{Number: 1, Request: "init"},
			mark: 1, token: 1,
		}
	}
}

// step does one of the things that can happen now; false means that nothing can, and time must pass.
func (w *world) step() bool {
	w.steps++
	w.timers.dropStopped()
	if len(w.timers) > 0 && w.timers[0].at <= w.now && w.rng.IntN(10) > 0 {
		w.fire()
		return true
	}
	if !w.calm && w.rng.IntN(w.plan.rarity) == 0 && w.fault() {
		return true
	}
	moves := w.moves()
	if len(moves) == 0 {
		return false
	}
	moves[w.rng.IntN(len(moves))]()
	return true
}

// fire lets the first timer go off; a paused proxy's when the pause is over.
func (w *world) fire() {
	t := heap.Pop(&w.timers).(*simTimer)
	if t.p.paused > w.now {
		t.at = t.p.paused
		heap.Push(&w.timers, t)
		return
	}
	t.f()
}

// pass lets time go by: mostly a little, and to the next thing that is due when nothing can happen before.
func (w *world) pass(busy bool) {
	if busy {
		if w.rng.IntN(2) == 0 {
			w.now += time.Duration(w.rng.Int64N(int64(time.Millisecond)))
		}
		return
	}
	next := w.now + 50*time.Millisecond
	if len(w.timers) > 0 {
		next = min(next, max(w.timers[0].at, w.now))
	}
	for _, c := range w.clients {
		if c.busy == nil && !c.idle() {
			next = min(next, c.next)
		}
	}
	for _, r := range w.resyncs {
		next = min(next, r.at)
	}
	w.now = max(next, w.now+100*time.Microsecond)
}

// run goes on until done, and fails when that takes too long.
func (w *world) run(done func() bool) {
	for w.failure == "" && !done() {
		w.pass(w.step())
		if w.steps > simSteps {
			w.fail("the schedule does not come to its end: %s", w.waiting())
		}
	}
}

func (w *world) waiting() string {
	for _, c := range w.clients {
		if c.busy != nil {
			return c.busy.String()
		}
	}
	return "nobody waits"
}
