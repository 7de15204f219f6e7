package raftstore

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/forward"
)

// batch is the calls of one entry on its way through the log.
type batch struct {
	work
	data   []byte // the entry
	future raft.ApplyFuture
	sent   time.Time // when Raft was given it
	alone  bool      // no other node has a vote

	mu      sync.Mutex
	waiting []waiting // the calls in their order, with what is needed to answer them; nil once all are answered
}

// beforeNext is how many calls of a sole voter's entry are answered before the next entry is made. Clients that are answered send
// their next requests meanwhile, so an entry holds more of them, and more share its sync. With more clients than that the disk
// would be idle for long.
const beforeNext = 64

// answer gives the calls their replies, unless they were answered with an error before. Behind the first of them it calls next.
// The caller flushes those of other nodes.
func (b *batch) answer(replies []resp.Value, next func()) {
	calls := b.claim()
	first := min(len(calls), beforeNext)
	b.reply(calls[:first], replies, 0)
	next()
	b.reply(calls[first:], replies, first)
}

// reply answers some of the calls, which begin with the one at index from.
func (b *batch) reply(calls []waiting, replies []resp.Value, from int) {
	for i, w := range calls {
		if i += from; w.call != nil {
			w.more = true
			w.finish(commands.Result{Reply: replies[i], Granted: b.given(i)})
		}
	}
}

// fail answers all calls with an error, unless they were answered before.
func (b *batch) fail(f forward.Fate, r commands.Result) { fail(b.claim(), f, r) }

// claim takes the calls, which the caller answers. Those without a call are answered already.
func (b *batch) claim() []waiting {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.waiting
	b.waiting = nil
	return taken
}

// overdue takes the calls that have waited for patience at the time now. What they have waited for their place in the
// entry counts, so that nobody waits twice; but the log has a quarter of it in any case. An abandoned call waits until the
// entry is decided.
func (b *batch) overdue(now time.Time, patience time.Duration) (over []waiting) {
	if now.Sub(b.sent) < patience/4 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, w := range b.waiting {
		if w.call != nil && now.Sub(w.since) >= patience && !isAbandoned(w.call) {
			over = append(over, w)
			b.waiting[i].call = nil
		}
	}
	return over
}

// answered tells whether somebody has answered all calls or is about to.
func (b *batch) answered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting == nil
}

// attend looks after calls and entries that wait for longer than usual. At the end it refuses what waits and sees the last
// entries decided.
func (s *Store) attend() {
	defer s.done.Done()
	defer s.pen.slow.Stop()
	clock := time.NewTicker(s.cfg.MaxWait / 16)
	defer clock.Stop()
	for {
		select {
		case <-s.closing:
			refuse(s.queue.close(), resp.ErrShuttingDown)
			s.pen.close()
			s.await(s.pen.unanswered(), clock.C)
			return
		case <-s.pen.slow.C:
			if slow := s.pen.unanswered(); len(slow) > 0 {
				s.await(slow, clock.C)
				s.pen.slow.Reset(slowEntry) // there may be others
			}
		case now := <-clock.C:
			s.giveUp(now)
		}
	}
}

// await waits until Raft and the state machine have done with some entries. The state machine answers the calls of those
// that are committed; the others are answered here. Meanwhile nobody is left without an answer.
func (s *Store) await(entries []*batch, clock <-chan time.Time) {
	for _, b := range entries {
		decided := make(chan error, 1)
		go func() { decided <- b.future.Error() }()
		for open := true; open; {
			select {
			case err := <-decided:
				s.finish(b, err)
				open = false
			case now := <-clock:
				s.giveUp(now)
			}
		}
	}
}

// giveUp refuses the calls that have waited too long for their turn at the log, and tells those that are in the log for
// too long that their outcome is unknown. Their entry keeps its place until Raft decides.
func (s *Store) giveUp(now time.Time) {
	for _, b := range s.pen.unanswered() {
		fail(b.overdue(now, s.cfg.MaxWait), forward.Lost, commands.Result{Reply: resp.ErrUnknownOutcome.Value(), Close: true})
	}
	refuse(s.queue.popOld(now.Add(-s.cfg.MaxWait)), resp.ErrTryAgainLate)
}

// finish answers the calls of an entry that Raft did not commit, and lets the next one in.
func (s *Store) finish(b *batch, err error) {
	if err == nil {
		return
	}
	s.pen.drop(b)
	b.fail(s.failure(err))
	s.propose()
}

// unwritten tells those who wait for the entry in the log that this node cannot write it, though others may have it. What the
// library appends next cannot be written either, so it steps down.
func (s *Store) unwritten(err error) {
	if b := s.pen.inLog(); b != nil {
		fate, r := s.failure(err)
		fail(b.overdue(time.Now(), 0), fate, r)
	}
	go s.raft.Barrier(0)
}

// failure is the result of a call whose entry Raft did not commit. Only an entry that was never appended is surely
// not executed.
func (s *Store) failure(err error) (forward.Fate, commands.Result) {
	if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		return forward.Moved, commands.Result{Reply: resp.ErrTryAgainLeader.Value()}
	}
	s.cfg.Logger.Error("log entry has an unknown outcome", "error", err)
	return forward.Lost, commands.Result{Reply: resp.UnknownOutcome(err).Value(), Close: true}
}
