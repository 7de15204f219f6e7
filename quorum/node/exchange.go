package node

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
)

// exchange writes the batch, reads its answers and delivers them.
func (s *stream) exchange() {
	now := s.node.o.Clock.Now()
	s.weed(now)
	if len(s.batch) == 0 {
		return
	}
	canary := s.node.canary(s.former.runID)
	s.compose(canary, now)
	written := s.conn.wire.written.Load()
	s.owing.Store(int64(max(now, 1)))
	err := s.conn.do(s.cmds...)
	received := s.node.o.Clock.Now()
	s.owing.Store(0)
	if err != nil {
		s.settle(err, s.conn.wire.written.Load() > written)
		return
	}
	s.attempts = 0
	s.deliver(now, received, canary)
}

// weed answers what need not be sent: what is withdrawn, and what the node would refuse as too late.
func (s *stream) weed(now time.Duration) {
	kept := s.batch[:0]
	for _, o := range s.batch {
		switch {
		case o.Withdrawn != nil && o.Withdrawn():
			o.Done(quorum.Outcome{Reason: ReasonWithdrawn})
		case o.Deadline != 0 && o.Deadline <= now:
			o.Done(quorum.Outcome{Reason: ReasonLate})
		default:
			kept = append(kept, o)
		}
	}
	clear(s.batch[len(kept):])
	s.batch = kept
}

// compose puts the batch into commands, each script's text in front of its first use on this connection.
func (s *stream) compose(canary string, now time.Duration) {
	s.cmds, s.calls = s.cmds[:0], s.calls[:0]
	target := runner.Target{Canary: canary, Now: now, Clock: s.node.clock.atLeast(now).Milliseconds()}
	for i := 0; i < len(s.batch); {
		if n := s.joined(i); n > 0 {
			s.composeLocks(s.batch[i:i+n], target)
			i += n
			continue
		}
		o := &s.batch[i]
		s.teach(s.node.codec.program(o.Op))
		target.Deadline = deadline(o.Deadline, target)
		call := s.call(s.node.codec.args(o.Op, target))
		s.calls = append(s.calls, answering{cmd: call})
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
	line := runner.BeginLocks(make([]any, 0, 5+7*len(ops)))
	earliest := ops[0].Deadline
	from := len(s.calls)
	for i := range ops {
		var asked runner.Asked
		line, asked = runner.AddLock(line, ops[i].Op, &s.memory)
		s.calls = append(s.calls, answering{isLock: true, at: i, asked: asked})
		earliest = min(earliest, ops[i].Deadline)
	}
	target.Deadline = deadline(earliest, target)
	call := s.call(runner.EndLocks(line, target))
	for i := range ops {
		s.calls[from+i].cmd = call
	}
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
		s.cmds = append(s.cmds, redis.NewCmd(context.Background(), "script", "load", program.Text))
	}
}

// call adds a command line.
func (s *stream) call(line []any) *redis.Cmd {
	call := redis.NewCmd(context.Background(), line...)
	s.cmds = append(s.cmds, call)
	return call
}

// answering is the command that answers an operation. If it answers several, which are locks, the operation is the one
// at its place.
type answering struct {
	cmd    *redis.Cmd
	isLock bool
	at     int
	asked  runner.Asked
}

// settle answers the batch after its connection failed.
func (s *stream) settle(err error, written bool) {
	reason := reasonOfError(err)
	if reason == ReasonTimeout {
		s.node.timeout.Store(int64(s.node.o.Clock.Now()))
	}
	s.broken(reason)
	for i := range s.batch {
		s.batch[i].Done(quorum.Outcome{Reason: reason, Ran: written})
	}
}

// deliver answers the batch with what the node replied. What happened to the node until then, a step of its clock
// included, is held against all these answers.
func (s *stream) deliver(sent, received time.Duration, canary string) {
	for i := range s.batch {
		r := s.read(s.batch[i].Op, &s.calls[i])
		if r.Time != 0 {
			s.node.observe(sent, received, r.Time)
		}
		if r.Void {
			s.node.forgot(s.former.runID, canary)
		}
		if r.Answer != nil {
			r.Answer.Quarantined = canary == "" || s.node.canary(s.former.runID) != canary
		}
		s.batch[i].Done(outcome(r))
	}
}

// read is the result of one operation.
func (s *stream) read(op runner.Op, call *answering) runner.Result {
	reply, err := call.cmd.Result()
	if err == nil || errors.Is(err, redis.Nil) {
		if call.isLock {
			return runner.DecodeLock(op, reply, call.at, call.asked, &s.memory)
		}
		return s.node.codec.decode(op, reply)
	}
	reason, refused := reasonOfReply(err.Error())
	if reason == ReasonFlushed {
		clear(s.conn.loaded)
	}
	if refused {
		return runner.Result{Reason: reason}
	}
	s.node.log.Error("a node's answer makes no sense", "db", s.db, "answer", err.Error())
	return s.node.codec.decode(op, err)
}
