package quorum

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// What FENCE.CHECK remembers of a resource is a register on each node that only rises. A token gets through when a majority
// of counted nodes has taken it, so a stale one meets in any majority a node that has seen a higher one, whose refusal
// decides. Nothing is put back: what a minority has taken only refuses tokens that are older still. And nothing is
// compared by version, so a check may be sent again at will.

// fenceCheck serves FENCE.CHECK.
func (e *Engine) fenceCheck(r *request) {
	e.register(r, r.call.Requests[0], e.decided, func(votes *tally.Votes) {
		if isStale(votes) {
			r.answer(resp.Int(0))
			return
		}
		r.answer(resp.Int(1))
	})
}

// register asks all nodes until is says that the answers are enough, some times if need be.
func (e *Engine) register(r *request, q *commands.Request, is func(*tally.Votes) bool, done func(*tally.Votes)) {
	op := &runner.Run{ID: e.nextID(), Requests: []*commands.Request{q}, Wall: e.cfg.Wall(), Memory: e.cfg.FenceMemory}
	e.gatherUntil(r.db, op, is, func(g *gathering) {
		r.noted = r.noted || q == r.call.Requests[0] && mayBeNoted(g.votes)
		switch {
		case is(g.votes):
			done(g.votes)
		case r.age() < retryBudget:
			r.tries++
			e.cfg.Clock.AfterFunc(renewalPause, func() { e.register(r, q, is, done) })
		case r.noted && q.Spec.Name == "fence.check":
			r.answer(resp.CheckLost(g.votes.Answered(), len(g.votes.All()), e.reasons(g.votes)).Value())
		default:
			r.answer(e.tooFew(g.votes))
		}
	})
}

// mayBeNoted tells whether a node has taken the token, or may have without an answer.
func mayBeNoted(votes *tally.Votes) bool {
	return slices.ContainsFunc(votes.All(), func(a *tally.Answer) bool { return a != nil && a.Ran })
}

// decided tells whether a node has refused a token, or a majority has taken it.
func (e *Engine) decided(votes *tally.Votes) bool {
	taken := 0
	for _, a := range votes.All() {
		if a != nil && a.Answered() && !a.Quarantined && a.Reply.Kind == resp.Integer && a.Reply.Int() == 1 {
			taken++
		}
	}
	return taken >= e.need || isStale(votes)
}

// isStale tells whether a node has seen a higher token. One that may have forgotten others has still seen that one.
func isStale(votes *tally.Votes) bool {
	for _, a := range votes.All() {
		if a != nil && a.Answered() && a.Reply.Kind == resp.Integer && a.Reply.Int() == 0 {
			return true
		}
	}
	return false
}

// fenceLast serves FENCE.LAST: the highest token that a majority was asked for knows of. It is answered when a majority
// has seen it, so that no later answer is lower.
func (e *Engine) fenceLast(r *request) {
	enough := func(votes *tally.Votes) bool { return votes.Answered() >= e.need }
	e.register(r, r.call.Requests[0], enough, func(votes *tally.Votes) {
		last, seen := e.highest(votes)
		if last.IsNull() || seen >= e.need {
			r.answer(last)
			return
		}
		e.spread(r, last)
	})
}

// highest is the largest token in the answers, nil when there is none, and how many counted nodes have just that one.
func (e *Engine) highest(votes *tally.Votes) (last resp.Value, seen int) {
	for _, a := range votes.All() {
		if a == nil || !a.Answered() || a.Reply.Kind != resp.Integer || a.Reply.Int() < last.Int() {
			continue
		}
		if a.Reply.Int() > last.Int() {
			last, seen = a.Reply, 0
		}
		if !a.Quarantined {
			seen++
		}
	}
	return last, seen
}

// spread makes a majority see a token before it is answered. When one has seen a higher one by now, all begins anew.
func (e *Engine) spread(r *request, last resp.Value) {
	q, err := commands.Bind([]string{"FENCE.CHECK", r.call.Requests[0].Args[1], strconv.FormatInt(last.Int(), 10)}, r.db)
	if err != nil {
		r.answer(resp.ReplyFor(err))
		return
	}
	e.register(r, q, e.decided, func(votes *tally.Votes) {
		if isStale(votes) {
			e.fenceLast(r)
			return
		}
		r.answer(last)
	})
}

// resources are those that a request asks about, as far as its line tells: a script names them among its keys.
func (r *request) resources() (list []string) {
	for i, q := range r.call.Requests {
		switch {
		case q.Spec.Name == "fence.check", q.Spec.Name == "fence.last":
			list = append(list, q.Args[1])
		case isScript(q) && r.asksResources(i):
			list = append(list, q.Keys()...)
		}
	}
	return list
}

// asksResources tells whether the script of a command may ask about resources.
func (r *request) asksResources(at int) bool {
	text := r.text
	if r.block.texts != nil {
		text = r.block.texts[at]
	}
	return text != nil && strings.Contains(strings.ToLower(text.Raw), "fence.")
}

// level makes a majority see what any of them has seen of resources, so that a transaction or a script that asks about them can
// be answered alike: what a check of another has left on a minority would else divide the nodes for as long as one is down.
func (e *Engine) level(r *request, resources []string, then func()) {
	if len(resources) == 0 {
		then()
		return
	}
	next := func(commands.Result) { e.level(r, resources[1:], then) }
	q, err := commands.Bind([]string{"FENCE.LAST", resources[0]}, r.db)
	if err != nil {
		next(commands.Result{})
		return
	}
	call := &commands.Call{Requests: []*commands.Request{q}, Done: next}
	e.fenceLast(&request{engine: e, call: call, db: r.db, began: r.began})
}
