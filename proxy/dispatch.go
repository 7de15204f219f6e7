package proxy

import (
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// dispatch takes one command through the gates, in the order of Redis (server.c, processCommand):
//
//  1. web browsers are cut off;
//  2. the command must exist and have the right number of arguments;
//  3. the client must be authenticated;
//  4. a RESP2 client in subscribe mode may only do a few things;
//  5. while clients are paused it waits;
//  6. after MULTI it is queued;
//  7. its options must be right.
//
// What passes is answered here or by the backend.
func (s *session) dispatch(line []string) {
	if fromBrowser(line[0]) {
		s.srv.log.Warn("cut off a client that speaks HTTP", "client", s.raw.RemoteAddr())
		s.kill()
		s.leaving = true
		return
	}
	s.begin()
	spec, err := s.srv.table.Lookup(line)
	if err != nil {
		s.foreign(line, err)
		return
	}
	s.latest.Store(spec)
	if err := s.gate(spec, len(line)); err != nil {
		s.refuse(spec, err)
		return
	}
	s.waitOut(spec)
	s.perform(spec, line)
}

// begin counts a command.
func (s *session) begin() {
	s.srv.stats.commands.Add(1)
	s.mute, s.skipNext = s.silent || s.skipNext, false
}

// perform runs a command that has passed the first gates.
func (s *session) perform(spec *commands.Spec, line []string) {
	if s.tx != nil && !s.srv.handlers[spec.ID].atOnce {
		s.enqueue(spec, line)
		return
	}
	if s.divert(spec, line) {
		return
	}
	req, err := spec.Bind(line, s.db)
	if err != nil {
		s.count(spec, resp.ReplyFor(err))
		return
	}
	s.run(req)
}

// fromBrowser knows the first words of HTTP requests that a web page can make a browser send here. Redis ends such
// connections too, lest the body of a POST be taken for commands.
func fromBrowser(word string) bool {
	return strings.EqualFold(word, "post") || strings.EqualFold(word, "host:")
}

// gate decides whether a command of so many words may run.
func (s *session) gate(spec *commands.Spec, words int) error {
	switch {
	case !spec.Accepts(words):
		return resp.WrongArity(spec.Name)
	case spec.Name == "debug": // Redis refuses it here as well, before AUTH and MULTI, unless it was configured
		return resp.ErrNoDebug
	case s.tx != nil && spec.Flags.Has(commands.NoMulti):
		return resp.ErrNotInMulti
	case !s.allowed && !spec.Flags.Has(commands.NoAuth):
		return resp.ErrNoAuth
	case s.proto == resp.RESP2 && s.topics.any() && !spec.Flags.Has(commands.Subscribed):
		return resp.SubscribeMode(spec.Name)
	}
	return nil
}

// run answers a command here, or has the backend answer it.
func (s *session) run(req *commands.Request) {
	h := s.srv.handlers[req.Spec.ID]
	switch {
	case h.own != nil:
		h.own(s, req)
	case req.Spec.Raft != commands.Local:
		s.submit(req)
	case h.later != nil:
		s.later(req, h.later(s, req))
	case h.listen != nil:
		s.listenFor(req, h.listen)
	default:
		s.count(req.Spec, h.now(s, req))
	}
}

// submit hands a request to the backend.
func (s *session) submit(req *commands.Request) {
	sl := s.requestSlot(req)
	s.out.add(sl)
	if acquire, yes := commands.ResendableAcquire(req); yes {
		if !s.gathers && s.gone() { // the loop has looked already
			s.out.drop(sl)
			return
		}
		first := s.srv.resends.enter(taker{s, sl}, req, acquire)
		if first == nil {
			s.srv.stats.joined.Add(1)
			return
		}
		sl.call.Done, sl.call.Abandoned = first.answered, first.abandoned
	}
	s.hand(&sl.call)
}

// hand gives a call to the backend.
func (s *session) hand(c *commands.Call) {
	s.srv.resends.passed(c.Requests)
	c.Session, c.Track, c.More = s.id, s.tracked.remembers(), s.gathers
	c.Fencing = s.fencing && s.proto == resp.RESP3
	s.open().Submit(c)
}

// requestSlot is the place of a request that the backend answers.
func (s *session) requestSlot(req *commands.Request) *slot {
	sl := s.slot(req.Args)
	sl.one[0] = req
	sl.call = commands.Call{Requests: sl.one[:], Done: sl.answer}
	sl.began, sl.counts = s.readAt, s.srv
	return sl
}

// open returns the session's stream.
func (s *session) open() Stream {
	if s.stream == nil {
		s.stream = s.srv.cfg.Backend.Open()
	}
	return s.stream
}

// later enters a command whose effect and reply must wait until all commands before it are answered.
func (s *session) later(req *commands.Request, act func() []resp.Value) {
	sl := s.slot(req.Args)
	sl.act = act
	s.srv.tally(req.Spec, resp.OK(), s.readAt)
	s.out.add(sl)
}

// count replies and counts the command; spec is nil when there is no such command.
func (s *session) count(spec *commands.Spec, reply resp.Value) {
	s.srv.tally(spec, reply, s.readAt)
	s.reply(reply)
}

// reply enters a reply behind those of earlier commands.
func (s *session) reply(v resp.Value) {
	sl := s.slot(nil)
	sl.reply, sl.done, sl.last = v, true, s.leaving
	s.out.add(sl)
}

func (s *session) slot(line []string) *slot {
	sl := &slot{box: s.out, proto: s.proto, mute: s.mute}
	for _, arg := range line {
		sl.asked += len(arg)
	}
	return sl
}

// tally counts an answered command.
func (s *Server) tally(spec *commands.Spec, reply resp.Value, began time.Time) {
	if reply.IsErr() {
		s.stats.failures.Add(1)
	}
	if s.cfg.Metrics == nil {
		return
	}
	name := ""
	if spec != nil {
		name = spec.Name
	}
	s.cfg.Metrics.CommandDone(name, outcome(reply), time.Since(began))
}
