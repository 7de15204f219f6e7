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
	ctx := context.Background()
	s.cmds, s.calls = s.cmds[:0], s.calls[:0]
	target := runner.Target{Canary: canary, Now: now, Clock: s.node.clock.atLeast(now).Milliseconds()}
	for i := range s.batch {
		o := &s.batch[i]
		if program := s.node.codec.program(o.Op); program != nil && s.conn.learn(program.SHA) {
			s.cmds = append(s.cmds, redis.NewCmd(ctx, "script", "load", program.Text))
		}
		target.Deadline = 0
		if o.Deadline != 0 {
			target.Deadline = target.Clock + (o.Deadline - now).Milliseconds()
		}
		call := redis.NewCmd(ctx, s.node.codec.args(o.Op, target)...)
		s.cmds, s.calls = append(s.cmds, call), append(s.calls, call)
	}
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
func (s *stream) read(op runner.Op, call *redis.Cmd) runner.Result {
	reply, err := call.Result()
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
