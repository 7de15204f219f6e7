package quorum

import (
	"maps"
	"slices"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// won goes on with a request on which a majority agrees: to its tokens.
func (a *attempt) won() {
	winner := a.votes.Winner()
	if !winner.Wrote() {
		a.granted()
		return
	}
	for i, w := range winner.Writes {
		if tellable(&w) || winner.IsToken && w.Fresh && w.Exists {
			a.hold(i)
		}
	}
	a.agreeOnTokens()
}

// tellable tells whether a write gave a token that somebody may be told. What is over within the drift has none: it would
// have gone before the nodes could agree, and the request could neither stand nor be put back when the next one has been built on it.
func tellable(w *tally.Write) bool { return w.Fresh && w.Exists && !w.Brief() }

// hold takes down which token each winner gave the key of write number i, where they differ.
func (a *attempt) hold(i int) {
	winner := &a.votes.Winner().Writes[i]
	if !slices.ContainsFunc(a.votes.Winners(), func(node int) bool { return a.votes.Of(node).Writes[i].Token != winner.Token }) {
		return
	}
	h := holding{version: winner.After, by: map[int]fencing.Token{}}
	for _, node := range a.votes.Winners() {
		w := a.votes.Of(node).Writes[i]
		h.by[node] = w.Token
		h.mark = max(h.mark, w.Token)
	}
	if a.tokens == nil {
		a.tokens = map[string]*holding{}
	}
	a.tokens[winner.Key] = &h
}

// maxRounds is how often the winners are asked to agree on a token.
const maxRounds = 3

// agreeOnTokens makes a majority hold the same token for each key that came into being: the largest that a node gave.
// A node that has seen a larger one meanwhile refuses, and then the one after that is tried. A plain maximum that is
// not written back would not grow from one majority to the next.
func (a *attempt) agreeOnTokens() {
	if len(a.tokens) == 0 {
		a.granted()
		return
	}
	a.phase = fencingPhase
	a.rounds++
	asked := 0
	for _, key := range slices.Sorted(maps.Keys(a.tokens)) {
		h := a.tokens[key]
		if a.holders(h) >= a.engine.need {
			continue
		}
		if a.rounds > maxRounds {
			a.retract(resp.ErrTryAgainToken)
			return
		}
		asked += a.propose(key, h)
	}
	if asked == 0 {
		a.granted()
	}
}

// holders is how many nodes have the largest token of a key.
func (a *attempt) holders(h *holding) (n int) {
	for _, t := range h.by {
		if t == h.mark {
			n++
		}
	}
	return n
}

// propose asks the winners that do not have the largest token to take it, or all to take the one after the largest
// mark when they refused that.
func (a *attempt) propose(key string, h *holding) (asked int) {
	if h.refused {
		h.mark, h.refused = fencing.Next(h.mark, 0), false
	}
	for node := range a.votes.All() {
		if has, won := h.by[node]; !won || has == h.mark {
			continue
		}
		asked++
		a.waiting++
		op := &runner.Accept{Key: key, Version: h.version, Token: h.mark}
		a.send(node, op, func(o Outcome) { a.accepted(node, h, op.Token, o) })
	}
	return asked
}

// accepted takes the answer of a node to a token.
func (a *attempt) accepted(node int, h *holding, token fencing.Token, o Outcome) {
	if a.phase != fencingPhase {
		return
	}
	switch {
	case o.Reason != "":
		delete(h.by, node)
	case o.Accepted.Held:
		h.by[node] = token
	default:
		h.mark, h.refused = max(h.mark, o.Accepted.Mark), true
	}
	if a.waiting--; a.waiting == 0 {
		a.agreeOnTokens()
	}
}

// granted answers a won request, unless its lease is too old by now: it must have been won, and its token agreed on,
// within the validity of the shortest lease that it gave.
func (a *attempt) granted() {
	if lease, yes := a.votes.Lease(); yes {
		most, bounded := a.engine.cfg.MaxTTL()
		switch {
		case bounded && lease > most:
			a.retract(resp.TTLTooLong(most))
			return
		case !tally.Valid(a.engine.cfg.Clock.Now()-a.began, lease):
			a.engine.stats.tooLate.Add(1)
			a.retract(resp.ErrTryAgainTTL)
			return
		}
	}
	reply := a.votes.Reply()
	winner, messages := a.votes.Winner(), a.votes.Messages()
	if winner.IsToken {
		reply = resp.Int(int64(a.token(winner.Writes[0])))
	}
	if done := a.outvoted(); done != nil {
		winner, messages, reply = done, done.Messages, done.Reply
	}
	a.stands = true
	a.letCatchUp(winner)
	receivers := a.announce(winner, messages)
	a.request.granted = a.grants(winner)
	a.finish(func() { a.request.answer(withReceivers(a.request.call, reply, messages, *receivers)) })
	for node := range a.votes.All() {
		a.settle(node)
	}
	a.caughtUp()
}

// grants are the tokens that the request was given, if its session wants to be told, and those of the keys that kept theirs, if
// that may have to be known.
func (a *attempt) grants(winner *tally.Answer) (list []commands.Grant) {
	kept := a.request.call.Abandoned != nil
	if !a.request.call.Fencing && !kept {
		return nil
	}
	for _, w := range winner.Writes {
		if tellable(&w) || kept && w.Exists && !w.Fresh {
			list = append(list, commands.Grant{Key: w.Key, Token: int64(a.token(w)), Kept: !w.Fresh})
		}
	}
	return list
}

// token is the token that a majority holds for the key of a write.
func (a *attempt) token(w tally.Write) fencing.Token {
	if h := a.tokens[w.Key]; h != nil {
		return h.mark
	}
	return w.Token
}

// announce tells the other parts of the process what was done, when the attempt is unlocked. Then it knows how many
// receivers each publication had here.
func (a *attempt) announce(winner *tally.Answer, messages []commands.Message) (receivers *[]int) {
	e, r := a.engine, a.request
	receivers = new([]int)
	if len(messages) == 0 && len(winner.Writes) == 0 {
		return receivers
	}
	a.then(func() {
		for _, m := range messages {
			*receivers = append(*receivers, e.cfg.Sink.Publish(m))
		}
		for _, key := range winner.Ready {
			e.cfg.Sink.Ready(r.db, key)
		}
		if e.cfg.Sink.Tracking() && len(winner.Writes) > 0 {
			changed := changes(winner.Writes)
			e.cfg.Sink.Accessed(r.call.Session, append(changed, r.readBack(changed)...))
		}
	})
	return receivers
}

// withReceivers puts into a reply how many receivers PUBLISH and SPUBLISH had in this process. The nodes cannot know.
// Inside a script, which may publish any number of times, the reply stays 0; in a transaction the messages of its
// scripts stand between those of its commands.
func withReceivers(c *commands.Call, reply resp.Value, messages []commands.Message, receivers []int) resp.Value {
	if len(receivers) == 0 {
		return reply
	}
	if c.Block {
		reply.Elems = slices.Clone(reply.Elems)
	}
	for i, q := range c.Requests {
		at := slices.IndexFunc(messages, func(m commands.Message) bool { return publishes(q, m) })
		if at < 0 {
			continue
		}
		count := resp.Int(int64(receivers[at]))
		messages, receivers = messages[at+1:], receivers[at+1:]
		switch {
		case !c.Block:
			reply = count
		case i < len(reply.Elems):
			reply.Elems[i] = count
		}
	}
	return reply
}

// publishes tells whether a message is what a command publishes.
func publishes(q *commands.Request, m commands.Message) bool {
	name := q.Spec.Name
	return (name == "publish" || name == "spublish") && m.Shard == (name == "spublish") && m.Channel == q.Args[1] && m.Payload == q.Args[2]
}

// changes are the keys that clients which keep copies must be told of. Who is told of what changed nothing, and answers
// by doing the same again, as rueidislock does, would never come to rest.
func changes(writes []tally.Write) []commands.Access {
	list := make([]commands.Access, 0, len(writes))
	for _, w := range writes {
		if !w.Unchanged {
			list = append(list, commands.Access{Kind: commands.ChangedKey, Key: w.Key})
		}
	}
	return list
}

// send sends an operation that follows from the request, in front of what waits, with a deadline of its own.
func (a *attempt) send(node int, op runner.Op, done func(Outcome)) {
	e := a.engine
	a.then(func() {
		e.cfg.Nodes[node].Send(Sending{
			DB: a.request.db, Op: op, Deadline: e.cfg.Clock.Now() + e.cfg.Timeout, Ahead: true,
			Done: func(o Outcome) { a.do(func() { done(o) }) },
		})
	})
}
