package raftstore

import (
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/forward"
	"github.com/redfence/redfence/raftstore/keyspace"
)

// Stream carries the calls of one session. Submit is called by one goroutine at a time.
type Stream struct {
	store   *Store
	pending atomic.Int64 // calls that wait for the log, or are held back
	held    *attempt     // the last call, if it was held back
	lane    lane         // its place in the queue

	number uint64       // of the session among those of this process, in a cluster
	unsent atomic.Int64 // calls that wait for a leader
	open   atomic.Int64 // calls of the origin that are not answered
}

// Open starts the stream of a session.
func (s *Store) Open() *Stream {
	st := &Stream{store: s}
	if s.origin != nil {
		st.number = s.origin.sessions.Add(1)
	}
	return st
}

// Close ends the stream, whose client is gone. Calls that still wait for the log are dropped, so that clients which
// come, ask for much and leave do no work that nobody waits for; what is in an entry takes effect.
func (st *Stream) Close() {
	refuse(st.store.queue.abandon(&st.lane), resp.ErrAbandoned)
	if st.store.origin != nil {
		st.store.origin.hangUp(st)
	}
}

// Submit runs a call, or puts it into the queue for the log. A call that may change nothing is first tried without
// the log; but one behind an unanswered call of the same session goes through the log as well, so that it sees what
// that one did.
func (st *Stream) Submit(c *commands.Call) {
	s := st.store
	lead := s.lead.Load()
	if s.origin != nil && (lead == nil || !lead.alone.Load() || st.open.Load() > 0) {
		s.origin.submit(st, c)
		return
	}
	if lead == nil {
		st.done(c, s.noLeader().Value())
		return
	}
	if st.held != nil {
		s.handOver.release(st.held, s.enqueue)
		st.held = nil
	}
	w := waiting{call: c, stream: st, since: time.Now()}
	if lead.alone.Load() && st.pending.Load() == 0 {
		if v, ok := s.tryWithout(c, lead); ok && lead.alone.Load() { // so nobody else could lead meanwhile
			s.stats.Tried.Add(1)
			st.answer(w, v)
			return
		}
	}
	st.pending.Add(1)
	if s.enqueue(w) {
		s.followUp(c, w.since)
	}
	if !c.More {
		s.propose()
	}
}

// Flush sends what was submitted with More.
func (s *Store) Flush() {
	s.origin.flush()
	s.propose()
}

// tryWithout tries to answer a call without the log. It can, if the call changes nothing, or is refused because the
// state is over its limit.
func (s *Store) tryWithout(c *commands.Call, lead *leadership) (resp.Value, bool) {
	if mayChangeNothing(c) {
		if v, ok := s.machine.try(c, s.stamp(lead), s.cfg.Sink); ok {
			return v, true
		}
	}
	if s.cfg.MaxMemory == 0 || s.machine.used.Load() <= s.cfg.MaxMemory {
		return resp.Value{}, false
	}
	return s.machine.refuses(c, s.stamp(lead))
}

// stamp is the time by which a call is tried.
func (s *Store) stamp(lead *leadership) keyspace.Stamp {
	return keyspace.Stamp{Clock: lead.now(), Wall: s.cfg.Wall(), MaxMemory: s.cfg.MaxMemory, FenceMemory: s.cfg.fenceMemory()}
}

// answer gives a call the reply that it got without the log. A refused attempt on a lock that changes hands quickly
// is held back for a moment.
func (st *Stream) answer(w waiting, v resp.Value) {
	switch {
	case !st.heldBack(w, v):
		st.done(w.call, v)
	case !w.call.More:
		st.store.propose()
	}
}

// heldBack tells whether an attempt is held back, or is in the queue for the log. Then it counts as pending.
func (st *Stream) heldBack(w waiting, v resp.Value) bool {
	if !v.IsNull() || !wantsAbsent(w.call) {
		return false
	}
	st.pending.Add(1)
	held, queued := st.store.handOver.hold(w, v, st.store.enqueue)
	st.held = held
	if held == nil && !queued {
		st.pending.Add(-1)
	}
	return held != nil || queued
}

// done answers a call that has not been counted as pending.
func (st *Stream) done(c *commands.Call, v resp.Value) {
	st.store.machine.locks.answered(c, v)
	c.Done(commands.Result{Reply: v})
}

// enqueue puts a call into the queue for the log, or refuses it. Its stream has counted it.
func (s *Store) enqueue(w waiting) bool {
	err := s.queue.push(w)
	if err == nil {
		return true
	}
	refused := commands.Result{Reply: resp.ReplyFor(err)}
	if w.ticket != nil {
		go w.end(forward.Refused, refused) // not here: the caller may hold origin.turn
		return false
	}
	w.end(forward.Refused, refused)
	return false
}

// mayChangeNothing tells whether a call is worth a try without the log.
func mayChangeNothing(c *commands.Call) bool {
	for _, r := range c.Requests {
		if r.Spec.Raft == commands.Change && !r.Spec.Flags.Has(commands.Conditional) {
			return false
		}
	}
	return true
}
