package proxy

import (
	"slices"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/route"
)

// inPassed are the commands without keys that a transaction at the upstream may have: they mean the same there.
var inPassed = []string{"ping", "echo", "time", "publish", "spublish"} //nolint:gochecknoglobals // a constant

// claim settles on which side the transaction is that a command is queued for.
func (s *session) claim(spec *commands.Spec, line []string) error {
	if s.srv.cfg.Upstream == nil {
		return nil
	}
	side, err := s.sideOf(spec, line)
	if err != nil || side == route.Nobody {
		return err
	}
	return s.claimFor(side, spec.Keys.Of(line), spec.Name)
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

// executePassed sends a transaction to the upstream: all of it at once, and only the reply of EXEC is passed back.
func (s *session) executePassed(r *commands.Request, tx *transaction) {
	lines := make([][]string, 0, len(tx.queue)+2)
	lines = append(lines, []string{"MULTI"})
	for _, q := range tx.queue {
		if spec := q.spec; spec != nil && spec.Raft == commands.Local && !slices.Contains(inPassed, spec.Name) {
			s.unwatchPassed()
			s.count(r.Spec, resp.NotInPassedMulti(spec.Name).Value())
			return
		}
		lines = append(lines, q.line)
	}
	s.passing.watching.Store(false)
	if !s.turnTo(route.Upstream) {
		return
	}
	sl := s.blockSlot(r, tx)
	s.out.add(sl)
	s.send(Passage{Lines: append(lines, []string{"EXEC"}), Done: func(p Passed) { s.passedBack(r.Spec, sl, p) }})
}
