package node

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
)

// begin writes the batch, as far as it need be sent. It tells whether anything was. When it fails, run hears of that.
func (s *stream) begin() bool {
	now := s.node.o.Clock.Now()
	s.weed(now)
	if len(s.batch) == 0 {
		return false
	}
	s.compose(now)
	s.owing.Store(int64(max(now, 1)))
	s.arm(now + s.node.o.ReadTimeout)
	n, err := s.conn.tryWrite(s.line)
	s.ran = n > 0 || err == nil
	switch {
	case err != nil:
		s.conn.cut()
	case n < len(s.line):
		go s.conn.write(slices.Clone(s.line[n:]))
	}
	return true
}

// arm sets a read deadline, unless there is one: then run finds out what is owed when that is over.
func (s *stream) arm(at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.armed {
		s.armed = true
		s.conn.readUntil(at - s.node.o.Clock.Now())
	}
}

// receive waits for the answers to what is on its way and delivers them. While nothing is, it waits for the server to
// hang up.
func (s *stream) receive() {
	for {
		_, err := s.conn.in.Peek(1)
		owed, late := s.claim(err)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && !late:
			continue
		case err == nil && !owed:
			s.broken(reasonReply)
		case err == nil:
			s.answered()
		case owed:
			s.settle(err)
		default:
			s.broken(reasonOfError(err))
		}
		return
	}
}

// claim makes the stream run's, after what is being written. It tells whether answers are owed, and for too long. When the
// read deadline passed although they are not, the next one is set and the stream left as it is.
func (s *stream) claim(err error) (owed, late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.writing {
		s.written.Wait()
	}
	owed = s.busy
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		s.busy = true
		return owed, false
	}
	left := s.sent + s.node.o.ReadTimeout - s.node.o.Clock.Now()
	if owed && left <= 0 {
		return true, true
	}
	s.armed = owed
	if !owed {
		left = 0
	}
	s.conn.readUntil(left)
	return owed, false
}

// answered reads the answers and delivers them.
func (s *stream) answered() {
	replies := make([]any, s.lines)
	for i := range replies {
		var err error
		if replies[i], err = readReply(s.conn.in); err != nil {
			s.settle(err)
			return
		}
	}
	received := s.node.o.Clock.Now()
	s.owing.Store(0)
	s.attempts = 0
	s.deliver(received, replies)
}

// weed answers what need not be sent: what is withdrawn, and what the node would refuse as too late.
func (s *stream) weed(now time.Duration) {
	kept := s.batch[:0]
	for _, o := range s.batch {
		switch {
		case o.Withdrawn != nil && o.Withdrawn():
			o.Done(quorum.Outcome{Reason: reasonWithdrawn})
		case o.Deadline != 0 && o.Deadline <= now:
			o.Done(quorum.Outcome{Reason: reasonLate})
		default:
			kept = append(kept, o)
		}
	}
	clear(s.batch[len(kept):])
	s.batch = kept
}

// compose puts the batch into command lines, each script's text in front of its first use on this connection.
func (s *stream) compose(now time.Duration) {
	s.sent, s.canary = now, s.node.canary(s.former.runID)
	s.line, s.lines, s.calls = s.line[:0], 0, s.calls[:0]
	target := runner.Target{Canary: s.canary, Now: now, Clock: s.node.clock.atLeast(now).Milliseconds()}
	for i := 0; i < len(s.batch); {
		if n := s.joined(i); n > 0 {
			s.composeLocks(s.batch[i:i+n], target)
			i += n
			continue
		}
		o := &s.batch[i]
		s.teach(s.node.codec.program(o.Op))
		target.Deadline = deadline(o.Deadline, target)
		s.calls = append(s.calls, answering{reply: s.lines})
		s.line = appendLine(s.line, s.node.codec.args(o.Op, target)...)
		s.lines++
		i++
	}
}

// joined is how many operations from i on may go out in one call.
func (s *stream) joined(i int) (n int) {
	if s.node.codec.joins == nil {
		return 0
	}
	first := s.batch[i].Deadline
	for n < maxJoined && i+n < len(s.batch) && s.node.codec.joins(s.batch[i+n].Op) && (s.batch[i+n].Deadline-first).Abs() < nearDeadline {
		n++
	}
	return n
}

const (
	maxJoined    = 64                   // bounds how long one call keeps the node from others
	nearDeadline = 5 * time.Millisecond // a call has one deadline; those of its operations are not farther apart
)

// composeLocks puts operations into one call.
func (s *stream) composeLocks(ops []quorum.Sending, target runner.Target) {
	s.teach(runner.Locks())
	earliest := ops[0].Deadline
	words := 0
	for i := range ops {
		earliest = min(earliest, ops[i].Deadline)
		words += runner.LockWords(ops[i].Op)
	}
	target.Deadline = deadline(earliest, target)
	s.line = runner.BeginLocks(s.line, words)
	for i := range ops {
		var asked runner.Asked
		s.line, asked = runner.AddLock(s.line, ops[i].Op, &s.memory)
		s.calls = append(s.calls, answering{reply: s.lines, isLock: true, at: i, asked: asked})
	}
	s.line = runner.EndLocks(s.line, target)
	s.lines++
}

// deadline is one in ms of the node's clock, 0 when there is none.
func deadline(d time.Duration, at runner.Target) int64 {
	if d == 0 {
		return 0
	}
	return at.Clock + (d - at.Now).Milliseconds()
}

// teach loads a script in front of its first use on this connection.
func (s *stream) teach(program *runner.Program) {
	if program != nil && s.conn.learn(program.SHA) {
		s.line = appendLine(s.line, "script", "load", program.Text)
		s.lines++
	}
}

// answering tells which reply answers an operation. If that answers several, which are locks, the operation is the one at
// its place.
type answering struct {
	reply  int
	isLock bool
	at     int
	asked  runner.Asked
}

// settle answers the batch after its connection failed.
func (s *stream) settle(err error) {
	s.owing.Store(0)
	reason := reasonOfError(err)
	if reason == reasonTimeout {
		s.node.timeout.Store(int64(s.node.o.Clock.Now()))
	}
	s.broken(reason)
	for i := range s.batch {
		s.batch[i].Done(quorum.Outcome{Reason: reason, Ran: s.ran})
	}
}

// deliver answers the batch with what the node replied. What happened to the node until then, a step of its clock
// included, is held against all these answers.
func (s *stream) deliver(received time.Duration, replies []any) {
	for i := range s.batch {
		call := &s.calls[i]
		r := s.read(s.batch[i].Op, call, replies[call.reply])
		if r.Time != 0 {
			s.node.observe(s.sent, received, r.Time)
		}
		if r.Void {
			s.node.forgot(s.former.runID, s.canary)
		}
		if r.Answer != nil {
			r.Answer.Quarantined = s.canary == "" || s.node.canary(s.former.runID) != s.canary
		}
		s.batch[i].Done(outcome(r))
	}
}

// read is the result of one operation.
func (s *stream) read(op runner.Op, call *answering, reply any) runner.Result {
	failure, failed := reply.(replyError)
	switch {
	case !failed && call.isLock:
		return runner.DecodeLock(op, reply, call.at, call.asked, &s.memory)
	case !failed:
		return s.node.codec.decode(op, reply)
	}
	reason, refused := reasonOfReply(string(failure))
	if reason == reasonFlushed {
		clear(s.conn.loaded)
	}
	if refused {
		return runner.Result{Reason: reason}
	}
	s.node.log.Error("a node's answer makes no sense", "db", s.db, "answer", string(failure))
	return s.node.codec.decode(op, failure)
}
