package proxy

import (
	"io"
	"sync"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/hub"
)

// The bounds on what a session owes its client.
const (
	// DefaultMaxPipeline is the number of unanswered commands at which a session stops reading until some are answered.
	DefaultMaxPipeline = 1024
	// DefaultMaxOutput is the number of bytes that may wait for a slow reader. At half of it the session stops reading
	// commands; over it the connection is cut.
	DefaultMaxOutput = 32 << 20
)

// The sizes of writes: what the reader writes itself instead of waking the writer, and what is gathered into one
// write. A single larger reply makes a larger write.
const (
	smallWrite = 16 << 10
	fullWrite  = 64 << 10
)

// owner says which goroutine encodes and writes now. Nobody else touches outbox.buf.
type owner uint8

const (
	ownerNone   owner = iota
	ownerReader       // the session's reader, while it handles what it read
	ownerWriter       // the session's writer
	ownerCaller       // who answered the last command that was unanswered, for one write that does not wait
)

// phase is the life of an outbox.
type phase uint8

const (
	phaseOpen   phase = iota
	phaseEnding       // nothing is added any more, what is there is still written
	phaseClosed       // nothing is written any more
)

// outbox is what a session has to send, in order. Replies are entered by the reader, completed by any goroutine and
// written by the reader or the writer, whichever is the owner at the time.
type outbox struct {
	conn  wire
	depth int    // unanswered commands at which admit waits
	heap  int    // bytes of unanswered commands at which admit waits
	limit int    // waiting bytes over which the connection is cut
	cut   func() // closes the connection over limit; must not block
	pause func() // called by the reader when it waits in admit; must not block

	mu         sync.Mutex
	work       sync.Cond // the writer waits here for something to write
	room       sync.Cond // the reader waits here for fewer unanswered commands or waiting bytes
	space      sync.Cond // who passes replies on waits here for fewer waiting bytes
	queue      fifo
	unanswered int
	asked      int           // bytes of the arguments of unanswered commands
	waiting    int           // bytes of what is queued and known
	stalled    bool          // the reader waits in admit
	crammed    bool          // somebody waits for space
	quiet      chan struct{} // closed and nil once nothing is unanswered; nil when nobody waits for that
	owner      owner
	postpones  bool // who is to write has it done by the loop behind its round
	put        bool // and there is something
	phase      phase
	proto      resp.Protocol // in which messages are written
	gone       chan struct{} // closed with phaseClosed
	start      func()        // called when only the last slot is unanswered; nil for nothing

	buf  []byte // encoded and not written
	last bool   // the reply that ends the connection is in buf
}

// wire is where an outbox writes to. tryWrite writes only what can be written without waiting, and returns how many bytes
// that were.
type wire interface {
	io.Writer
	tryWrite(p []byte) int
}

func newOutbox(conn wire, l Limits, cut func()) *outbox {
	o := &outbox{conn: conn, depth: l.MaxPipeline, heap: l.MaxBulk, limit: l.MaxOutput, cut: cut, proto: resp.RESP2, gone: make(chan struct{}), pause: func() {}}
	o.work.L, o.room.L, o.space.L = &o.mu, &o.mu, &o.mu
	return o
}

// add enters a slot behind all others. Only the reader calls it. A known slot that is the first is encoded at once.
func (o *outbox) add(s *slot) {
	o.mu.Lock()
	if o.phase != phaseOpen {
		o.mu.Unlock()
		return
	}
	if o.owner == ownerReader && o.queue.len() == 0 && s.known() {
		o.mu.Unlock()
		o.encode(s)
		o.relieve()
		return
	}
	o.enter(s)
	o.mu.Unlock()
}

// enter queues s; o.mu is held.
func (o *outbox) enter(s *slot) {
	if s.known() {
		s.bytes = slotBytes + s.asked + weight(s.reply)
		o.waiting += s.bytes
	} else {
		o.unanswered++
		o.asked += s.asked
	}
	o.queue.push(s)
	o.wakeWriter()
}

// addLast enters a slot and calls start once all others are answered. The next slot must not come before this one is
// answered. Only the reader calls it.
func (o *outbox) addLast(s *slot, start func()) {
	o.mu.Lock()
	if o.phase != phaseOpen {
		o.mu.Unlock()
		return
	}
	o.enter(s)
	alone := o.unanswered == 1
	if !alone {
		o.start = start
	}
	o.mu.Unlock()
	if alone {
		start()
	}
}

// relieve lets the writer write while the reader goes on, when there is much to write.
func (o *outbox) relieve() {
	if len(o.buf) > smallWrite {
		o.mu.Lock()
		o.handOver()
		o.mu.Unlock()
	}
}

// drop completes a slot without a reply and ends the connection behind it.
func (o *outbox) drop(s *slot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.done || o.phase == phaseClosed {
		return
	}
	s.mute, s.last, s.done = true, true, true
	o.settled(s, slotBytes)
	o.wakeWriter()
}

// settled counts an awaited slot as known from now on. o.mu is held.
func (o *outbox) settled(s *slot, bytes int) {
	s.bytes = bytes
	o.unanswered--
	o.asked -= s.asked
	if o.unanswered == 0 && o.quiet != nil {
		close(o.quiet)
		o.quiet = nil
	}
	if o.unanswered == 1 && o.start != nil {
		go o.start() // it may call back
		o.start = nil
	}
	o.makeRoom()
	o.pile(s.bytes)
}

// Deliver implements hub.Receiver.
func (o *outbox) Deliver(d *hub.Delivery) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase != phaseOpen {
		return
	}
	o.post(&slot{proto: o.proto, news: d, done: true, bytes: slotBytes + len(d.Frame(o.proto))})
}

// Cut implements hub.Receiver.
func (o *outbox) Cut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase != phaseClosed {
		o.shut()
		o.cut()
	}
}

// post enters a message; o.mu is held.
func (o *outbox) post(s *slot) {
	o.queue.push(s)
	o.overtake()
	o.pile(s.bytes)
	o.wakeWriter()
}

// overtake puts the last slot in front of the one before it, if that is of a blocked command. o.mu is held.
func (o *outbox) overtake() {
	if o.queue.len() < 2 {
		return
	}
	last, before := o.queue.at(o.queue.len()-1), o.queue.at(o.queue.len()-2)
	if (*before).blocks && !(*before).done {
		*last, *before = *before, *last
	}
}

// forget drops the messages of a subscription that has ended while they waited.
func (o *outbox) forget(k hub.Kind, topic string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.each(func(s *slot) {
		if s.news != nil && s.news.Kind == k && s.news.Topic == topic {
			s.news, s.mute = nil, true
		}
	})
}

// speak sets the protocol of messages that arrive from now on.
func (o *outbox) speak(p resp.Protocol) {
	o.mu.Lock()
	o.proto = p
	o.mu.Unlock()
}

// pile counts n more waiting bytes, and cuts the connection when there were too many before; so a single reply may
// have any size. o.mu is held.
func (o *outbox) pile(n int) {
	if o.waiting > o.limit && o.phase != phaseClosed {
		o.shut()
		o.cut()
		return
	}
	o.waiting += n
}

// admit waits until one more command may be taken on, and tells whether it had to. When it is full it waits for half
// of the room, so that the reader is not woken for each command. The session is over when it is not open.
func (o *outbox) admit() (waited, open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.stalled = o.full(); o.stalled && o.phase == phaseOpen; waited = true {
		o.pause()
		o.handOver()
		o.room.Wait()
	}
	return waited, o.phase == phaseOpen
}

// awaitSpace waits while more than half of the output bound waits for the client.
func (o *outbox) awaitSpace() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.crammed = o.crammed || o.waiting > o.limit/2; o.crammed && o.phase != phaseClosed; {
		o.space.Wait()
	}
}

// quieten returns a channel that is closed once nothing is unanswered, or nil when nothing is.
func (o *outbox) quieten() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.unanswered == 0 {
		return nil
	}
	if o.quiet == nil {
		o.quiet = make(chan struct{})
	}
	return o.quiet
}

func (o *outbox) full() bool {
	return o.unanswered >= o.depth || o.asked > o.heap || o.waiting > o.limit/2
}

// makeRoom lets a reader go on that waits in admit, when there is room again. o.mu is held.
func (o *outbox) makeRoom() {
	if o.stalled && o.unanswered <= o.depth/2 && o.asked <= o.heap/2 && o.waiting <= o.limit/4 {
		o.stalled = false
		o.room.Signal()
	}
}

// closed tells whether nothing will be written any more.
func (o *outbox) closed() bool {
	select {
	case <-o.gone:
		return true
	default:
		return false
	}
}

// load tells how many replies are owed, how many bytes their commands have, and how many bytes wait to be written.
func (o *outbox) load() (owed, asked, waiting int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.len(), o.asked, o.waiting
}

// owes tells whether commands are unanswered.
func (o *outbox) owes() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.phase == phaseOpen && o.queue.len() > 0
}

// acquire makes the reader the owner, unless the writer is at work or about to be.
func (o *outbox) acquire() {
	o.mu.Lock()
	if o.owner == ownerNone && !o.pending() {
		o.owner = ownerReader
	}
	o.mu.Unlock()
}

// release ends the reader's ownership: it writes a little itself, and leaves much to the writer. It is called before
// the reader waits for input.
func (o *outbox) release() {
	for {
		o.mu.Lock()
		if o.owner != ownerReader || !o.pending() || len(o.buf) > smallWrite {
			o.handOver()
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		o.gather(smallWrite)
		if len(o.buf) <= smallWrite {
			o.flush()
		}
	}
}

// handOver ends the reader's ownership; the writer writes what there is. o.mu is held.
func (o *outbox) handOver() {
	if o.owner == ownerReader {
		o.owner = ownerNone
		o.wakeWriter()
	}
}

// pending tells whether there is something to write. o.mu is held.
func (o *outbox) pending() bool { return o.phase != phaseClosed && (len(o.buf) > 0 || o.ready()) }

func (o *outbox) ready() bool { return o.queue.len() > 0 && o.queue.first().known() }

func (o *outbox) wakeWriter() {
	if o.owner == ownerNone && (o.pending() || o.phase != phaseOpen) {
		o.work.Signal()
	}
}

// run is the writer: it writes whenever there is something to write and the reader is not about to. It returns when
// the outbox is closed.
func (o *outbox) run() {
	for o.await() {
		o.gather(fullWrite)
		o.flush()
		o.mu.Lock()
		o.owner = ownerNone
		o.mu.Unlock()
	}
}

// await makes the writer the owner as soon as there is something to write. It is false when the outbox is closed,
// which it becomes when it was ending and all is written.
func (o *outbox) await() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.phase != phaseClosed {
		if o.owner == ownerNone && o.pending() {
			o.owner = ownerWriter
			return true
		}
		if o.owner == ownerNone && o.phase == phaseEnding && o.queue.len() == 0 {
			o.shut()
			return false
		}
		o.work.Wait()
	}
	return false
}

// gather encodes known slots from the front of the queue until buf holds at least size bytes. Only the owner calls it.
func (o *outbox) gather(size int) {
	for len(o.buf) < size && !o.last {
		s := o.take()
		if s == nil {
			return
		}
		o.encode(s)
	}
}

// take removes the first slot if it is known.
func (o *outbox) take() *slot {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ready() {
		return nil
	}
	return o.remove()
}

// remove takes the first slot out of the queue. o.mu is held.
func (o *outbox) remove() *slot {
	s := o.queue.pop()
	o.waiting -= s.bytes
	o.makeRoom()
	if o.crammed && o.waiting <= o.limit/4 {
		o.crammed = false
		o.space.Broadcast()
	}
	return s
}

// encode appends s to buf. Only the owner calls it.
func (o *outbox) encode(s *slot) {
	if o.last {
		return
	}
	o.buf = s.appendTo(o.buf)
	o.last = s.last
}

// flush writes buf in one call. Only the owner calls it.
func (o *outbox) flush() {
	if len(o.buf) > 0 {
		_, err := o.conn.Write(o.buf)
		if err != nil {
			o.close()
		}
	}
	if o.last {
		o.close()
	}
	o.buf = o.buf[:0]
	if cap(o.buf) > 2*fullWrite {
		o.buf = nil
	}
}

// end says that nothing will be added any more. The outbox closes when all is answered and written.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase == phaseOpen {
		o.phase = phaseEnding
	}
	o.handOver()
	o.work.Signal()
}

// close drops what has not been written.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut()
}

func (o *outbox) shut() {
	if o.phase == phaseClosed {
		return
	}
	o.phase = phaseClosed
	o.queue.clear()
	o.waiting, o.unanswered, o.asked, o.start = 0, 0, 0, nil
	close(o.gone)
	o.work.Broadcast()
	o.room.Broadcast()
	o.space.Broadcast()
}
