package raftstore

import (
	"sync"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
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
	size   int     // bytes in the log, at most
	since  time.Time
}

// finish answers the call.
func (w waiting) finish(r commands.Result) {
	if w.stream != nil {
		w.stream.pending.Add(-1)
		w.stream.store.machine.locks.answered(w.call, r.Reply)
	}
	w.call.Done(r)
}

// queue holds the calls that wait for the log in the order in which they came.
type queue struct {
	mu    sync.Mutex
	calls []waiting
	bytes int
	limit int
	shut  bool
	ready chan struct{} // holds a token while calls may be there
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, ready: make(chan struct{}, 1)}
}

// push adds a call. It refuses one that no entry can hold, and any while too much is waiting.
func (q *queue) push(w waiting) error {
	w.size = entry.Size(w.call)
	if w.size > maxCallBytes {
		return resp.ErrCallTooLarge
	}
	q.mu.Lock()
	if q.shut {
		q.mu.Unlock()
		return resp.ErrShuttingDown
	}
	if len(q.calls) >= q.limit || q.bytes+w.size > maxQueueBytes {
		q.mu.Unlock()
		return resp.ErrTryAgainBusy
	}
	q.calls = append(q.calls, w)
	q.bytes += w.size
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return nil
}

// pop takes up to n calls that fit one entry.
func (q *queue) pop(n int) []waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	size, take := 0, 0
	for take < len(q.calls) && take < n {
		size += q.calls[take].size
		if take > 0 && size > maxEntryBytes {
			size -= q.calls[take].size
			break
		}
		take++
	}
	return q.cut(take, size)
}

// popOld takes the calls at the front that have waited since before t.
func (q *queue) popOld(t time.Time) []waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	size, take := 0, 0
	for take < len(q.calls) && q.calls[take].since.Before(t) {
		size += q.calls[take].size
		take++
	}
	return q.cut(take, size)
}

// close refuses all further calls and returns those that wait.
func (q *queue) close() []waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shut = true
	return q.cut(len(q.calls), q.bytes)
}

// cut removes the first n calls. What is left moves to a new array, so that the old one can be freed.
func (q *queue) cut(n, size int) []waiting {
	taken := q.calls[:n:n]
	q.calls = append([]waiting(nil), q.calls[n:]...)
	q.bytes -= size
	if len(q.calls) > 0 {
		select {
		case q.ready <- struct{}{}:
		default:
		}
	}
	return taken
}
