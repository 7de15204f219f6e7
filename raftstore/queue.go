package raftstore

import (
	"sync"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
	"github.com/redfence/redfence/raftstore/forward"
)

// Bounds of what waits for the log.
const (
	maxEntryBytes = 1 << 20  // an entry is closed when it is this long; one larger call still makes an entry alone
	maxCallBytes  = 48 << 20 // raft-wal takes entries up to 64 MiB
	maxQueueBytes = 256 << 20
)

// waiting is a call that waits for the log.
type waiting struct {
	call   *commands.Call
	stream *Stream // nil for calls of the store itself
	ticket *ticket // nil while no other node has a vote
	size   int     // bytes in the log, at most
	more   bool    // others are answered together with it, and then somebody flushes the peers
	since  time.Time
}

// finish answers the call with the result of its execution.
func (w waiting) finish(r commands.Result) { w.end(forward.Done, r) }

// end says what became of the call.
func (w waiting) end(f forward.Fate, r commands.Result) {
	if w.stream != nil {
		w.stream.pending.Add(-1)
		w.stream.store.followed(w.call)
	}
	w.tell(f, r)
}

// tell is end for a call that was not counted as pending.
func (w waiting) tell(f forward.Fate, r commands.Result) {
	if w.stream != nil && (f == forward.Done || w.ticket == nil) {
		w.stream.store.machine.locks.answered(w.call, r.Reply)
	}
	if w.ticket != nil {
		w.ticket.told(f, r)
		if w.ticket.flush != nil && !w.more {
			w.ticket.flush()
		}
		return
	}
	w.call.Done(r)
}

// queue holds the calls that wait for the log, in a lane for each stream. The lanes take turns, so that what one
// client waits for does not depend on how much others send; within a lane the order is that in which calls came.
type queue struct {
	mu    sync.Mutex
	lanes ring
	own   lane // of calls without a stream
	count int
	bytes int
	limit int
	shut  bool
}

func newQueue(limit int) *queue {
	return &queue{limit: limit}
}

// push adds a call. It refuses one that no entry can hold, one of a stream that is closed, and any while too much is
// waiting.
func (q *queue) push(w waiting) error {
	w.size = entry.Size(w.call)
	if w.size > maxCallBytes {
		return resp.ErrCallTooLarge
	}
	l := &q.own
	if w.stream != nil {
		l = &w.stream.lane
	}
	return q.add(l, w)
}

func (q *queue) add(l *lane, w waiting) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.shut:
		return resp.ErrShuttingDown
	case l.closed:
		return resp.ErrAbandoned
	case !q.admits(l, w.size):
		return resp.ErrTryAgainBusy
	}
	l.put(w)
	q.lanes.push(l)
	q.count++
	q.bytes += w.size
	return nil
}

// admits tells whether a lane may have one more call. It may have as many as there is room left for, so there is room
// for others whatever some do (dynamic thresholds, as in the shared buffer of a switch), and a few in any case.
func (q *queue) admits(l *lane, size int) bool {
	return l.len() < max(reservedCalls, q.limit-q.count) &&
		l.bytes+size <= max(reservedBytes, maxQueueBytes-q.bytes)
}

// pop takes up to n calls that fit one entry: all of them in the order of the lanes, or when they are more, one of
// each lane in turn.
func (q *queue) pop(n int) []waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count <= n && q.bytes <= maxEntryBytes {
		return q.takeAll()
	}
	taken, size := make([]waiting, 0, min(n, q.count)), 0
	for len(taken) < n && q.count > 0 {
		l := q.lanes.first
		goes := l.len() > 0 && l.itsTurn()
		if goes && len(taken) > 0 && size+l.first().size > maxEntryBytes {
			break // it is the first of the next entry
		}
		q.lanes.pop()
		if goes {
			w := l.take()
			size += w.size
			q.gone(1, w.size)
			taken = append(taken, w)
		}
		if l.len() > 0 {
			q.lanes.push(l)
		}
	}
	return taken
}

// popOld takes the calls at the front of the lanes that have waited since before t.
func (q *queue) popOld(t time.Time) []waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	var old []waiting
	for l := q.lanes.first; l != nil; l = l.behind {
		for l.len() > 0 && l.first().since.Before(t) {
			w := l.take()
			q.gone(1, w.size)
			old = append(old, w)
		}
	}
	return old
}

// abandon refuses all further calls of a lane and returns those that wait.
func (q *queue) abandon(l *lane) []waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.closed = true
	if l.len() == 0 {
		return nil
	}
	q.gone(l.len(), l.bytes)
	return l.takeAll(nil)
}

// close refuses all further calls and returns those that wait.
func (q *queue) close() []waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shut = true
	return q.takeAll()
}

// takeAll empties the lanes in their order.
func (q *queue) takeAll() []waiting {
	taken := make([]waiting, 0, q.count)
	for q.lanes.first != nil {
		taken = q.lanes.pop().takeAll(taken)
	}
	q.count, q.bytes = 0, 0
	return taken
}

// len is how many calls wait.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// gone counts calls that no longer wait.
func (q *queue) gone(calls, bytes int) {
	q.count -= calls
	q.bytes -= bytes
}
