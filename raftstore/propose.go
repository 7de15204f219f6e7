package raftstore

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
	"github.com/redfence/redfence/raftstore/forward"
)

// slowEntry is how long an entry may be in the log before somebody waits for what becomes of it. Most are synced in a
// fraction of that, and to wait for each would cost a switch of goroutines.
const slowEntry = 10 * time.Millisecond

// pen is what writes to the log: one entry at a time, from when it is handed to Raft until the state machine takes it, a sole
// voter's until its calls are answered; or until Raft has refused it.
type pen struct {
	mu      sync.Mutex
	busy    atomic.Bool // entry is not nil; changes under mu
	shut    bool
	entry   *batch      // in the log; no further entry is made
	running *batch      // the last one that the state machine took
	slow    *time.Timer // fires when an entry was last handed to Raft some time ago
	gather  gathering
}

// propose makes one entry of all calls that wait (group commit), stamps it and hands it to Raft, unless there is one in
// the log. It is the only place that writes to the log. It waits for nothing, so whoever has put a call into the queue or
// made the log free calls it: a goroutine between them would be woken for every entry.
func (s *Store) propose() {
	for !s.pen.busy.Load() && !s.gathers() {
		calls, why := s.write()
		if len(calls) == 0 {
			return
		}
		fail(calls, forward.Moved, commands.Result{Reply: why.Value()}) // no lock is held: an answer may bring the next call
	}
}

// write is one step of propose. It returns calls that cannot be sent. Stamps grow with the log, since it holds the pen
// while it stamps and appends.
func (s *Store) write() ([]waiting, resp.Failure) {
	p := &s.pen
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entry != nil || p.shut {
		return nil, ""
	}
	calls := s.queue.pop(s.cfg.MaxBatch)
	if len(calls) == 0 {
		return nil, ""
	}
	lead := s.lead.Load()
	if lead == nil {
		return calls, s.noLeader()
	}
	b := s.encode(calls, lead)
	p.entry = b
	p.busy.Store(true)
	b.future = s.raft.Apply(b.data, 0)
	p.slow.Reset(slowEntry)
	return nil, ""
}

// encode makes the entry of calls.
func (s *Store) encode(calls []waiting, lead *leadership) *batch {
	b := &batch{waiting: calls, sent: time.Now(), alone: lead.alone.Load(), work: work{own: true, calls: make([]*commands.Call, len(calls))}}
	b.Header = entry.Header{Now: lead.now(), Wall: s.cfg.Wall(), MaxMemory: s.cfg.MaxMemory, FenceMemory: s.cfg.fenceMemory()}
	size := 32
	for i, w := range calls {
		b.calls[i] = w.call
		size += w.size
		if w.ticket != nil {
			size += b.name(i, w.ticket)
		}
	}
	if b.ids == nil {
		b.data = entry.Append(make([]byte, 0, size), b.Header, b.calls)
	} else {
		b.data = entry.AppendNamed(make([]byte, 0, size), b.Header, b.origins, b.calls, b.ids)
	}
	return b
}

// name gives a call of the batch its ID, and returns by how many bytes the entry grows.
func (b *batch) name(i int, t *ticket) (size int) {
	if b.ids == nil {
		b.ids = make([]entry.ID, len(b.calls))
	}
	known := slices.IndexFunc(b.origins, func(o entry.Origin) bool { return o.Name == t.from.name })
	if known < 0 {
		known, size = len(b.origins), len(t.from.name)+2*binary.MaxVarintLen64
		b.origins = append(b.origins, entry.Origin{Name: t.from.name, Acked: t.from.acked.Load()})
	}
	b.ids[i] = entry.ID{From: known + 1, Seq: t.seq}
	return size
}

// take returns the batch whose entry data is: not one of the same bytes, but the very slice that was handed to Raft. It returns
// nil for entries of other nodes and other runs.
func (p *pen) take(data []byte) *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.entry
	if b == nil || &b.data[0] != &data[0] {
		return nil
	}
	p.running = b
	return b
}

// drop frees the log of an entry that the state machine has taken, or that will not be applied as ours.
func (p *pen) drop(b *batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entry == b {
		p.entry = nil
		p.busy.Store(false)
	}
}

// next lets the next entry in behind b, in a cluster when the clients that b answers have had the time for another call.
func (s *Store) next(b *batch) {
	if !b.alone {
		s.pen.gather.begin(s.queue.len(), len(b.calls), time.Since(b.sent))
	}
	s.pen.drop(b)
	s.propose()
}

// behind is next for a sole voter's entry of which calls are answered. Who reads requests goes first, so that those which have come
// are in the next one; a single client has sent nothing yet, and waits for nobody.
func (s *Store) behind(b *batch) {
	if !b.alone {
		return
	}
	if len(b.calls) > 1 {
		runtime.Gosched()
	}
	s.next(b)
}

// inLog is the entry that is handed to Raft, nil if there is none.
func (p *pen) inLog() *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.entry
}

// unanswered are the entries whose calls are not answered yet, the oldest first.
func (p *pen) unanswered() []*batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*batch
	for _, b := range []*batch{p.running, p.entry} {
		if b != nil && !slices.Contains(list, b) && !b.answered() {
			list = append(list, b)
		}
	}
	return list
}

// close lets no further entry in.
func (p *pen) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
}

func refuse(calls []waiting, why resp.Failure) {
	fail(calls, forward.Refused, commands.Result{Reply: why.Value()})
}

func fail(calls []waiting, f forward.Fate, r commands.Result) {
	for _, w := range calls {
		if w.call != nil {
			w.end(f, r)
		}
	}
}
