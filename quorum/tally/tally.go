package tally

import (
	"slices"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// Majority is the number of nodes, of n, without which nothing is granted. Any two majorities share a node.
func Majority(n int) int { return n/2 + 1 }

// Verdict is where a vote stands.
type Verdict uint8

// The verdicts.
const (
	Pending Verdict = iota // it depends on answers still to come
	Won                    // a majority did the same thing to the same state
	Lost                   // no majority can agree any more
)

// Votes are the answers of the nodes to one attempt at a request.
type Votes struct {
	// Again says that earlier attempts at the request were lost and put back. What looks like a renewal may be an
	// acquisition, then, that came upon what they have left, and must have found the same versions like any other.
	Again bool
	// Releases says that the request only ends holds. A node that may have forgotten the hold does not say that there is
	// none then, whatever else it has for the key.
	Releases bool

	answers []*Answer // by node, nil as long as it may come
	winners []int
}

// NewVotes returns the votes of n nodes, none of which has answered.
func NewVotes(n int) *Votes { return &Votes{answers: make([]*Answer, n)} }

// Add takes the answer of a node, or that there is none.
func (v *Votes) Add(node int, a *Answer) { v.answers[node] = a }

// Of returns the answer of a node; nil when it may still come.
func (v *Votes) Of(node int) *Answer { return v.answers[node] }

// All are the answers by node; nil as long as they may come.
func (v *Votes) All() []*Answer { return v.answers }

// Answered is the number of nodes whose answer counts, whatever it is.
func (v *Votes) Answered() (n int) {
	for _, a := range v.answers {
		if a != nil && a.Answered() && !a.Quarantined {
			n++
		}
	}
	return n
}

// Verdict tells where the vote stands: won when a majority of counted answers agree, see same.
func (v *Votes) Verdict() Verdict {
	need, open, best := Majority(len(v.answers)), 0, 0
	for i, a := range v.answers {
		switch {
		case a == nil:
			open++
		case a.Answered() && !v.repeats(i):
			best = max(best, v.agree(a))
		}
		if best >= need && v.farApart() && slices.Contains(v.answers, nil) {
			return Pending
		}
		if best >= need {
			return Won
		}
	}
	if best+open >= need {
		return Pending
	}
	return Lost
}

// repeats tells whether an earlier node gave the same answer.
func (v *Votes) repeats(i int) bool {
	return slices.ContainsFunc(v.answers[:i], func(b *Answer) bool {
		return b != nil && b.Answered() && v.same(b, v.answers[i])
	})
}

// agree counts the votes for an answer, and keeps who gave them.
func (v *Votes) agree(a *Answer) int {
	v.winners = v.winners[:0]
	for i, b := range v.answers {
		if b != nil && b.Answered() && v.same(a, b) && (!b.Quarantined || v.vouched(b)) {
			v.winners = append(v.winners, i)
		}
	}
	return len(v.winners)
}

// vouched tells whether the answer of a node that may have forgotten counts: a counted node knows the same versions
// of the same keys, and on both the request found what it was about: a hold that it prolonged or ended, or a key in its
// way. What is absent there may have been forgotten, and so may what came after the version that it has: a counted node
// that is as far behind proves nothing. So nothing is granted on its vote.
func (v *Votes) vouched(a *Answer) bool {
	if v.Releases && !a.Wrote() {
		return false
	}
	return slices.ContainsFunc(v.answers, func(b *Answer) bool {
		return b != nil && b.Answered() && !b.Quarantined && v.same(a, b) && knows(a, b)
	})
}

func knows(a, b *Answer) bool {
	if a.Checks || !a.Wrote() && len(a.Seen) == 0 || slices.ContainsFunc(a.Writes, func(w Write) bool {
		return w.Before == Version{} || !w.Renewal && !w.Ended
	}) {
		return false
	}
	return !slices.ContainsFunc(a.Seen, func(s Seen) bool {
		return !a.wroteTo(s.Key) && (s.Version == Version{} || !s.Exists || !slices.Contains(b.Seen, s))
	})
}

// same tells whether two answers are votes for the same thing: the same reply, and each written key taken from the
// same version to the same state. Answers that wrote nothing are compared by their replies alone. A renewal is the same
// when it found the same hold: it adds nothing to what that has, so it does not matter how the nodes came by it, nor which
// TTL they had.
func (v *Votes) same(a, b *Answer) bool {
	return sameReply(a, b) && slices.EqualFunc(a.Writes, b.Writes, func(x, y Write) bool {
		return x.Key == y.Key && x.Exists == y.Exists && x.State == y.State &&
			(x.Before == y.Before || !v.Again && x.keeps() && y.keeps() && x.Token == y.Token && x.Token != 0)
	})
}

// sameReply compares replies. A TTL is none of two different ones only because a node was asked a moment later, and
// tokens are made equal afterwards.
func sameReply(a, b *Answer) bool {
	if a.IsTTL && b.IsTTL {
		return (a.Reply.Int() == noKey) == (b.Reply.Int() == noKey)
	}
	return a.IsToken && b.IsToken || equal(a.Reply, b.Reply)
}

// noKey is what PTTL says of an absent key.
const noKey = -2

// equal compares two replies.
func equal(a, b resp.Value) bool {
	return a.Kind == b.Kind && a.Int() == b.Int() && a.Str == b.Str && slices.EqualFunc(a.Elems, b.Elems, equal)
}

// Winners are the nodes that agree, when the verdict is Won. The slice belongs to v.
func (v *Votes) Winners() []int { return v.winners }

// Agrees tells whether a node's answer is that of the winners.
func (v *Votes) Agrees(node int) bool {
	a := v.answers[node]
	return len(v.winners) > 0 && a != nil && a.Answered() && v.same(v.answers[v.winners[0]], a)
}

// Source is the winner from which others can take the state that the majority shares: of several versions, as after
// renewals, the highest.
func (v *Votes) Source() int {
	best := v.winners[0]
	for _, i := range v.winners[1:] {
		if w, b := v.answers[i].Writes, v.answers[best].Writes; len(w) > 0 && b[0].After.Before(w[0].After) {
			best = i
		}
	}
	return best
}

// Winner is the answer that the majority gave, as Source gave it.
func (v *Votes) Winner() *Answer { return v.answers[v.Source()] }

// Messages are what the winners publish, as Winner has it. They did the same to what they wrote, but a script may also look
// at other keys, of which they may know different things, such as who is next in a queue. So what only some publish is
// added: a waiter that is woken in vain waits again, and one that is not woken may wait for ever.
func (v *Votes) Messages() []commands.Message {
	messages := v.Winner().Messages
	for _, i := range v.winners {
		for _, m := range v.answers[i].Messages {
			if !slices.Contains(messages, m) {
				messages = append(slices.Clip(messages), m)
			}
		}
	}
	return messages
}

// Reply is the answer of the majority. Of TTLs it is the largest that a majority guarantees
// (the M-th largest; a key without TTL is longest).
func (v *Votes) Reply() resp.Value {
	first := v.Winner()
	if !first.IsTTL || first.Reply.Int() == noKey {
		return first.Reply
	}
	ttls := make([]int64, 0, len(v.winners))
	for _, i := range v.winners {
		ttls = append(ttls, v.answers[i].Reply.Int())
	}
	slices.SortFunc(ttls, longer)
	return resp.Int(ttls[Majority(len(v.answers))-1])
}

// nearTTL is how far apart TTLs are, in ms, that differ only because nodes were asked one after another. Those in
// seconds are not told from those in ms: for them it only matters whether there is a TTL at all.
const nearTTL = 200

// farApart tells whether the winners are TTLs of which one is that of an earlier state, on a node that a write has not
// reached. Then the others are waited for: the client may have made that write itself.
func (v *Votes) farApart() bool {
	first := v.answers[v.winners[0]]
	if !first.IsTTL {
		return false
	}
	for _, i := range v.winners {
		a, b := v.answers[i].Reply.Int(), first.Reply.Int()
		if (a == Forever) != (b == Forever) || max(a-b, b-a) > nearTTL {
			return true
		}
	}
	return false
}

// longer orders TTLs, the longest first.
func longer(a, b int64) int {
	switch {
	case a == b:
		return 0
	case a == Forever || b != Forever && a > b:
		return -1
	}
	return 1
}

// Elements is the reply of a vote that was lost as a whole, put together from the elements on which a majority
// agrees. It holds for arrays of numbers whose elements have nothing to do with one another: of reads, and of
// renewals of several locks. False means that an element is undecided.
func (v *Votes) Elements() (resp.Value, bool) {
	var rows [][]resp.Value
	for _, a := range v.answers {
		if a == nil || !a.Answered() || a.Quarantined {
			continue
		}
		if a.Reply.Kind != resp.Array || a.IsTTL || !onlyRenews(a) || len(rows) > 0 && len(a.Reply.Elems) != len(rows[0]) {
			return resp.Value{}, false
		}
		rows = append(rows, a.Reply.Elems)
	}
	need := Majority(len(v.answers))
	if len(rows) < need {
		return resp.Value{}, false
	}
	elems := make([]resp.Value, len(rows[0]))
	for i := range elems {
		value, ok := decided(rows, i, need)
		if !ok {
			return resp.Value{}, false
		}
		elems[i] = value
	}
	return resp.Arr(elems...), true
}

func onlyRenews(a *Answer) bool {
	return !slices.ContainsFunc(a.Writes, func(w Write) bool { return !w.keeps() })
}

// keeps tells whether nothing but the TTL has changed.
func (w *Write) keeps() bool { return w.Renewal || w.Shortened }

// decided is the number that need of the rows have at position i.
func decided(rows [][]resp.Value, i, need int) (resp.Value, bool) {
	for _, row := range rows {
		n := 0
		for _, other := range rows {
			if row[i].Kind == resp.Integer && equal(row[i], other[i]) {
				n++
			}
		}
		if n >= need {
			return row[i], true
		}
	}
	return resp.Value{}, false
}

// Kind is what a request turned out to be. The rules for what becomes of a lost vote differ.
type Kind uint8

// The kinds.
const (
	Read    Kind = iota // wrote nothing anywhere
	Acquire             // wrote; what a lost one wrote is put back
	Renewal             // only changed TTLs; never put back, repeated
	Release             // ended a hold; never put back, driven on
)

// Kind tells what the request turned out to be on the nodes that answered.
func (v *Votes) Kind() Kind {
	kind := Read
	for _, a := range v.answers {
		if a == nil || !a.Answered() || !a.Wrote() {
			continue
		}
		switch {
		case slices.ContainsFunc(a.Writes, func(w Write) bool { return w.Ended && !w.Shortened }):
			return Release
		case !onlyRenews(a):
			kind = Acquire
		case kind == Read:
			kind = Renewal
		}
	}
	return kind
}

// NotWrote is the answer of a node that wrote nothing, nil when there is none.
func (v *Votes) NotWrote() *Answer {
	for _, a := range v.answers {
		if a != nil && a.Answered() && !a.Quarantined && !a.Wrote() {
			return a
		}
	}
	return nil
}

// Drift of clocks that a lease allows for (the Redlock page, "Is the algorithm asynchronous?").
const (
	driftShare = 100 // one part in so many
	driftFixed = 2 * time.Millisecond
)

// Valid tells whether a lease of ttl that was asked for so long ago may be granted.
func Valid(elapsed, ttl time.Duration) bool { return elapsed < ttl-ttl/driftShare-driftFixed }

// Lease is the shortest TTL, over the winners, of the keys that came into being or were extended. False means that
// there is none, or that the request ended a hold. What is brief is no lease.
func (v *Votes) Lease() (time.Duration, bool) {
	shortest, any := int64(0), false
	for _, i := range v.winners {
		for _, w := range v.answers[i].Writes {
			switch {
			case w.Ended:
				return 0, false
			case w.Exists && w.TTL != Forever && !w.Brief() && extended(w, v.answers[i].Time) && (!any || w.TTL < shortest):
				shortest, any = w.TTL, true
			}
		}
	}
	return time.Duration(shortest) * time.Millisecond, any
}

// Brief tells whether the key ends within the drift. That is no lease: it would be refused however fast the nodes were, and
// nobody excludes others with it. Symfony Lock tries by SET key 1 PX 1 what scripts may do.
func (w *Write) Brief() bool {
	return w.Exists && w.TTL != Forever && time.Duration(w.TTL)*time.Millisecond <= driftFixed
}

// extended tells whether a key came into being or ends later than before.
func extended(w Write, now time.Duration) bool {
	if !w.Existed || w.Renewal {
		return true
	}
	return w.ImageEnd != Forever && now.Milliseconds()+w.TTL > w.ImageEnd+1
}
