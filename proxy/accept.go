package proxy

import (
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/redfence/redfence/commands/resp"
)

const (
	refusalTimeout = 100 * time.Millisecond // for telling a client that there are too many
	refusalPause   = time.Millisecond       // behind each refusal, so that they cost little
	longestPause   = 100 * time.Millisecond // between two attempts to accept, when the process is out of descriptors
)

// Serve accepts connections from l until Shutdown, and returns nil then; any other error is l's. It may be called for
// several listeners at once. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if !s.listen(l) {
		return l.Close()
	}
	defer s.unlisten(l)
	t := trouble{log: s.log}
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			t.over()
			s.standInLine()
			s.welcome(conn)
		case s.draining.Load():
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default: // out of descriptors, or a connection that was reset before it was accepted
			time.Sleep(t.pause(err))
		}
	}
}

// trouble is a time in which nothing can be accepted. It is told of once, and once when it is over.
type trouble struct {
	log   *slog.Logger
	since time.Time // zero when there is none
	last  time.Duration
}

// pause tells how long to wait after an error of Accept.
func (t *trouble) pause(err error) time.Duration {
	if t.since.IsZero() {
		t.since = time.Now()
		t.log.Warn("cannot accept connections; those who connect wait until it can be done", "error", err)
	}
	t.last = min(max(2*t.last, time.Millisecond), longestPause)
	return t.last
}

func (t *trouble) over() {
	if !t.since.IsZero() {
		t.log.Info("accepting connections again", "after", time.Since(t.since))
		t.since, t.last = time.Time{}, 0
	}
}

// standInLine holds up those who connect while very many sessions have more to do than there are processors for. In the
// listener's queue they cost nothing.
func (s *Server) standInLine() {
	if s.pipelining.waiting.Load() > longLine {
		s.pipelining.take(nil)
		s.pipelining.give()
	}
}

// welcome starts a session on conn, or turns it away. Only a few sessions at once are beginning.
func (s *Server) welcome(conn net.Conn) {
	s.beginning.take(nil)
	ses, err := s.admit(conn)
	if err == nil {
		ses.turn = s.beginning
		go ses.serve()
		return
	}
	s.beginning.give()
	if ses != nil {
		conn = ses.raw
	}
	s.stats.rejected.Add(1)
	_ = conn.SetWriteDeadline(time.Now().Add(refusalTimeout))
	if s.cfg.TLS == nil { // with TLS it would have to wait for a handshake first
		_, _ = conn.Write(resp.Append(nil, resp.ReplyFor(err), resp.RESP2))
	}
	_ = conn.Close()
	time.Sleep(refusalPause)
}

// admit makes the session of a connection. When it has one it has taken over the connection, also in vain.
func (s *Server) admit(conn net.Conn) (*session, error) {
	if err := s.refusal(nil); err != nil {
		return nil, err
	}
	ses := newSession(s, s.lastID.Add(1), conn)
	if err := s.refusal(ses); err != nil { // another listener was faster
		return ses, err
	}
	s.stats.connections.Add(1)
	if s.cfg.Metrics != nil {
		s.cfg.Metrics.ConnOpened()
	}
	return ses, nil
}

// refusal is why no more sessions can be had, or nil. Then it notes ses, if there is one.
func (s *Server) refusal(ses *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.draining.Load():
		return resp.ErrShuttingDown
	case len(s.sessions) >= s.cfg.MaxClients:
		return resp.ErrMaxClients
	}
	if ses != nil {
		s.sessions[ses.id] = ses
		s.live.Add(1)
	}
	return nil
}
