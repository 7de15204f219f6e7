package proxy

import (
	"errors"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy/poll"
)

// Gatherer is a Backend that would rather have calls together which come at the same time.
type Gatherer interface {
	// Flush is called when the calls with More are all there that came together.
	Flush()
}

// reader returns the loop for the input of all sessions, nil when each reads for itself. With TLS they do, since what is read
// is not what was sent.
func (s *Server) reader() *poll.Loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loop == nil && s.cfg.TLS == nil && !s.draining.Load() {
		s.startLoop()
	}
	return s.loop
}

func (s *Server) startLoop() {
	flush := func() {}
	if g, ok := s.cfg.Backend.(Gatherer); ok {
		flush = g.Flush
	}
	loop, err := poll.New(func() {
		flush()
		s.writeRound()
	})
	if err != nil {
		if !errors.Is(err, poll.ErrUnsupported) {
			s.log.Warn("each connection reads for itself, which costs more", "error", err)
		}
		return
	}
	s.loop = loop
}

// writeRound writes what was answered while the loop read. To read all and then write all costs less than to do both for one
// session after the other: the code of each stays in the processor's cache, and clients are woken together.
func (s *Server) writeRound() {
	for _, o := range s.round {
		o.writeNow()
	}
	clear(s.round)
	s.round = s.round[:0]
}

// stopLoop ends the loop. No session is left.
func (s *Server) stopLoop() {
	s.mu.Lock()
	loop := s.loop
	s.mu.Unlock()
	if loop != nil {
		_ = loop.Close() // a second time it does nothing
	}
}

// polled has the server's loop read for the session, if there is one.
func (s *session) polled() {
	loop := s.srv.reader()
	if loop == nil {
		return
	}
	if conn, err := loop.NewConn(s.raw, s); err == nil {
		s.conn, s.raw = conn, conn
	}
}

// leftOver is what the loop has read and left to the session's reader.
type leftOver struct {
	line []string
	err  error
}

// nextLine returns the next line, first the one that the loop has cut.
func (s *session) nextLine() ([]string, error) {
	h := s.held
	if h.line == nil && h.err == nil {
		return s.in.next()
	}
	s.held = leftOver{}
	return h.line, h.err
}

// Room implements poll.Handler.
func (s *session) Room() []byte { return s.in.room() }

// Took implements poll.Handler: it runs a single command that the backend answers, as nearly all are of clients that wait for
// each answer. Whatever may wait for something, is long, or is a pipeline, is the reader's.
func (s *session) Took(n int) (done bool) {
	defer s.survive()
	s.received(n)
	s.limitRead()
	if s.isBlocked() || s.input.taken > 0 {
		return false // what comes behind a blocked command stays whole, and the reader accounts for what is large
	}
	line, err := s.in.next()
	if err == nil && line == nil {
		return false // it may take room
	}
	if err == nil && s.in.unread() == 0 && s.quick(line) {
		return true
	}
	s.held = leftOver{line: line, err: err}
	return false
}

// quick runs a command if that cannot wait and needs nothing but the backend.
func (s *session) quick(line []string) bool {
	spec, err := s.srv.table.Lookup(line)
	switch {
	case err != nil, spec.Raft == commands.Local, s.srv.handlers[spec.ID].own != nil, s.tx != nil:
		return false
	case s.gate(spec, len(line)) != nil, s.srv.pause.on.Load(), !s.staysOnSide(spec, line), !s.out.postpone():
		return false
	}
	s.gathers = true
	s.begin()
	s.perform(spec, line)
	s.spendCaching(line[0])
	s.gathers = false
	if s.out.postponed() {
		s.srv.round = append(s.srv.round, s.out)
	}
	s.flushLink()
	return true
}
