package proxy

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy/wait"
)

// blocked is the command for which a session waits, and what it keeps waiting for it.
type blocked struct {
	waiter  atomic.Pointer[waiting] // nil when nothing is waited for
	slot    *slot                   // of the command; the reader's
	holding atomic.Bool             // the reader holds commands that came behind it

	mu     sync.Mutex
	nudged bool // the reader is to look at what it holds
}

// waiting is a command that waits. Any goroutine may call its methods.
type waiting interface {
	// Unblock ends the wait as if its time were over, or with an error. It is false when nothing waits any more.
	Unblock(withError bool) bool
	// Abandon ends it because the client goes: without an answer, drop is called in its place.
	Abandon(drop func())
}

var _ waiting = (*wait.Waiter)(nil)

func (b *blocked) wait(w waiting) { b.waiter.Store(&w) }

// block answers BLPOP and its relatives. The commands behind it must wait until it is answered, but the reader reads
// on, so that it notices when the client hangs up.
func block(s *session, r *commands.Request) {
	sl := s.requestSlot(r)
	sl.blocks = true
	w := s.srv.cfg.Wait.NewWaiter(r, func(res Result) {
		sl.answer(res)
		s.resume()
	})
	s.blocked.slot = sl
	s.blocked.wait(w)
	s.out.addLast(sl, func() { s.srv.cfg.Wait.Enter(w) })
}

// isBlocked tells whether a command waits. Any goroutine may call it.
func (s *session) isBlocked() bool { return s.blocked.waiter.Load() != nil }

// unblock ends the wait of a blocked command as if its time were over, or with an error, for CLIENT UNBLOCK. It is
// false when nothing waits. Any goroutine may call it.
func (s *session) unblock(withError bool) bool {
	w := s.blocked.waiter.Load()
	return w != nil && (*w).Unblock(withError)
}

// resume has the reader go on behind a blocked command that was answered.
func (s *session) resume() {
	b := &s.blocked
	b.waiter.Store(nil)
	if !b.holding.Load() {
		return // it waits for what the client sends next
	}
	b.mu.Lock()
	b.nudged = true
	_ = s.conn.SetReadDeadline(longAgo)
	b.mu.Unlock()
}

// longAgo as a deadline ends a read at once.
var longAgo = time.Unix(1, 0)

// readOn reads while a command waits, without looking at what comes. There is a bound on that.
func (s *session) readOn() error {
	if s.in.unread() > s.srv.cfg.MaxBulk {
		s.srv.log.Warn("cut off a client that sends too much behind a blocked command", "client", s.raw.RemoteAddr(),
			"limit", s.srv.cfg.MaxBulk)
		return net.ErrClosed
	}
	s.blocked.holding.Store(s.in.unread() > 0)
	if !s.isBlocked() {
		return nil // resume may not have seen that something is held
	}
	if s.charge() != nil {
		return net.ErrClosed
	}
	return s.read()
}

// awoken tells whether a read ended because of a nudge, and readies the connection for the next.
func (s *session) awoken() bool {
	b := &s.blocked
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.nudged {
		return false
	}
	b.nudged = false
	_ = s.conn.SetReadDeadline(time.Time{})
	if s.srv.draining.Load() {
		s.drain()
	}
	return true
}

// renudge repeats a nudge that a new deadline has undone.
func (s *session) renudge() {
	b := &s.blocked
	b.mu.Lock()
	if b.nudged {
		_ = s.conn.SetReadDeadline(longAgo)
	}
	b.mu.Unlock()
}

// stopWaiting gives up a blocked command whose client is gone, or must go: its connection ends without an answer, as
// in Redis. An element that is on its way is still delivered.
func (s *session) stopWaiting() {
	if w := s.blocked.waiter.Load(); w != nil {
		(*w).Abandon(func() { s.out.drop(s.blocked.slot) })
	}
}
