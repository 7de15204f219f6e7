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
		r.text.Wrote(ended(answer))
	}
}

// executed is the answer of a counted node on which a release ended the hold, in this attempt or an earlier one; nil when
// there is none. It may have written more: Redisson's unlock notes its reply in a key of its own.
func (a *attempt) executed() *tally.Answer {
	for _, answer := range a.votes.All() {
		if answer != nil && answer.Answered() && !answer.Quarantined && ended(answer) {
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
	done := a.executed()
	if done == nil || slices.ContainsFunc(done.Writes, a.elsewhere) {
		return nil
	}
	return done
}

// elsewhere tells whether a majority has a key that was ended on a node, and has it in the same version: what is different
// on each of them has been granted to nobody. What was taken where the release had been already came behind it: until then
// the hold stood.
func (a *attempt) elsewhere(w tally.Write) bool {
	if w.Exists || !w.Ended {
		return false
	}
	have := map[tally.Version]int{}
	for _, node := range a.votes.Winners() {
		for _, s := range a.votes.Of(node).Seen {
			if s.Key == w.Key && s.Exists && !s.Version.Follows(w.After) {
				have[s.Version]++
			}
		}
	}
	for _, n := range have {
		if n >= a.engine.need {
			return true
		}
	}
	return false
}
