package proxy

import (
	"strings"
	"sync/atomic"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/route"
)

// passing is what a session has to do with the upstream. All but watching belongs to the reader.
type passing struct {
	link     Link // nil until first needed
	side     route.Side
	watching atomic.Bool // keys are watched at the upstream
}

// divert takes a command that the upstream has a part in. It is false for one that is Redfence's alone.
func (s *session) divert(spec *commands.Spec, line []string) (taken bool) {
	if s.srv.cfg.Upstream == nil {
		return false
	}
	side, err := s.sideOf(spec, line)
	switch {
	case err != nil:
		s.refuse(spec, err)
		return true
	case side == route.Nobody:
		return false
	case !s.turnTo(side):
		return true
	case side == route.Locks:
		return false
	}
	switch {
	case side == route.Both:
		s.runBoth(spec, line)
	case spec.Name == "watch":
		s.passWatch(spec, line)
	default:
		s.passOn(spec, line)
	}
	return true
}

// sideOf tells who serves a command. Keys decide where there are some.
func (s *session) sideOf(spec *commands.Spec, line []string) (route.Side, error) {
	rules := s.srv.cfg.Rules
	switch k := spec.Keys; {
	case spec.Group == commands.Fencing:
		return route.Locks, nil
	case spec.Group == commands.PubSubs && spec.Raft == commands.Local:
		return route.Nobody, nil // who subscribes hears of both sides
	case k == commands.KeySpec{}:
		return s.sideWithoutKeys(spec, line)
	case k.First == 1 && k.Last == 1 && k.Num == 0 && !k.Store:
		if rules.Lock(line[1]) {
			return route.Locks, nil
		}
		return route.Upstream, nil
	}
	return keysSide(rules, spec.Keys.Of(line))
}

// keysSide is who serves a request with these keys, the upstream when there are none.
func keysSide(rules route.Rules, keys []string) (route.Side, error) {
	side, lock, other := rules.Keys(keys)
	if side == route.Both {
		return side, resp.MixedKeys(lock, other)
	}
	if side == route.Nobody {
		side = route.Upstream
	}
	return side, nil
}

// sideWithoutKeys tells who serves a command that has no keys by nature.
func (s *session) sideWithoutKeys(spec *commands.Spec, line []string) (route.Side, error) {
	rules := s.srv.cfg.Rules
	switch spec.Name {
	case "publish", "spublish":
		if side := rules.Channel(line[1]); side != route.Both {
			return side, nil
		}
		return route.Upstream, nil
	case "script|load", "script|exists", "script|flush":
		if s.tx == nil {
			return route.Both, nil
		}
		return route.Nobody, nil
	case "keys":
		return rules.Names(line[1]), nil
	case "scan":
		return rules.Names(scanned(line)), nil
	case "config|get", "config|set", "config|resetstat", "config|rewrite", "script|kill":
		return route.Upstream, nil
	case "wait", "waitaof": // about the writes before it
		if s.passing.side == route.Upstream {
			return route.Upstream, nil
		}
	case "client|tracking":
		if len(line) > 2 && strings.EqualFold(line[2], "on") {
			return route.Nobody, resp.NotPassed("client tracking")
		}
	}
	if spec.Raft == commands.Local || strings.HasSuffix(spec.Name, "|help") {
		return route.Nobody, nil
	}
	return route.Upstream, nil
}

// scanned is the pattern of a SCAN, empty for all keys.
func scanned(line []string) string {
	for i := 2; i+1 < len(line); i += 2 {
		if strings.EqualFold(line[i], "match") {
			return line[i+1]
		}
	}
	return ""
}

// turnTo has what follows served by a side. Effects of one connection take place in the order sent, so all that the
// other side has must be answered before. It is false when the session is over.
func (s *session) turnTo(side route.Side) bool {
	if s.passing.side == side {
		return true
	}
	if s.passing.side != route.Nobody {
		if quiet := s.out.quieten(); quiet != nil {
			if _, ok := await(s, quiet); !ok {
				return false
			}
		}
	}
	s.passing.side = side
	return true
}

// staysOnSide tells whether turnTo would not have to wait for a command.
func (s *session) staysOnSide(spec *commands.Spec, line []string) bool {
	if s.srv.cfg.Upstream == nil {
		return true
	}
	side, err := s.sideOf(spec, line)
	return err == nil && side == s.passing.side
}

// foreign takes a command that the table does not have, if the upstream has it and it is not about a lock.
func (s *session) foreign(line []string, unknown error) {
	up := s.srv.cfg.Upstream
	if up == nil || !s.allowed {
		s.refuse(nil, unknown)
		return
	}
	d, err := up.Describe(line)
	if err != nil {
		s.refuse(nil, err)
		return
	}
	if len(d.Keys) == 0 && s.srv.table.Has(line[0]) {
		s.refuse(nil, unknown) // an unknown subcommand of what is answered here
		return
	}
	side, err := keysSide(s.srv.cfg.Rules, d.Keys)
	if err == nil && side == route.Locks {
		err = unknown
	}
	if err == nil {
		err = s.gate(d.Spec, len(line))
	}
	if err != nil {
		s.refuse(nil, err)
		return
	}
	s.waitOut(d.Spec)
	switch {
	case s.tx != nil:
		s.enqueueFor(route.Upstream, d.Keys, queued{line: line})
	case s.turnTo(route.Upstream):
		s.passOn(d.Spec, line)
	}
}

// passOn sends a command to the upstream.
func (s *session) passOn(spec *commands.Spec, line []string) {
	sl := s.slot(line)
	sl.began = s.readAt
	if spec.Flags.Has(commands.Blocking) {
		s.passBlocking(spec, sl, line)
		return
	}
	s.out.add(sl)
	s.send(Passage{Lines: [][]string{line}, Done: func(p Passed) { s.passedBack(spec, sl, p) }})
}

// passBlocking sends a command for which the upstream may make the client wait. As with those of Redfence's own, what the client
// sends behind it is not looked at before it is answered, and a hang-up ends the wait.
func (s *session) passBlocking(spec *commands.Spec, sl *slot, line []string) {
	sl.blocks = true
	s.blocked.slot = sl
	s.blocked.wait(&passedWait{link: s.linked()})
	s.out.add(sl)
	s.send(Passage{Lines: [][]string{line}, Done: func(p Passed) {
		s.passedBack(spec, sl, p)
		s.resume()
	}})
}

// passedWait is a command that waits at the upstream.
type passedWait struct {
	link  Link
	ended atomic.Bool
}

// Unblock is part of waiting.
func (w *passedWait) Unblock(withError bool) bool {
	if w.ended.Swap(true) {
		return false
	}
	w.link.Unblock(withError)
	return true
}

// Abandon is part of waiting.
func (w *passedWait) Abandon(drop func()) {
	drop()
	w.link.Close()
}

// waitsElsewhere tells whether the session waits for a command that the upstream has.
func (s *session) waitsElsewhere() bool {
	w := s.blocked.waiter.Load()
	if w == nil {
		return false
	}
	passed, ok := (*w).(*passedWait)
	return ok && passed.link.Waits()
}

// blockedClients is how many sessions wait, here or at the upstream.
func (s *Server) blockedClients() int {
	n := s.cfg.Wait.Blocked()
	if s.cfg.Upstream == nil {
		return n
	}
	for _, ses := range s.all() {
		if ses.waitsElsewhere() {
			n++
		}
	}
	return n
}

// passedBack completes a slot with what became of its passage.
func (s *session) passedBack(spec *commands.Spec, sl *slot, p Passed) {
	if p.Raw == nil {
		s.srv.tally(spec, p.Failed.Value(), sl.began)
		s.out.answered(sl, Result{Reply: p.Failed.Value(), Close: p.Close})
		return
	}
	reply := resp.OK()
	if p.Raw[0] == '-' {
		reply = resp.Err(string(p.Raw[1:]))
	}
	s.srv.tally(spec, reply, sl.began)
	s.out.passed(sl, p.Raw)
}

// send enters a passage on the session's link.
func (s *session) send(p Passage) {
	s.linked().Send(LinkState{DB: s.db, Proto: s.proto, Name: s.name}, p)
}

func (s *session) linked() Link {
	if s.passing.link == nil {
		s.passing.link = s.srv.cfg.Upstream.Connect(func() {
			if s.passing.watching.Load() {
				s.kill() // what was watched is forgotten, so an EXEC must not run
			}
		})
	}
	return s.passing.link
}

// flushLink sends what was entered on the link. The reader calls it before it waits for anything.
func (s *session) flushLink() {
	if s.passing.link != nil {
		s.passing.link.Flush()
	}
}

// unlink ends the link of a session that is over.
func (s *session) unlink() {
	if s.passing.link != nil {
		s.passing.link.Close()
	}
}

// runBoth runs a command about loaded scripts on both sides, since EVALSHA may come for either. Only the answer to what
// exists waits for the upstream: locks need their scripts also while it hangs, and it gets what was sent before it gets the
// EVALSHA that relies on it.
func (s *session) runBoth(spec *commands.Spec, line []string) {
	req, err := spec.Bind(line, s.db)
	if err != nil {
		s.count(spec, resp.ReplyFor(err))
		return
	}
	sl := s.requestSlot(req)
	p := Passage{Lines: [][]string{line}}
	if spec.Name == "script|exists" {
		sl.call.Done, p.Done = joined(sl.answer)
	}
	s.out.add(sl)
	s.send(p)
	s.hand(&sl.call)
}

// joined returns what both sides call with their answers to SCRIPT EXISTS, in any order, and calls answer once it has both.
func joined(answer func(Result)) (ours func(Result), theirs func(Passed)) {
	var left atomic.Int32
	left.Store(2)
	var result Result
	var passed Passed
	finish := func() {
		if left.Add(-1) == 0 {
			result.Reply = onBoth(result.Reply, passed)
			answer(result)
		}
	}
	ours = func(r Result) {
		result = r
		finish()
	}
	theirs = func(p Passed) {
		passed = p
		finish()
	}
	return ours, theirs
}

// onBoth joins two answers to SCRIPT EXISTS: a script is there when both sides have it. Without an upstream it is as
// Redfence says: who needs the script there is told NOSCRIPT, and sends it.
func onBoth(ours resp.Value, theirs Passed) resp.Value {
	other, _, err := resp.Decode(string(theirs.Raw))
	if err != nil || ours.Kind != resp.Array || len(other.Elems) != len(ours.Elems) {
		return ours
	}
	joint := make([]resp.Value, len(ours.Elems))
	for i := range joint {
		joint[i] = resp.BoolInt(ours.Elems[i].Int() == 1 && other.Elems[i].Int() == 1)
	}
	return resp.Arr(joint...)
}
