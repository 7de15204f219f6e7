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

// stream carries the operations of one database to the node, in order. One batch is on its way at a time: it is written
// in one write, all its answers are read, and only then what has come meanwhile is written. So at low load an operation
// is one write and one read, and at high load writes grow by themselves.
//
// Who sends while nothing is on its way writes it himself, as far as the socket takes it at once. All else is done by
// run, which reads all the time, and so hears at once when the node hangs up.
type stream struct {
	node *Node
	db   int
	well chan struct{} // the node answers again: try to connect now

	mu      sync.Mutex
	ahead   []quorum.Sending // goes out before queue
	queue   []quorum.Sending
	waiting int  // in queue, and taken from it but not sent yet
	busy    bool // a batch is on its way, or there is no connection: others only queue
	writing bool // by who sends; run waits for the end of it before it touches the batch
	written sync.Cond
	armed   bool         // the connection has a read deadline
	down    tally.Reason // not empty: there is no connection, and the last attempt failed for this reason
	closed  bool
	conn    *connection

	// Of who made the stream busy.
	taken  []quorum.Sending // the former queue, from next on not sent yet
	next   int
	batch  []quorum.Sending
	calls  []answering // of each in batch
	line   []byte      // the batch as it is written
	lines  int         // command lines in it
	sent   time.Duration
	canary string // that it was sent with
	ran    bool   // a byte of it may have been written
	memory runner.Memory
	former identity

	// Of run alone.
	attempts int // since the last answer
	backoff  func(attempt int) time.Duration

	owing atomic.Int64 // o.Clock's time of the write that is not answered yet, 0 when all is
}

func newStream(n *Node, db int) *stream {
	s := &stream{
		node: n, db: db, well: make(chan struct{}, 1), busy: true,
		backoff: redis.DialRetryBackoffExponential(10*time.Millisecond, time.Second),
	}
	s.written.L = &s.mu
	return s
}

// send puts an operation into the queue, or answers it at once when there is no point in that. It never waits.
func (s *stream) send(o quorum.Sending) {
	s.mu.Lock()
	reason := s.admit(o)
	mine := !s.busy && s.conn != nil && !o.More && s.take()
	s.writing = s.writing || mine
	s.mu.Unlock()
	if reason != "" {
		o.Done(quorum.Outcome{Reason: reason})
	}
	if mine {
		s.begin()
		s.begun()
	}
}

// begun ends what send does for run. When it came to nothing, for all was withdrawn, and others have queued meanwhile, a
// goroutine goes on: who sends may hold locks that the outcomes of others need.
func (s *stream) begun() {
	s.mu.Lock()
	goOn := len(s.batch) == 0 && s.take()
	s.writing = goOn
	s.mu.Unlock()
	if !goOn {
		s.written.Signal()
		return
	}
	go func() {
		s.begin()
		s.begun()
	}()
}

func (s *stream) admit(o quorum.Sending) tally.Reason {
	limit := s.node.o.Queue
	switch {
	case s.closed:
		return reasonClosed
	case s.down != "":
		return s.down
	case !o.Ahead && s.stalled():
		return reasonStalled
	case o.Ahead && len(s.ahead) < limit:
		s.ahead = append(s.ahead, o)
	case !o.Ahead && s.waiting < limit:
		s.queue = append(s.queue, o)
		s.waiting++
	default:
		return reasonFull
	}
	return ""
}

// stalled tells whether the node has owed an answer for so long that no vote can count on another one: what is put into
// the queue now would only be waited for in vain.
func (s *stream) stalled() bool {
	since := s.owing.Load()
	return since != 0 && s.node.o.Clock.Now()-time.Duration(since) > s.node.o.StallAfter
}

// close ends run, also while it waits for an answer.
func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	if s.conn != nil {
		s.conn.cut()
	}
	s.mu.Unlock()
}

// run is the stream's goroutine. It ends when the stream is closed.
func (s *stream) run() {
	defer s.hangUp()
	for s.connected() {
		for s.more() {
			if s.begin() {
				break
			}
		}
		s.receive()
	}
	s.refuse(reasonClosed)
}

// more takes the next batch. It tells whether there is one.
func (s *stream) more() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take()
}

// take moves what may go out next into batch, while the stream is locked. It tells whether there is anything; if not the
// stream is not busy any more.
func (s *stream) take() bool {
	clear(s.batch)
	s.batch = s.batch[:0]
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
	s.busy = len(s.batch) > 0
	return s.busy
}

// refuse answers everything that waits, while there is no connection.
func (s *stream) refuse(reason tally.Reason) {
	for s.more() {
		for i := range s.batch {
			s.batch[i].Done(quorum.Outcome{Reason: reason})
		}
	}
}
