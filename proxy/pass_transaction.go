package proxy

import (
	"strconv"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/route"
)

// claim settles on which side the transaction is that a command is queued for, and tells whether it is for the upstream.
func (s *session) claim(spec *commands.Spec, line []string) (passed bool, err error) {
	if s.srv.cfg.Upstream == nil {
		return false, nil
	}
	side, err := s.sideOf(spec, line)
	if err != nil || side == route.Nobody {
		return false, err
	}
	return side == route.Upstream, s.claimFor(side, spec.Keys.Of(line), spec.Name)
}

// claimFor is claim for a command of a side, with keys, or with a name when it has none.
func (s *session) claimFor(side route.Side, keys []string, name string) error {
	word := name
	if len(keys) > 0 {
		word = keys[0]
	}
	before := s.tx.side
	if before == route.Nobody {
		before, s.tx.word = s.watchedSide()
	}
	if before != route.Nobody && before != side {
		if side == route.Locks {
			return resp.MixedKeys(word, s.tx.word)
		}
		return resp.MixedKeys(s.tx.word, word)
	}
	s.tx.side, s.tx.word = side, word
	return nil
}

// watchedSide is where the watched keys are.
func (s *session) watchedSide() (side route.Side, word string) {
	switch {
	case s.passing.watching.Load():
		return route.Upstream, "a watched key"
	case len(s.watches) > 0:
		return route.Locks, "a watched key"
	}
	return route.Nobody, ""
}

// enqueueFor queues a command that only the upstream knows.
func (s *session) enqueueFor(side route.Side, keys []string, q queued) {
	if err := s.claimFor(side, keys, q.line[0]); err != nil {
		s.refuse(nil, err)
		return
	}
	s.queue(nil, q)
}

// passWatch watches keys of the upstream.
func (s *session) passWatch(spec *commands.Spec, line []string) {
	switch {
	case s.tx != nil:
		s.count(spec, resp.ErrWatchInMulti.Value())
		return
	case len(s.watches) > 0:
		s.count(spec, resp.MixedKeys("a watched key", line[1]).Value())
		return
	}
	s.passing.watching.Store(true)
	s.passOn(spec, line)
}

// unwatchPassed forgets what is watched at the upstream.
func (s *session) unwatchPassed() {
	if s.passing.watching.Swap(false) {
		s.send(Passage{Lines: [][]string{{"UNWATCH"}}})
	}
}

// executePassed runs a transaction at the upstream: all of it is sent at once, and only the reply of EXEC is passed back.
// Commands of the front end run when it has come, as in a transaction on locks.
func (s *session) executePassed(r *commands.Request, tx *transaction) {
	lines := [][]string{{"MULTI"}}
	for _, q := range tx.queue {
		if q.sent() {
			lines = append(lines, q.line)
		}
	}
	all := len(lines) == len(tx.queue)+1
	if tx.db != s.db {
		all = false
		lines = append(lines, []string{"SELECT", strconv.Itoa(s.db)}) // what follows says itself where it belongs
	}
	s.passing.watching.Store(false)
	if !s.turnTo(route.Upstream) {
		return
	}
	sl := s.blockSlot(r, tx)
	s.out.add(sl)
	p := Passage{Lines: append(lines, []string{"EXEC"}), Done: func(p Passed) { s.passedBack(r.Spec, sl, p) }}
	if all {
		s.send(p)
		return
	}
	s.executeMixed(r, tx, sl, p)
}

// sent tells whether a command goes to the upstream in a transaction there. SELECT does, since it says where others run, and
// has its effect here as well.
func (q queued) sent() bool { return q.theirs() || q.spec.Name == "select" }

// executeMixed is executePassed for a transaction that the front end has a part in.
func (s *session) executeMixed(r *commands.Request, tx *transaction, sl *slot, p Passage) {
	answer := make(chan Passed, 1)
	s.send(Passage{Lines: p.Lines, Done: func(p Passed) { answer <- p }})
	res, ok := await(s, answer)
	if !ok {
		return
	}
	reply, _, err := resp.Decode(string(res.Raw))
	if err != nil || reply.Kind != resp.Array || len(reply.Elems) != len(p.Lines)-2 {
		p.Done(res)
		return
	}
	parts := s.runLocal(tx.queue, reply.Elems, queued.sent)
	s.db = tx.db
	s.show()
	s.srv.tally(r.Spec, resp.OK(), s.readAt)
	s.out.enact(sl, func() []resp.Value { return gathered(parts) }, s.proto, s.leaving)
}
