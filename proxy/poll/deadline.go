package poll

import (
	"os"
	"time"
)

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.set(&c.reading, t) {
		c.Wake()
	}
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if c.set(&c.writing, t) {
		c.wakeWriter()
	}
	return nil
}

// set sets a deadline. It tells whether somebody may wait for longer, and must look at it.
func (c *Conn) set(s *side, t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	sooner := !t.IsZero() && (s.deadline.IsZero() || t.Before(s.deadline))
	s.deadline = t
	return sooner
}

// late is an error when the deadline has passed.
func (c *Conn) late(s *side) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.deadline.IsZero() && !time.Now().Before(s.deadline) {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// await waits for a token. When the deadline passes it calls wake, which has one come.
func (c *Conn) await(s *side, wake func()) {
	for {
		c.mu.Lock()
		deadline := s.deadline
		c.mu.Unlock()
		if deadline.IsZero() {
			<-s.wake
			return
		}
		timer := time.NewTimer(time.Until(deadline))
		select {
		case <-s.wake:
			timer.Stop()
			return
		case <-timer.C:
		}
		if c.late(s) != nil {
			wake()
		}
	}
}
