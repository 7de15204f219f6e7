package raftstore

import (
	"math"
	"time"

	"github.com/redfence/redfence/commands"
)

// expire proposes an empty entry when keys are due, or when the store time of the log falls behind, and no traffic
// brings an entry. Its stamp removes the keys that are due.
//
// Config.tick is how far the store time of the log may fall behind while keys have a TTL. After a full stop the store
// time goes on from the last entry, so it bounds by how much a lock outlives its TTL then, beside the stop itself.
func (s *Store) expire() {
	defer s.done.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.closing:
			return
		case <-s.rearm:
		case <-timer.C:
		}
		timer.Reset(s.untilTick())
	}
}

// untilTick is how long to wait until an empty entry may be needed. It sends one when that is now.
func (s *Store) untilTick() time.Duration {
	lead := s.lead.Load()
	s.armed.Store(math.MaxInt64) // an entry that comes from here on wakes us
	stamped, deadline, found := s.machine.times()
	if !found || lead == nil {
		return time.Hour
	}
	s.armed.Store(deadline)
	next := min(deadline, stamped+s.cfg.tick.Milliseconds())
	if left := next - lead.now(); left > 0 {
		return time.Duration(left) * time.Millisecond
	}
	s.proposeEmpty()
	return s.cfg.tick // the answer wakes us earlier
}

// proposeEmpty puts an entry without requests into the queue, unless one is there already.
func (s *Store) proposeEmpty() {
	if !s.ticking.CompareAndSwap(false, true) {
		return
	}
	call := &commands.Call{Block: true, Done: func(commands.Result) {
		s.ticking.Store(false)
		s.wakeExpirer()
	}}
	if err := s.queue.push(waiting{call: call, since: time.Now()}); err != nil {
		s.ticking.Store(false)
		return
	}
	s.propose()
}

// wakeExpirer makes the expirer look at the TTLs again.
func (s *Store) wakeExpirer() {
	select {
	case s.rearm <- struct{}{}:
	default:
	}
}
