package node

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// batchSize is how many operations go out in one write at most.
const batchSize = 256

// stream carries the operations of one database to the node, in order: one goroutine, which writes what waits,
// reads all the answers, and only then writes what has come meanwhile. So at low load an operation is one write and
// one read, and at high load writes grow by themselves.
type stream struct {
	node *Node
	db   int
	wake chan struct{} // something waits, or the stream is closed
	well chan struct{} // the node answers again: try to connect now

	mu      sync.Mutex
	ahead   []quorum.Sending // goes out before queue
	queue   []quorum.Sending
	waiting int          // in queue, and taken from it but not sent yet
	idle    bool         // run waits for wake
	down    tally.Reason // not empty: there is no connection, and the last attempt failed for this reason
	closed  bool
	conn    *connection

	// Of run's goroutine alone.
	taken    []quorum.Sending // the former queue, from next on not sent yet
	next     int
	batch    []quorum.Sending
	cmds     []redis.Cmder
	calls    []answering // of each in batch
	memory   runner.Memory
	former   identity
	attempts int // since the last answer
	backoff  func(attempt int) time.Duration

	owing atomic.Int64 // o.Clock's time of the write that is not answered yet, 0 when all is
}

func newStream(n *Node, db int) *stream {
	return &stream{
		node: n, db: db, wake: make(chan struct{}, 1), well: make(chan struct{}, 1),
		backoff: redis.DialRetryBackoffExponential(10*time.Millisecond, time.Second),
	}
}

// send puts an operation into the queue, or answers it at once when there is no point in that.
func (s *stream) send(o quorum.Sending) {
	s.mu.Lock()
	reason := s.admit(o)
	wake := reason == "" && s.idle
	s.idle = s.idle && !wake
	s.mu.Unlock()
	if reason != "" {
		o.Done(quorum.Outcome{Reason: reason})
	}
	if wake {
		s.nudge()
	}
}

func (s *stream) admit(o quorum.Sending) tally.Reason {
	limit := s.node.o.Queue
	switch {
	case s.closed:
		return ReasonClosed
	case s.down != "":
		return s.down
	case !o.Ahead && s.stalled():
		return ReasonStalled
	case o.Ahead && len(s.ahead) < limit:
		s.ahead = append(s.ahead, o)
	case !o.Ahead && s.waiting < limit:
		s.queue = append(s.queue, o)
		s.waiting++
	default:
		return ReasonFull
	}
	return ""
}

// stalled tells whether the node has owed an answer for so long that no vote can count on another one: what is put into
// the queue now would only be waited for in vain.
func (s *stream) stalled() bool {
	since := s.owing.Load()
	return since != 0 && s.node.o.Clock.Now()-time.Duration(since) > s.node.o.StallAfter
}

func (s *stream) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close ends run, also while it waits for an answer.
func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	if s.conn != nil {
		s.conn.cut()
	}
	s.mu.Unlock()
	s.nudge()
}

// run is the stream's goroutine. It ends when the stream is closed.
func (s *stream) run() {
	defer s.hangUp()
	for s.connected() {
		if !s.take() {
			<-s.wake
			continue
		}
		s.exchange()
	}
	s.refuse(ReasonClosed)
}

// take moves what may go out next into batch. It tells whether there is anything.
func (s *stream) take() bool {
	clear(s.batch)
	s.batch = s.batch[:0]
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.ahead), batchSize)
	s.batch = append(s.batch, s.ahead[:n]...)
	s.ahead = slices.Delete(s.ahead, 0, n)
	for len(s.batch) < batchSize {
		if s.next == len(s.taken) {
			if len(s.queue) == 0 {
				break
			}
			clear(s.taken)
			s.taken, s.queue, s.next = s.queue, s.taken[:0], 0
		}
		n := min(batchSize-len(s.batch), len(s.taken)-s.next)
		s.batch = append(s.batch, s.taken[s.next:s.next+n]...)
		s.next += n
		s.waiting -= n
	}
	s.idle = len(s.batch) == 0 && !s.closed
	return !s.idle
}

// refuse answers everything that waits.
func (s *stream) refuse(reason tally.Reason) {
	for s.take() && len(s.batch) > 0 {
		for i := range s.batch {
			s.batch[i].Done(quorum.Outcome{Reason: reason})
		}
	}
}
