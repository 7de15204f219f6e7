package quorum

import (
	"slices"
	"time"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// drive ends a release on which no majority agrees. It is never put back, for its client has let go, and somebody else
// may have the lock since. A node that answered is without the hold now, whether it had it or not; those that are in
// the same state after it are given the same version, so that the next request can agree.
func (a *attempt) drive() {
	a.phase = driving
	a.left = map[int]bool{}
	source := a.furthest()
	a.goal = tally.Version{Number: a.highestNumber() + 1, Request: a.op.ID}
	for node := range a.votes.All() {
		a.driveTo(node, source, a.goal)
	}
	a.lookAgain()
}

// driveTo brings a node that has answered to the version goal.
func (a *attempt) driveTo(node, source int, goal tally.Version) {
	other := a.votes.Of(node)
	if !other.Answered() {
		return
	}
	a.left[node] = other.Wrote() && !ended(other)
	keys := carriedOn(a.votes.Of(source).Writes, other, goal)
	if len(keys) == 0 {
		return
	}
	a.waiting++
	a.engine.copy(a.request.db, source, node, keys, a.then, nil, func(Outcome) {
		a.do(func() {
			a.waiting--
			a.lookAgain()
		})
	})
}

// driveOn takes an answer that comes while the release waits for it. With it a majority may agree after all.
func (a *attempt) driveOn(node int) {
	if a.votes.Verdict() == tally.Won {
		a.won()
		return
	}
	other := a.votes.Of(node)
	a.left[node] = other.Wrote() && !ended(other)
	a.lookAgain()
}

// furthest is the node that executed the release on the highest version.
func (a *attempt) furthest() (node int) {
	best := tally.Version{}
	for i, answer := range a.votes.All() {
		if answer.Answered() && ended(answer) && !answer.Writes[0].After.Before(best) {
			node, best = i, answer.Writes[0].After
		}
	}
	return node
}

func ended(a *tally.Answer) bool {
	return slices.ContainsFunc(a.Writes, func(w tally.Write) bool { return w.Ended && !w.Shortened })
}

func (a *attempt) highestNumber() (n uint64) {
	for _, answer := range a.votes.All() {
		for _, w := range answer.Writes {
			n = max(n, w.After.Number)
		}
		for _, s := range answer.Seen {
			n = max(n, s.Version.Number)
		}
	}
	return n
}

// carriedOn are the states to which a node has come as the source has, with the version that both are to have. Where it
// has come to another nothing is copied: it may have holds of others, of which the source knows nothing.
func carriedOn(writes []tally.Write, other *tally.Answer, goal tally.Version) []runner.Conditional {
	var keys []runner.Conditional
	for _, w := range writes {
		at := slices.IndexFunc(other.Writes, func(o tally.Write) bool {
			return o.Key == w.Key && o.Exists == w.Exists && o.State == w.State
		})
		if at < 0 {
			continue
		}
		keys = append(keys, runner.Conditional{
			State:  runner.State{Key: w.Key, Version: goal, Exists: w.Exists, Token: w.Token, Mark: max(w.Token, w.OldToken)},
			Expect: &other.Writes[at].After, At: w.After,
		})
	}
	return keys
}

// drove answers a release that was carried on: with success when a majority is without the hold now.
func (a *attempt) drove() {
	without, may := 0, 0
	for node, answer := range a.votes.All() {
		switch {
		case answer.Answered() && !a.left[node]:
			without++
		case !answer.Answered() && answer.Ran:
			may++
		}
	}
	r, source := a.request, a.votes.Of(a.furthest())
	if r.ended = a.executed(); !ended(source) && r.ended != nil {
		source = r.ended
	}
	switch {
	case without >= a.engine.need:
		receivers := a.announce(source, source.Messages)
		a.finish(func() { r.answer(withReceivers(r.call, source.Reply, source.Messages, *receivers)) })
		for node, answer := range a.votes.All() {
			if !answer.Answered() {
				a.endOn(node, source)
			}
		}
	case without+may >= a.engine.need:
		if a.beginsToWait() {
			return
		}
		v := a.unknown()
		a.finish(func() { r.answer(v) })
	case a.votes.Answered() < a.engine.need:
		v := a.tooFew()
		a.finish(func() { a.releaseAgain(renewalPause, v) })
	default:
		v := a.unknown()
		a.finish(func() { a.releaseAgain(0, v) })
	}
}

// endOn ends the holds that were released on a node that the release has not reached, where they are still the very ones.
func (a *attempt) endOn(node int, source *tally.Answer) {
	var keys []runner.Conditional
	for _, w := range source.Writes {
		if w.Existed && !w.Exists && w.OldToken != 0 {
			keys = append(keys, runner.Conditional{
				State: runner.State{Key: w.Key, Version: a.goal, Mark: w.OldToken}, Instance: w.OldToken,
			})
		}
	}
	if len(keys) > 0 {
		a.engine.copy(a.request.db, node, node, keys, a.then, nil, nil)
	}
}

// releaseAgain repeats a release that too few nodes have executed to count, while there is time, and a few times when too few
// have answered; then it answers v. A client that was told to repeat it would be told that there is nothing to release, by
// the nodes that have executed it.
func (a *attempt) releaseAgain(pause time.Duration, v resp.Value) {
	contended := a.votes.Answered() >= a.engine.need
	if a.request.age() < retryBudget && (contended || a.request.tries < maxRefused) {
		a.request.again(pause)
		return
	}
	a.request.answer(v)
}
