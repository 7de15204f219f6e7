package quorum

import (
	"slices"
	"time"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// lost decides what becomes of a request on which no majority agrees.
func (a *attempt) lost() {
	if v, ok := a.votes.Elements(); ok {
		a.finish(func() { a.request.answer(v) })
		return
	}
	a.contend()
	switch a.kind() {
	case tally.Release:
		a.drive()
	case tally.Renewal:
		a.noteRenewed()
		a.finish(a.renewAgain)
	case tally.Read:
		a.request.ttls = a.sharedTTLs() // so that PTTL inside MULTI or a script is the same everywhere
		a.finish(a.readAgain)
	default:
		a.retract("")
	}
}

// contend makes the requests for what was written go one at a time, when the nodes have answered differently.
func (a *attempt) contend() {
	if a.votes.Answered() < a.engine.need {
		return
	}
	for _, answer := range a.votes.All() {
		if answer.Wrote() && !onlyRenewed(answer) {
			a.engine.contend(a.request.db, keysOf(answer.Writes))
		}
	}
}

func onlyRenewed(answer *tally.Answer) bool {
	return !slices.ContainsFunc(answer.Writes, func(w tally.Write) bool { return !w.Renewal })
}

// kind is what the request is, as far as its line and the answers tell.
func (a *attempt) kind() tally.Kind {
	kind := a.votes.Kind()
	if kind == tally.Read && a.request.ended != nil && a.request.releases() {
		return tally.Release
	}
	if kind == tally.Read && !a.request.onlyReads() {
		return tally.Acquire // nobody wrote, but somebody who did not answer may have
	}
	return kind
}

// noteRenewed takes down where the request only renewed: should it turn out to be an acquisition, which came upon what its
// own earlier attempts had left there, then it may still stand there.
func (a *attempt) noteRenewed() {
	r := a.request
	for node, answer := range a.votes.All() {
		if answer.Answered() && answer.Wrote() {
			if r.renewed == nil {
				r.renewed = map[int]bool{}
			}
			r.renewed[node] = true
		}
	}
}

// renewAgain repeats a renewal: that is harmless, and a client that is told of an error may never renew again
// (Redisson before 3.44).
func (a *attempt) renewAgain() {
	if a.request.age() < retryBudget {
		a.request.again(renewalPause)
		return
	}
	a.request.answer(a.notRenewed())
}

// notRenewed is the error of a renewal on which no majority agreed. What looks like one may be an acquisition that came
// upon what its own earlier attempts have left.
func (a *attempt) notRenewed() resp.Value {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.mayStand() >= a.engine.need:
		return a.unknown()
	case a.votes.Answered() < a.engine.need:
		return a.tooFew()
	}
	return resp.ErrTryAgainRenewal.Value()
}

func (a *attempt) readAgain() {
	switch {
	case a.votes.Answered() < a.engine.need:
		a.request.answer(a.tooFew())
	case a.request.age() < retryBudget:
		a.request.again(0)
	default:
		a.request.answer(resp.ErrTryAgainRead.Value())
	}
}

// retract puts back what the request wrote, and then tries it again, or answers why not: with, or what the votes say.
func (a *attempt) retract(with resp.Failure) {
	a.phase, a.verdict = undoing, with
	a.left = map[int]bool{}
	for node, answer := range a.votes.All() {
		switch {
		case answer.Answered() && answer.Wrote():
			a.undo(node)
		case !answer.Answered() && answer.Ran && !a.withdraw(node):
			a.left[node] = true
		}
	}
	if a.waiting == 0 {
		a.retracted()
	}
}

// How long a node is asked to put a request back on which others have built, or of which it did not hear, and how often
// that is waited for before the request is judged. What is on top of it is likely to be put back itself, in the reverse
// order, and then it can be. What stays would make the node useless for the key until its TTL, or for ever without one.
const (
	undoFor     = time.Minute
	undoPause   = 5 * time.Second // at most
	undoAwaits  = 2
	undoPerStep = 8 // the first pause is so small a part of the timeout
)

// undo puts back what the request wrote on a node, where nobody has written since.
func (a *attempt) undo(node int) { a.undoWrites(node, a.votes.Of(node).Writes) }

func (a *attempt) undoWrites(node int, writes []tally.Write) {
	if a.left == nil {
		a.left = map[int]bool{}
	}
	if a.active == nil {
		a.active = map[int]bool{}
	}
	a.left[node], a.active[node] = true, true
	a.waiting++
	a.engine.stats.undone.Add(1)
	u := &undo{node: node, began: a.engine.cfg.Clock.Now(), pause: a.engine.unhurried() / undoPerStep}
	u.over = a.engine.mendLost(a.request.db, writes)
	a.putBack(u, writes, 1)
}

func keysOf(writes []tally.Write) []string {
	keys := make([]string, len(writes))
	for i := range writes {
		keys[i] = writes[i].Key
	}
	return keys
}

// undo is the putting back on one node.
type undo struct {
	node  int
	began time.Duration
	pause time.Duration // before the next try
	over  func()
}

// putBack asks a node to undo writes, and again those on which others have built meanwhile.
func (a *attempt) putBack(u *undo, writes []tally.Write, try int) {
	e := a.engine
	a.send(u.node, &runner.Undo{Writes: writes}, func(o Outcome) {
		rest := a.notPut(writes, o)
		if len(rest) == 0 {
			delete(a.left, u.node)
		}
		again := len(rest) > 0 && e.cfg.Clock.Now()-u.began < undoFor
		a.active[u.node] = again
		if again {
			pause := u.pause + time.Duration(e.cfg.Random(int64(u.pause)))
			u.pause = min(u.pause*5/4, undoPause)
			a.then(func() {
				e.cfg.Clock.AfterFunc(pause, func() { a.do(func() { a.putBack(u, rest, try+1) }) })
			})
		} else {
			a.then(u.over)
		}
		if !again && try <= undoAwaits || again && try == undoAwaits {
			a.waiting--
		}
		if !again || try == undoAwaits {
			a.lookAgain()
		}
	})
}

// lookAgain judges a lost request, unless something is waited for.
func (a *attempt) lookAgain() {
	switch {
	case a.waiting > 0:
	case a.phase == undoing:
		a.retracted()
	case a.phase == driving:
		a.drove()
	}
}

// notPut are the writes that may still be on a node, which has not put them back. It may be that it did not hear of it, or that
// somebody else has written since; then the write may be a part of what that one found: two nodes that took it from different
// versions have equal versions after it, and a majority can agree on what came next.
func (a *attempt) notPut(writes []tally.Write, o Outcome) []tally.Write {
	var rest []tally.Write
	for i, w := range writes {
		if o.Reason != "" || i >= len(o.Undone) || !o.Undone[i].Put && !a.gone(w, o.Undone[i]) {
			rest = append(rest, w)
		}
	}
	return rest
}

// gone tells whether nothing is left of a write on a node that has not put it back: it was overwritten, or the key is as absent as it
// was before, and what came between was agreed on by no majority, as none had the write.
func (a *attempt) gone(w tally.Write, now runner.Undone) bool {
	return overwritten(w.After, now.Version) || !w.Existed && !now.Exists && now.Version != w.After && a.apart(w)
}

// apart tells whether no majority can have come to the version that a write made on one node.
func (a *attempt) apart(w tally.Write) bool {
	n := 0
	for node, answer := range a.votes.All() {
		if a.late[node] || !answer.Answered() && answer.Ran || slices.ContainsFunc(answer.Writes, func(o tally.Write) bool {
			return o.Key == w.Key && o.After == w.After
		}) {
			n++
		}
	}
	return n < a.engine.need
}

// overwritten tells whether a node that had come to a version has one now that was not made of it: it was given the state of
// others, and nothing is left to put back. Of versions that are further on nobody can tell.
func overwritten(had, has tally.Version) bool {
	return has != had && (has.Number <= had.Number || has.Number == had.Number+1 && !has.Follows(had))
}

// retracted ends a lost attempt, when what can be put back has been.
func (a *attempt) retracted() {
	e, r := a.engine, a.request
	answered := a.votes.Answered()
	var v resp.Value
	switch notWrote := a.votes.NotWrote(); {
	case a.mayStand() >= e.need:
		if a.beginsToWait() {
			return
		}
		v = a.unknown()
	case answered < e.need:
		v = a.tooFew()
	case a.verdict != "":
		v = a.verdict.Value()
	case r.age() < retryBudget && (notWrote == nil || r.tries < maxRefused):
		a.takeOver()
		r.ttls = a.sharedTTLs()
		r.remember(a)
		a.finish(func() { r.again(0) })
		return
	case notWrote != nil:
		v = notWrote.Reply
	default:
		v = resp.ErrTryAgainVote.Value()
	}
	a.finish(func() { r.answer(v) })
}

// beginsToWait tells whether the outcome, unknown now, may still become known: a node may answer yet, or put the
// request back. A client can do nothing with an unknown outcome, so it waits for that as long as it would wait for any
// reply.
func (a *attempt) beginsToWait() bool {
	left := retryBudget - a.request.age()
	if left <= 0 || !a.mayTell() {
		return false
	}
	if !a.patient {
		a.patient = true
		a.then(a.request.passTurn)
		a.then(func() { a.engine.cfg.Clock.AfterFunc(left, func() { a.do(a.lookAgain) }) })
	}
	return true
}

func (a *attempt) mayTell() bool {
	for node, late := range a.late {
		if late || a.active[node] {
			return true
		}
	}
	return false
}

// mayStand is the number of nodes on which the request may still have an effect, of this attempt or an earlier one.
func (a *attempt) mayStand() (n int) {
	acquires := a.phase == undoing || len(a.request.past) > 0
	for node := range a.engine.cfg.Nodes {
		if a.left[node] || a.request.left(node) || acquires && a.request.renewed[node] {
			n++
		}
	}
	return n
}

// sharedTTLs are the largest of the TTLs that a script read on the nodes, so that the next attempt can compute with the
// same everywhere.
func (a *attempt) sharedTTLs() []tally.Reading {
	var shared []tally.Reading
	for _, answer := range a.votes.All() {
		for _, reading := range answer.TTLs {
			shared = longest(shared, reading)
		}
	}
	return shared
}

func longest(list []tally.Reading, r tally.Reading) []tally.Reading {
	for i, have := range list {
		if have.Key == r.Key {
			list[i].TTL = max(have.TTL, r.TTL)
			return list
		}
	}
	if r.TTL < 0 {
		return list
	}
	return append(list, r)
}

// tooFew is the error when no majority answered. It names what is not put back on those that did.
func (a *attempt) tooFew() resp.Value {
	lost := resp.QuorumLost
	switch {
	case len(a.request.renewed) > 0:
		lost = resp.RenewalLost
	case slices.ContainsFunc(a.votes.All(), func(v *tally.Answer) bool { return v != nil && v.Checks }):
		lost = resp.CheckLost
	}
	return lost(a.votes.Answered(), len(a.votes.All()), a.engine.reasons(a.votes)).Value()
}

// unknown is the error when the request may have been executed.
func (a *attempt) unknown() resp.Value { return resp.UnknownVote(a.engine.reasons(a.votes)).Value() }
