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
		if n := s.joined(i); n > 1 {
			s.composeMany(s.batch[i:i+n], target)
			i += n
			continue
		}
		o := &s.batch[i]
		s.teach(s.node.codec.program(o.Op))
		target.Deadline = deadline(o, target)
		s.call(1, s.node.codec.args(o.Op, target))
		i++
	}
}

// joined is how many operations from i on may go out in one call.
func (s *stream) joined(i int) (n int) {
	if s.node.codec.joins == nil {
		return 0
	}
	for n < maxJoined && i+n < len(s.batch) && s.node.codec.joins(s.batch[i+n].Op) {
		n++
	}
	return n
}

// maxJoined bounds how long one call keeps the node from others.
const maxJoined = 64

// composeMany puts operations into one call.
func (s *stream) composeMany(ops []quorum.Sending, target runner.Target) {
	s.teach(runner.Many())
	line := runner.BeginMany(make([]any, 0, 4+8*len(ops)))
	for i := range ops {
		target.Deadline = deadline(&ops[i], target)
		line = runner.AddMany(line, ops[i].Op, target)
	}
	s.call(len(ops), runner.EndMany(line, target))
}

// deadline is that of an operation in ms of the node's clock, 0 when it has none.
func deadline(o *quorum.Sending, at runner.Target) int64 {
	if o.Deadline == 0 {
		return 0
	}
	return at.Clock + (o.Deadline - at.Now).Milliseconds()
}

// teach loads a script in front of its first use on this connection.
func (s *stream) teach(program *runner.Program) {
	if program != nil && s.conn.learn(program.SHA) {
		s.cmds = append(s.cmds, redis.NewCmd(context.Background(), "script", "load", program.Text))
	}
}

// call adds the command line of the next n operations.
func (s *stream) call(n int, line []any) {
	call := redis.NewCmd(context.Background(), line...)
	s.cmds = append(s.cmds, call)
	for i := range n {
		s.calls = append(s.calls, answering{call, i, n})
	}
}

// answering is the command that answers an operation, and which of its operations that is.
type answering struct {
	*redis.Cmd
	at, of int
}

// result is the part of the answer that belongs to the operation.
func (a answering) result() (any, error) {
	reply, err := a.Result()
	if parts, ok := reply.([]any); ok && a.of > 1 && a.at < len(parts) {
		if failure, ok := parts[a.at].(error); ok {
			return nil, failure
		}
		return parts[a.at], nil
	}
	return reply, err
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
		r := s.read(s.batch[i].Op, s.calls[i])
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
func (s *stream) read(op runner.Op, call answering) runner.Result {
	reply, err := call.result()
	if err == nil || errors.Is(err, redis.Nil) {
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
