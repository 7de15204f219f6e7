package proxy

import (
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands/resp"
)

// DefaultMaxInput is the number of bytes that all connections together may have sent of requests that are not whole
// yet: two arguments of the largest size.
const DefaultMaxInput = 2 * DefaultMaxBulk

// DefaultInputTimeout is how long a client may stop in the middle of a large request, or of a large MULTI, before it is
// cut off: else a few that stall would keep the room of all.
const DefaultInputTimeout = time.Minute

// freeInput is the size up to which a buffer does not count, so that small requests are always served.
const freeInput = 16 << 10

// inputBudget bounds the memory of requests that are not whole yet, over all connections: each may be large, but not
// all at once.
type inputBudget struct {
	limit int64
	used  atomic.Int64
}

// take asks for n bytes more. It takes nothing when they are not there.
func (b *inputBudget) take(n int) error {
	if used := b.used.Add(int64(n)); used > b.limit {
		b.used.Add(-int64(n))
		return resp.MaxInput(int(b.limit))
	}
	return nil
}

func (b *inputBudget) give(n int) { b.used.Add(-int64(n)) }

// account is what one connection has taken from a budget.
type account struct {
	budget *inputBudget
	taken  int
}

// owe sets what the connection has to the size of its buffers.
func (a *account) owe(size int) error {
	need := max(0, size-freeInput)
	switch {
	case need > a.taken:
		if err := a.budget.take(need - a.taken); err != nil {
			return err
		}
	case need < a.taken:
		a.budget.give(a.taken - need)
	}
	a.taken = need
	return nil
}

// charge makes room for what the client sends next, within the budget for requests that are not whole. That is also what
// MULTI has queued.
func (s *session) charge() error {
	s.in.room()
	size := s.in.memory()
	if s.tx != nil {
		size += s.tx.bytes
	}
	err := s.input.owe(size)
	if err != nil {
		s.srv.log.Warn("cut off a client: unfinished requests of all clients are over the limit", "client", s.raw.RemoteAddr(),
			"limit", s.srv.cfg.MaxInput, "bytes", size)
	}
	return err
}

// tellStalled logs that the client goes because it stopped in the middle of a large request, if it did.
func (s *session) tellStalled() {
	if s.input.taken > 0 {
		s.srv.log.Warn("cut off a client that stopped inside a large request", "client", s.raw.RemoteAddr(),
			"bytes", s.input.taken, "after", s.srv.cfg.InputTimeout)
	}
}

// refund gives back what the session had of the budget. It reads no more.
func (s *session) refund() {
	s.in.drop()
	s.input.budget.give(s.input.taken)
	s.input.taken = 0
}
