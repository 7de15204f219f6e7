package quorum

import (
	"sync"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// gathering collects what all nodes have to say, until the last has answered or the time is over. It is for what is no
// vote on one reply, such as the keys of a database.
type gathering struct {
	engine *Engine
	mu     sync.Mutex
	votes  *tally.Votes
	open   int
	enough func(*tally.Votes) bool // ends it early; nil: never
	done   func(*gathering)
	stop   func()
}

// gather sends an operation to all nodes and calls done once.
func (e *Engine) gather(db int, op runner.Op, done func(*gathering)) {
	e.gatherUntil(db, op, nil, done)
}

// gatherUntil is gather that ends as soon as enough says so.
func (e *Engine) gatherUntil(db int, op runner.Op, enough func(*tally.Votes) bool, done func(*gathering)) {
	g := &gathering{engine: e, votes: tally.NewVotes(len(e.cfg.Nodes)), open: len(e.cfg.Nodes) + 1, enough: enough, done: done}
	deadline := e.cfg.Clock.Now() + e.cfg.Timeout
	e.lanes[db].Lock()
	for i, node := range e.cfg.Nodes {
		node.Send(Sending{DB: db, Op: op, Deadline: deadline, Done: func(o Outcome) { g.outcome(i, o) }})
	}
	e.lanes[db].Unlock()
	g.close(func() { g.stop = e.cfg.Clock.AfterFunc(e.cfg.Timeout, g.timeout) })
}

func (g *gathering) outcome(node int, o Outcome) {
	answer := o.Answer
	if answer == nil {
		answer = &tally.Answer{Reason: o.Reason, Ran: o.Ran}
	}
	g.close(func() { g.votes.Add(node, answer) })
}

// close notes that one more has come. The last one ends the gathering.
func (g *gathering) close(change func()) {
	g.mu.Lock()
	over := g.done == nil
	if !over {
		change()
		g.open--
	}
	finish := !over && (g.open == 0 || g.stop != nil && g.enough != nil && g.enough(g.votes))
	done := g.done
	if finish {
		g.done = nil
	}
	g.mu.Unlock()
	if finish {
		g.stop()
		done(g)
	}
}

func (g *gathering) timeout() {
	g.mu.Lock()
	done := g.done
	g.done = nil
	for i, answer := range g.votes.All() {
		if answer == nil && done != nil {
			g.votes.Add(i, &tally.Answer{Reason: tally.Reason("no answer within " + g.engine.cfg.Timeout.String()), Ran: true})
		}
	}
	g.mu.Unlock()
	if done != nil {
		done(g)
	}
}

// agreed is the reply that a majority gave.
func (g *gathering) agreed() (resp.Value, bool) {
	if g.votes.Verdict() != tally.Won {
		return resp.Value{}, false
	}
	return g.votes.Reply(), true
}

// tooFew is the error when a majority has not answered, or has not agreed.
func (g *gathering) tooFew() resp.Value {
	if g.votes.Answered() >= g.engine.need {
		return resp.ErrTryAgainRead.Value()
	}
	return g.engine.tooFew(g.votes)
}
