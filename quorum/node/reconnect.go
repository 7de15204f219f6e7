package node

import (
	"time"

	"github.com/redfence/redfence/quorum/tally"
)

// connected returns when there is a connection, and tells whether there is one: false means that the stream is closed.
// Meanwhile all operations are answered with the reason why there is none.
func (s *stream) connected() bool {
	for {
		if s.isClosed() {
			return false
		}
		if s.conn != nil {
			return true
		}
		if s.attempts > 0 && !s.pause(s.backoff(s.attempts-1)) {
			return false
		}
		s.attempts++
		if err := s.connect(); err != nil {
			s.broken(reasonOfError(err))
			s.refuse(s.down)
		}
	}
}

// connect opens a connection, ends the former one on the server and only then lets operations through.
func (s *stream) connect() error {
	c, err := s.node.open(s.db, s.node.o.ReadTimeout)
	if err != nil {
		return err
	}
	who, err := s.node.greet(c)
	if err == nil && s.former.client != 0 && s.former.runID == who.runID {
		err = c.kill(s.former.client)
	}
	if err != nil {
		c.close()
		return err
	}
	s.node.met(who.runID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn, s.former, s.down, s.busy, s.armed = c, who, "", true, false
	c.own()
	if s.closed {
		c.cut()
	}
	return nil
}

// broken drops the connection, if there is one. Until the next one stands, operations are answered with reason.
func (s *stream) broken(reason tally.Reason) {
	s.hangUp()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != reason {
		s.node.log.Info("no connection", "db", s.db, "reason", string(reason))
	}
	if s.attempts > 0 {
		s.down = reason
	}
}

func (s *stream) hangUp() {
	s.mu.Lock()
	c := s.conn
	s.conn = nil
	s.mu.Unlock()
	if c != nil {
		c.close()
	}
}

func (s *stream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// retry ends a pause between two attempts to connect.
func (s *stream) retry() {
	select {
	case s.well <- struct{}{}:
	default:
	}
}

// pause waits before the next attempt to connect, unless the node has just been found well or the stream is closed.
func (s *stream) pause(d time.Duration) (goOn bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.well:
		return true
	case <-s.node.stop:
		return false
	}
}
