package quorum

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// attempt is one try at a request on all nodes. It lives until the last node has answered or is known not to.
type attempt struct {
	request *request
	engine  *Engine
	op      *runner.Run
	number  uint64         // among the attempts of this proxy, in the order of sending
	began   time.Duration  // before its first byte
	written []atomic.Int32 // by node, see withdraw

	mu      sync.Mutex
	votes   *tally.Votes
	sending bool // outcomes are only taken down
	phase   phase
	stands  bool                // the vote was won, and the request answered so
	copying int                 // copies that are under way
	resting func()              // ends the rest of its keys, until all nodes have what was won; nil when there is none
	stop    func()              // ends the timer
	late    []bool              // nodes whose answer was not waited for, and may still come
	todo    []func()            // to be done without mu
	active  map[int]bool        // nodes on which undoing goes on
	patient bool                // the verdict waits for answers that are late
	waiting int                 // outcomes that the phase waits for
	left    map[int]bool        // nodes on which the request may still stand
	tokens  map[string]*holding // by key: what the winners hold, where that differs
	rounds  int
	goal    tally.Version // that a release is to have on all nodes
	verdict resp.Failure  // what undoing ends with; empty: another try
}

// phase is how far an attempt has come.
type phase uint8

const (
	voting       phase = iota
	fencingPhase       // the winners are made to agree on the token
	undoing
	driving // a release is carried on
	over
)

// holding is which token each winner has for a key that came into being.
type holding struct {
	version tally.Version
	by      map[int]fencing.Token
	mark    fencing.Token // the largest seen
	refused bool          // by a node that has seen mark
}

// try sends a request to all nodes when none of its keys is being mended, and it is its turn.
func (e *Engine) try(r *request) {
	e.inTurn(r, false, func() {
		if !e.rest(r, func() { e.enter(r) }) {
			e.enter(r)
		}
	})
}

func (e *Engine) enter(r *request) {
	if e.gate.enter(r) {
		e.send(r)
	}
}

// send sends a request to all nodes, in one step, and with a release the request that waits for it. One that has waited
// too long is refused.
func (e *Engine) send(r *request) {
	if r.tries == 0 && r.age() > retryBudget {
		r.answer(resp.ErrTryAgainFull.Value())
		e.pass()
		return
	}
	next := e.crowds.after(r)
	if next != nil && !e.gate.enter(next) {
		next = nil // it comes when it is its turn
	}
	a := e.attempt(r)
	b := (*attempt)(nil)
	if next != nil {
		b = e.attempt(next)
	}
	lane := &e.lanes[r.db]
	lane.Lock()
	a.post(next != nil)
	if b != nil {
		b.post(false)
	}
	lane.Unlock()
	a.posted()
	if b != nil {
		b.posted()
	}
}

// attempt is a new one at a request.
func (e *Engine) attempt(r *request) *attempt {
	a := &attempt{request: r, engine: e, votes: tally.NewVotes(len(e.cfg.Nodes)), sending: true}
	a.votes.Again, a.votes.Releases = len(r.past) > 0, r.releases()
	a.late, a.written = make([]bool, len(e.cfg.Nodes)), make([]atomic.Int32, len(e.cfg.Nodes))
	a.op = &runner.Run{
		Requests: r.call.Requests, Block: r.call.Block, Watched: r.call.Watched, Text: r.text, Texts: r.block.texts, Given: r.block.given,
		Wall: e.cfg.Wall(), TTLs: r.ttls, Seen: len(r.keys) > 1 || r.releases() || e.anyQuarantined(), NoTokens: e.clockIsOff(), Memory: e.cfg.FenceMemory,
	}
	return a
}

// post puts the attempt on the streams of all nodes, while the lane is locked. More says that another follows at once.
func (a *attempt) post(more bool) {
	e, r := a.engine, a.request
	a.number = e.serial.Add(1)
	a.op.ID = e.nameOf(a.number)
	if !r.onlyReads() && !wantsAbsent(r) {
		e.recent.note(r.db, r.keys, a.number)
		e.forgive(r.db, r.keys)
	}
	a.began = e.cfg.Clock.Now()
	for i, node := range e.cfg.Nodes {
		if r.owed(i) {
			a.outcome(i, Outcome{Reason: "still owes an answer"})
			continue
		}
		node.Send(Sending{
			DB: r.db, Op: a.op, Deadline: a.began + e.cfg.Timeout, More: more, Withdrawn: func() bool { return a.withdrawn(i) },
			Done: func(o Outcome) { a.outcome(i, o) },
		})
	}
}

// posted judges what has come while the attempt was put on the streams.
func (a *attempt) posted() {
	a.do(func() {
		a.sending = false
		a.stop = a.engine.cfg.Clock.AfterFunc(a.engine.cfg.Timeout, func() { a.do(a.timeout) })
		a.judge()
	})
}

// pass lets the next request through the gate.
func (e *Engine) pass() {
	if next := e.gate.leave(); next != nil {
		e.send(next)
	}
}

// anyQuarantined tells whether a node may have forgotten something.
func (e *Engine) anyQuarantined() bool {
	for _, n := range e.cfg.Nodes {
		if s, _ := n.Standing(); s == Quarantined {
			return true
		}
	}
	return false
}

// do changes the attempt, and then does what came out of it.
func (a *attempt) do(change func()) {
	a.mu.Lock()
	change()
	todo := a.todo
	a.todo = nil
	a.mu.Unlock()
	for _, f := range todo {
		f()
	}
}

// then puts something off until the attempt is unlocked.
func (a *attempt) then(f func()) { a.todo = append(a.todo, f) }

// Where a request is on its way to a node.
const (
	queued    int32 = iota
	lingering       // queued, and won by others
	sent
	withdrawn
)

// lingerShare is how large a part of the timeout what was won by others may have waited when it is sent to the rest of the
// nodes. So a node that is only a little behind has what the others have, and one that falls back gets less to do.
const lingerShare = 2

// withdrawn is asked by a node that is about to write the request to its socket.
func (a *attempt) withdrawn(node int) bool {
	w := &a.written[node]
	if w.CompareAndSwap(queued, sent) {
		return false
	}
	if w.Load() == lingering && a.engine.cfg.Clock.Now()-a.began > a.engine.cfg.Timeout/lingerShare {
		w.CompareAndSwap(lingering, withdrawn)
	}
	return !w.CompareAndSwap(lingering, sent) && w.Load() == withdrawn
}

// withdraw takes the request back from a node that has not answered. It tells whether it was not on its way yet.
func (a *attempt) withdraw(node int) bool {
	w := &a.written[node]
	return w.CompareAndSwap(queued, withdrawn) || w.CompareAndSwap(lingering, withdrawn)
}

// linger ends the wait for a node that is to do what the others have won, if it can do so soon.
func (a *attempt) linger(node int) {
	a.written[node].CompareAndSwap(queued, lingering)
	a.votes.Add(node, &tally.Answer{Reason: "not waited for", Ran: true})
	a.late[node] = true
}

// outcome takes what a node answered to the request.
func (a *attempt) outcome(node int, o Outcome) {
	answer := o.Answer
	if answer == nil {
		answer = &tally.Answer{Reason: o.Reason, Ran: o.Ran}
	}
	a.engine.noteClock(node, answer)
	a.request.learn(answer)
	a.do(func() {
		if a.votes.Of(node) != nil && !a.late[node] {
			return // taken back before it was sent
		}
		a.votes.Add(node, answer)
		a.late[node] = false
		switch {
		case a.sending:
		case a.phase == voting:
			a.judge()
		default:
			a.straggler(node)
		}
	})
}

// timeout ends the wait for nodes that have not answered.
func (a *attempt) timeout() {
	if a.phase != voting {
		return
	}
	reason := tally.Reason("no answer within " + a.engine.cfg.Timeout.String())
	for i, answer := range a.votes.All() {
		if answer == nil {
			a.giveUp(i, reason)
		}
	}
	a.judge()
}

// expects tells whether a node may answer in time. A lost vote waits for it, since what it wrote must be put back, or
// carried on, before the client is told anything.
func (a *attempt) expects() bool {
	return slices.Contains(a.votes.All(), nil)
}

// giveUp ends the wait for a node. Its answer may still come, if the request was on its way.
func (a *attempt) giveUp(node int, why tally.Reason) {
	ran := !a.withdraw(node)
	a.votes.Add(node, &tally.Answer{Reason: why, Ran: ran})
	a.late[node] = ran
}

// judge decides the vote as soon as it can be.
func (a *attempt) judge() {
	verdict := a.votes.Verdict()
	if verdict == tally.Pending || verdict == tally.Lost && a.expects() || verdict == tally.Won && a.maySucceed() {
		return
	}
	if a.stop != nil {
		a.then(a.stop)
	}
	a.then(a.engine.pass)
	for i, answer := range a.votes.All() {
		switch {
		case answer != nil:
		case verdict == tally.Won && a.votes.Winner().Wrote():
			a.linger(i)
		default:
			a.giveUp(i, "not waited for")
		}
	}
	if verdict == tally.Won {
		a.engine.stats.won.Add(1)
		a.won()
		return
	}
	a.engine.stats.lost.Add(1)
	a.lost()
}

// straggler deals with an answer that comes after the verdict.
func (a *attempt) straggler(node int) {
	answer := a.votes.Of(node)
	switch {
	case a.phase == fencingPhase: // granted or retracted soon, and this with it
	case a.stands:
		a.settle(node)
		a.caughtUp()
	case a.phase == driving:
		a.driveOn(node)
	case answer.Answered() && !answer.Wrote(), !answer.Answered() && !answer.Ran:
		delete(a.left, node)
		a.lookAgain()
	case !answer.Answered():
	default:
		a.latecomer(node)
	}
}

// latecomer deals with what a node wrote that answers after the vote was lost. As long as the request is not answered,
// such an answer may show that it is no acquisition but a release, or a renewal.
func (a *attempt) latecomer(node int) {
	switch kind := a.votes.Kind(); {
	case kind == tally.Acquire:
		a.undo(node)
	case a.phase == undoing && kind == tally.Release:
		a.drive()
	case a.phase == undoing:
		a.noteRenewed()
		a.finish(a.renewAgain)
	}
}

// finish answers the request when the attempt is unlocked.
func (a *attempt) finish(f func()) {
	a.phase = over
	a.then(f)
}
