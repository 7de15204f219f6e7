package raftstore

import (
	"math"
	"time"

	"github.com/redfence/redfence/commands"
)

// expire proposes an empty entry when keys are due and no traffic brings one. The entry's stamp removes them.
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
		timer.Reset(s.untilDue())
	}
}

// untilDue is how long to wait for the next key to be due. It sends an empty entry when that is now.
func (s *Store) untilDue() time.Duration {
	deadline, any := s.machine.nextDeadline()
	lead := s.lead.Load()
	if !any || lead == nil {
		s.armed.Store(math.MaxInt64)
		return time.Hour
	}
	s.armed.Store(deadline)
	if left := deadline - lead.now(); left > 0 {
		return time.Duration(left) * time.Millisecond
	}
	s.proposeEmpty()
	return time.Second // applied wakes us earlier
}

// proposeEmpty puts an entry without requests into the queue, unless one is there already.
func (s *Store) proposeEmpty() {
	if !s.ticking.CompareAndSwap(false, true) {
		return
	}
	tick := &commands.Call{Block: true, Done: func(commands.Result) {
		s.ticking.Store(false)
		s.wakeExpirer()
	}}
	if err := s.queue.push(waiting{call: tick, since: time.Now()}); err != nil {
		s.ticking.Store(false)
	}
}

// wakeExpirer makes the expirer look at the queue of TTLs again.
func (s *Store) wakeExpirer() {
	select {
	case s.rearm <- struct{}{}:
	default:
	}
}
