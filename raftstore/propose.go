package raftstore

import (
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
)

// inFlight is how many entries may be on their way through the log at once. With one, the disk idles while the
// state machine runs; more than two only make entries smaller.
const inFlight = 2

// propose is the only place that writes to the log. It gathers all calls that wait into one entry (group commit),
// stamps it and hands it to Raft. Since one goroutine stamps and appends, stamps grow with the log.
func (s *Store) propose() {
	defer s.done.Done()
	defer close(s.flying)
	for s.gather() {
		calls := s.queue.pop(s.cfg.MaxBatch)
		if len(calls) == 0 {
			<-s.slots
			continue
		}
		lead := s.lead.Load()
		if lead == nil {
			<-s.slots
			refuse(calls, s.noLeader())
			continue
		}
		b := s.encode(calls, lead)
		s.limit(b)
		s.flight.add(b)
		b.future = s.raft.Apply(b.data, 0)
		s.flying <- b
	}
	refuse(s.queue.close(), resp.ErrShuttingDown)
}

// gather waits until there are calls and a free slot for an entry. While the log is stuck it refuses the calls that
// have waited too long. It returns false when the store is closing.
func (s *Store) gather() bool {
	select {
	case <-s.closing:
		return false
	case <-s.queue.ready:
	}
	for {
		select {
		case <-s.closing:
			return false
		case s.slots <- struct{}{}:
			return true
		case <-time.After(s.cfg.MaxWait / 4):
			refuse(s.queue.popOld(time.Now().Add(-s.cfg.MaxWait)), resp.ErrTryAgainLate)
		}
	}
}

// encode makes the entry of calls.
func (s *Store) encode(calls []waiting, lead *leadership) *batch {
	b := &batch{waiting: calls, work: work{own: true, calls: make([]*commands.Call, len(calls))}}
	b.Header = entry.Header{Now: lead.now(), Wall: s.cfg.Wall(), MaxMemory: s.cfg.MaxMemory}
	size := 32
	for i, w := range calls {
		b.calls[i] = w.call
		size += w.size
	}
	b.data = entry.Append(make([]byte, 0, size), b.Header, b.calls)
	return b
}

// complete sees each entry in flight to its end. The state machine answers the calls of those that are committed;
// the others are answered here.
func (s *Store) complete() {
	defer s.done.Done()
	for b := range s.flying {
		s.finish(b)
		<-s.slots
	}
}

// limit sees to it that the calls of an entry are answered in time. When Raft does not decide by then the outcome is
// unknown, and the clients are told so; the entry keeps its place until Raft decides. The time that the oldest call
// has waited counts, so that nobody waits for MaxWait twice.
func (s *Store) limit(b *batch) {
	oldest := b.waiting[0].since
	for _, w := range b.waiting[1:] {
		if w.since.Before(oldest) {
			oldest = w.since
		}
	}
	left := s.cfg.MaxWait - time.Since(oldest)
	b.late = time.AfterFunc(max(left, s.cfg.MaxWait/4), func() {
		b.fail(commands.Result{Reply: resp.ErrUnknownOutcome.Value(), Close: true})
	})
}

// finish waits until Raft has decided an entry.
func (s *Store) finish(b *batch) {
	defer b.late.Stop()
	if err := b.future.Error(); err != nil {
		s.flight.drop(b)
		b.fail(s.failure(err))
	}
}

// failure is the result of a call whose entry Raft did not commit. Only an entry that was never appended is surely
// not executed.
func (s *Store) failure(err error) commands.Result {
	if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		return commands.Result{Reply: resp.ErrTryAgainLeader.Value()}
	}
	s.cfg.Logger.Error("log entry has an unknown outcome", "error", err)
	return commands.Result{Reply: resp.UnknownOutcome(err).Value(), Close: true}
}

func refuse(calls []waiting, why resp.Failure) {
	fail(calls, commands.Result{Reply: why.Value()})
}

func fail(calls []waiting, r commands.Result) {
	for _, w := range calls {
		w.finish(r)
	}
}
