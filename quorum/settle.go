package quorum

import (
	"slices"
	"time"

	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// settle makes a node whose answer is not the majority's like the majority, after a won vote. A node that may still
// answer is left until it does.
func (a *attempt) settle(node int) {
	answer, winner := a.votes.Of(node), a.votes.Winner()
	switch {
	case a.late[node]:
	case a.votes.Agrees(node) && sameVersions(answer, winner):
		a.sameTokens(node)
	case !answer.Answered():
		a.engine.owe(node, a.request.db, winner.Writes, a.number)
	case winner.Wrote():
		a.carry(node)
	case mayUndo(answer):
		a.undo(node)
	}
}

// sameVersions tells whether two answers that agree left the same versions behind, which renewals may not.
func sameVersions(a, b *tally.Answer) bool {
	return slices.EqualFunc(a.Writes, b.Writes, func(x, y tally.Write) bool { return x.After == y.After })
}

// mayUndo tells whether what a minority wrote is to be put back: a lease that nobody was granted. What ended or
// prolonged a hold stays.
func mayUndo(answer *tally.Answer) bool {
	return answer.Wrote() && !slices.ContainsFunc(answer.Writes, func(w tally.Write) bool { return w.Ended || w.Renewal })
}

// sameTokens gives a node that did the same as the majority the token on which that agreed. Nobody waits for it.
func (a *attempt) sameTokens(node int) {
	for i, w := range a.votes.Of(node).Writes {
		if final := a.token(a.votes.Winner().Writes[i]); w.Fresh && w.Exists && w.Token != final {
			a.send(node, &runner.Accept{Key: w.Key, Version: w.After, Token: final}, func(Outcome) {})
		}
	}
}

// carry gives a node the state that the winners share, for each key that they wrote: where the node's version is still
// the one that it reported, or lower than the winners' when it reported none, and was lower before the request. It is
// only ever moved forward: a vote that somebody has counted there cannot be taken back
// (without this rule one lock is granted twice, with two proxies and no fault at all). Where the node is ahead, by what
// others have lost there, the request is put back, so that they can put theirs back.
func (a *attempt) carry(node int) {
	wrote := a.votes.Of(node).Writes
	var keys []runner.Conditional
	var ahead []tally.Write
	for _, w := range a.votes.Winner().Writes {
		c := runner.Conditional{State: a.stateAfter(w)}
		if at := slices.IndexFunc(wrote, func(o tally.Write) bool { return o.Key == w.Key }); at >= 0 {
			if !wrote[at].Before.Before(w.After) {
				ahead = append(ahead, wrote[at])
				continue
			}
			c.Expect = &wrote[at].After
		}
		keys = append(keys, c)
	}
	if len(ahead) > 0 && mayUndo(&tally.Answer{Writes: ahead}) {
		a.undoWrites(node, ahead)
		a.engine.owe(node, a.request.db, a.votes.Winner().Writes, a.number)
	}
	if len(keys) > 0 {
		a.copying++
		a.engine.copy(a.request.db, a.votes.Source(), node, keys, a.then, a.superseded, func(o Outcome) { a.do(func() { a.copied(o) }) })
	}
}

// copied takes what became of a copy. One that was out of date when it came would be so again and again, for a key that is
// written all the time.
func (a *attempt) copied(o Outcome) {
	if o.Reason != "" && a.superseded() {
		a.engine.catchUp(a.request.db, keysOf(a.votes.Winner().Writes))
	}
	a.copying--
	a.caughtUp()
}

// letCatchUp makes the next requests for what was written wait until all nodes have it, if one is behind.
func (a *attempt) letCatchUp(winner *tally.Answer) {
	e, db := a.engine, a.request.db
	if keys := keysOf(winner.Writes); e.catchingUp(db, keys) {
		a.resting = e.mend(db, keys)
	}
}

// caughtUp ends that when nothing is waited for any more.
func (a *attempt) caughtUp() {
	if a.resting != nil && a.copying == 0 && !slices.Contains(a.late, true) {
		a.then(a.resting)
		a.resting = nil
	}
}

// superseded tells whether a later request for one of the keys has been sent.
func (a *attempt) superseded() bool {
	return slices.ContainsFunc(a.votes.Winner().Writes, func(w tally.Write) bool {
		return a.engine.recent.since(a.request.db, w.Key, a.number)
	})
}

// stateAfter is what a key is after the request, as far as it is known without its content.
func (a *attempt) stateAfter(w tally.Write) runner.State {
	s := runner.State{Key: w.Key, Version: w.After, Exists: w.Exists}
	if w.Exists {
		s.Token = a.token(w)
	}
	s.Mark = max(s.Token, w.Token, w.OldToken)
	return s
}

// copy gives keys on a node the states that they have on another. Contents and TTLs are fetched first; what is no
// longer the version that was asked for is left out. Then is how sends are put off; stale tells that nothing is to be
// copied any more, and like done may be nil.
func (e *Engine) copy(db, from, to int, keys []runner.Conditional, then func(func()), stale func() bool, done func(Outcome)) {
	if done == nil {
		done = func(Outcome) {}
	}
	present := presentKeys(keys)
	if len(present) == 0 {
		then(func() { e.sendCopy(db, to, keys, stale, done) })
		return
	}
	then(func() {
		since := e.cfg.Clock.Now()
		e.cfg.Nodes[from].Send(Sending{
			DB: db, Op: &runner.Fetch{Keys: present}, Deadline: since + e.cfg.Timeout, Ahead: true,
			Done: func(o Outcome) {
				if filled := fill(keys, o.States, since); o.Reason == "" && len(filled) > 0 {
					e.sendCopy(db, to, filled, stale, done)
					return
				}
				done(Outcome{Reason: "the state to copy is gone"})
			},
		})
	})
}

// sendCopy sends states to a node that counts. One that may have forgotten gets none: with a copy of an old version it
// would seem to know a key of which it has forgotten a later one, and vouch for its absence. Only a resync
// brings it up to date, which waits until no vote from before is open.
func (e *Engine) sendCopy(db, to int, keys []runner.Conditional, stale func() bool, done func(Outcome)) {
	e.stats.copied.Add(uint64(len(keys)))
	node := e.cfg.Nodes[to]
	node.Send(Sending{
		DB: db, Op: &runner.Copy{Keys: keys}, Deadline: e.cfg.Clock.Now() + e.cfg.Timeout, Ahead: true, Done: done,
		Withdrawn: func() bool {
			standing, _ := node.Standing()
			return standing != Counted || stale != nil && stale()
		},
	})
}

func presentKeys(keys []runner.Conditional) []string {
	var present []string
	for _, k := range keys {
		if k.Exists {
			present = append(present, k.Key)
		}
	}
	return present
}

// fill puts contents into the states that are to be present, and leaves out those that have gone on meanwhile.
func fill(keys []runner.Conditional, states []runner.State, since time.Duration) []runner.Conditional {
	filled := make([]runner.Conditional, 0, len(keys))
	for _, k := range keys {
		if !k.Exists {
			filled = append(filled, k)
			continue
		}
		at := slices.IndexFunc(states, func(s runner.State) bool { return s.Key == k.Key })
		if at < 0 || !states[at].Exists || states[at].Version != k.Fetched() {
			continue
		}
		s := states[at]
		k.Type, k.Content, k.TTL, k.Since = s.Type, s.Content, s.TTL, since
		k.Mark = max(k.Mark, s.Mark)
		filled = append(filled, k)
	}
	return filled
}

// takeOver makes nodes on which a key is absent have the same version of it, the highest among them, so that the next
// attempt can agree. Ids decide between equal numbers, so that all proxies choose the same.
func (a *attempt) takeOver() {
	for key, highest := range a.absent() {
		for node, answer := range a.votes.All() {
			for _, w := range answer.Writes {
				if w.Key == key && !w.Existed && w.Before != highest {
					before := w.Before
					c := runner.Conditional{State: runner.State{Key: key, Version: highest}, Expect: &before, Absent: true}
					a.engine.copy(a.request.db, node, node, []runner.Conditional{c}, a.then, nil, nil)
				}
			}
		}
	}
}

// absent are the keys that were absent before the request on nodes that wrote it, with their highest version. What is
// absent on a node that may have forgotten says nothing: its clock may have stepped, and then it still knows the version
// of a hold that is gone there alone.
func (a *attempt) absent() map[string]tally.Version {
	highest := map[string]tally.Version{}
	for _, answer := range a.votes.All() {
		if answer.Quarantined {
			continue
		}
		for _, w := range answer.Writes {
			have := highest[w.Key]
			if !w.Existed && (have.Before(w.Before) || have.Number == w.Before.Number && have.Request <= w.Before.Request) {
				highest[w.Key] = w.Before
			}
		}
	}
	return highest
}
