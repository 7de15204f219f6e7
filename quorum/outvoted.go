package quorum

import (
	"slices"

	"github.com/redfence/redfence/quorum/tally"
)

// A release may find its hold on a minority only: on one node because the others missed the grant, lost it when their
// clock stepped, or answered an attempt before. Then a majority says that there is nothing to release, and that must not
// be the answer to the holder.

// releases tells whether the request is one that only ends holds, as far as is known of it.
func (r *request) releases() bool {
	if r.text != nil {
		return r.text.Releases()
	}
	if len(r.call.Requests) != 1 || r.call.Block {
		return false
	}
	switch r.call.Requests[0].Spec.Name {
	case "del", "unlink", "delex", "getdel":
		return true
	}
	return false
}

// learn notes what the script of the request did on a node.
func (r *request) learn(answer *tally.Answer) {
	if r.text != nil && answer.Answered() && answer.Wrote() {
		r.text.Wrote(onlyEnds(answer))
	}
}

func onlyEnds(a *tally.Answer) bool {
	return a.Wrote() && !slices.ContainsFunc(a.Writes, func(w tally.Write) bool { return !w.Ended || w.Shortened })
}

// executed is the answer of a counted node on which a release ended the hold, in this attempt or an earlier one; nil when
// there is none.
func (a *attempt) executed() *tally.Answer {
	for _, answer := range a.votes.All() {
		if answer != nil && answer.Answered() && !answer.Quarantined && onlyEnds(answer) {
			return answer
		}
	}
	return a.request.ended
}

// maySucceed tells whether a release that a majority did not find its hold for may yet have been executed: by a node whose
// answer is still to come.
func (a *attempt) maySucceed() bool {
	return a.request.releases() && !a.votes.Winner().Wrote() && a.executed() == nil && a.expects()
}

// outvoted is the answer of the node that executed a release for which a majority did not find its hold; nil when there is
// none. It is the reply then, unless that majority has the lock for somebody else: what was ended was left over.
func (a *attempt) outvoted() *tally.Answer {
	if a.votes.Winner().Wrote() || !a.request.releases() {
		return nil
	}
	if a.request.ended != nil {
		return a.request.ended
	}
	if done := a.executed(); done != nil && !a.elsewhere(&done.Writes[0]) {
		return done
	}
	return nil
}

// elsewhere tells whether a majority has a key that was ended on a node.
func (a *attempt) elsewhere(w *tally.Write) bool {
	n := 0
	for _, node := range a.votes.Winners() {
		if slices.ContainsFunc(a.votes.Of(node).Seen, func(s tally.Seen) bool { return s.Key == w.Key && s.Exists }) {
			n++
		}
	}
	return !w.Exists && n >= a.engine.need
}
