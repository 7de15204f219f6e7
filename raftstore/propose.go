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

// batch is the calls of one entry, and the library's promise of its outcome.
type batch struct {
	calls  []waiting
	future raft.ApplyFuture
}

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
		s.flying <- batch{calls, s.raft.Apply(s.encode(calls, lead), 0)}
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

func (s *Store) encode(calls []waiting, lead *leadership) []byte {
	size := 32
	group := make([]*commands.Call, len(calls))
	for i, w := range calls {
		group[i] = w.call
		size += w.size
	}
	return entry.Append(make([]byte, 0, size), lead.now(), s.cfg.Wall(), group)
}

// complete answers the calls of the entries in flight, in order.
func (s *Store) complete() {
	defer s.done.Done()
	for b := range s.flying {
		s.finish(b)
		<-s.slots
	}
}

// finish waits for the outcome of an entry. One that stays open longer than MaxWait is unknown: the clients are
// told so, and the entry keeps its place until Raft decides.
func (s *Store) finish(b batch) {
	decided := make(chan error, 1)
	go func() { decided <- b.future.Error() }()
	timer := time.NewTimer(s.cfg.MaxWait)
	defer timer.Stop()
	select {
	case err := <-decided:
		s.answer(b, err)
	case <-timer.C:
		fail(b.calls, commands.Result{Reply: resp.ErrUnknownOutcome.Value(), Close: true})
		<-decided
	}
}

func (s *Store) answer(b batch, err error) {
	if err != nil {
		fail(b.calls, s.failure(err))
		return
	}
	replies, _ := b.future.Response().([]resp.Value)
	for i, w := range b.calls {
		w.finish(commands.Result{Reply: replies[i]})
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
