package raftstore

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
	"github.com/redfence/redfence/raftstore/forward"
)

// source names the calls of one process. All its calls up to acked are answered.
type source struct {
	name  string
	acked atomic.Uint64
}

// ticket is what a call is known by in the log.
type ticket struct {
	from *source
	seq  uint64
	lead *leadership // under which it was tried
	told func(forward.Fate, commands.Result)
	// flush sends what was told to another node; nil for calls of this one.
	flush func()
}

// origin is this process as one that has calls for whoever leads. While the leader stays it only keeps count; when that
// changes, or the connection to it is lost, all calls that are not answered go to the next one, in their order. What they
// are named by sees to it that none is run twice (see remembered).
//
// A nil origin is that of a node without a cluster port: it has no calls.
type origin struct {
	source
	s        *Store
	sessions atomic.Uint64
	own      *Stream       // for calls of the store itself
	news     chan struct{} // holds a token when the route may have to change

	// turn is held for reading while a call is sent, and for writing while all are: so calls of a session keep their order.
	turn  sync.RWMutex
	to    route  // nil while there is none
	round uint64 // counts routes

	mu     sync.Mutex // taken last
	calls  []*pending // those not answered, and some that are, without a gap in their numbers
	last   uint64     // the newest number
	bytes  int
	unsent int
	closed bool
}

// route is where calls go.
type route interface {
	// send sends a call, at the latest with the next flush; it must not answer it before it returns. logged wants it to go
	// through the log, since it may be there already.
	send(p *pending, round uint64, logged bool)
	flush()
	close(st *Stream)
	// same tells whether the route leads to the present leader.
	same(lead *leadership, addr, id string) bool
	end()
}

// pending is a call that is not answered. origin.mu guards what changes.
type pending struct {
	call   *commands.Call
	stream *Stream
	seq    uint64
	size   int
	since  time.Time
	here   bool // its answer waits until this node has run it too
	pure   bool // it can change nothing, so to run it twice does no harm

	sent   bool // on the route of this round
	round  uint64
	doubt  bool // an earlier copy of it may still be run
	done   bool
	local  *resp.Value      // the reply of this node
	grants []commands.Grant // with it
	answer *commands.Result // waits for this node
}

func newOrigin(s *Store) *origin {
	var random [4]byte
	_, _ = rand.Read(random[:]) // it never fails
	o := &origin{s: s, news: make(chan struct{}, 1)}
	o.name = s.id.serverID() + "." + hex.EncodeToString(random[:])
	o.own = &Stream{store: s}
	return o
}

// kick makes the router look at the route.
func (o *origin) kick() {
	if o == nil {
		return
	}
	select {
	case o.news <- struct{}{}:
	default:
	}
}

// submit sends a call to whoever leads, or keeps it until somebody does.
func (o *origin) submit(st *Stream, c *commands.Call) {
	p := &pending{call: c, stream: st, size: entry.Size(c), since: time.Now(), here: mustRunHere(c), pure: onlyReads(c)}
	o.turn.RLock()
	err := o.enlist(p)
	if err == nil {
		o.offer(p)
	}
	o.turn.RUnlock()
	if err != nil {
		c.Done(commands.Result{Reply: resp.ReplyFor(err)})
		return
	}
	if !c.More {
		o.s.Flush()
	}
}

// flush sends what was submitted with More.
func (o *origin) flush() {
	if o == nil {
		return
	}
	o.turn.RLock()
	defer o.turn.RUnlock()
	if o.to != nil {
		o.to.flush()
	}
}

// mustRunHere tells whether the answer to a call depends on the node that its client is connected to: whom it tells of
// publications, and which changes it has told.
func mustRunHere(c *commands.Call) bool {
	if c.Track || c.Fencing || len(c.Requests) == 0 {
		return true
	}
	for _, r := range c.Requests {
		if r.Spec.Group == commands.PubSubs {
			return true
		}
	}
	return false
}

// onlyReads tells whether a call changes nothing for certain.
func onlyReads(c *commands.Call) bool {
	for _, r := range c.Requests {
		if !r.Spec.Flags.Has(commands.ReadOnly) || isScript(r.Spec) {
			return false
		}
	}
	return true
}

// enlist gives a call its number.
func (o *origin) enlist(p *pending) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	limit, open := o.s.cfg.MaxQueue, int(p.stream.open.Load())
	switch {
	case o.closed:
		return resp.ErrShuttingDown
	case o.s.sitting.Load():
		return resp.ErrRecovering // for longer than anybody waits
	case p.size > maxCallBytes:
		return resp.ErrCallTooLarge
	case open >= max(reservedCalls, limit-len(o.calls)) || o.bytes+p.size > maxQueueBytes && open > 0:
		return resp.ErrTryAgainBusy
	}
	o.last++
	p.seq = o.last
	o.calls = append(o.calls, p)
	o.bytes += p.size
	o.unsent++
	p.stream.open.Add(1)
	p.stream.unsent.Add(1)
	return nil
}

// offer sends a call, unless it has to wait. turn is held.
func (o *origin) offer(p *pending) {
	if o.to == nil || p.stream.unsent.Load() > 1 { // those before it go first
		o.kick()
		return
	}
	o.send(p)
}

// send sends a call that is not sent. turn is held, and there is a route.
func (o *origin) send(p *pending) {
	o.mu.Lock()
	if p.done || p.sent {
		o.mu.Unlock()
		return
	}
	p.sent, p.round = true, o.round
	o.unsent--
	p.stream.unsent.Add(-1)
	logged := p.doubt
	o.mu.Unlock()
	o.to.send(p, o.round, logged)
}

// unsend takes note that a call has to be sent again, and whether what was sent may still be run. mu is held.
func (o *origin) unsend(p *pending, doubt bool) {
	if p.sent && !p.done {
		p.sent, p.doubt = false, p.doubt || doubt && !p.pure
		o.unsent++
		p.stream.unsent.Add(1)
	}
}

// retryAfter is when calls go to a leader again that did not take them.
const retryAfter = 10 * time.Millisecond

// told takes what became of a call that was sent in a round. ran tells that this node has run it.
func (o *origin) told(p *pending, round uint64, f forward.Fate, r commands.Result, ran bool) {
	o.mu.Lock()
	over := false
	switch {
	case p.done:
	case f == forward.Done && !ran && p.local == nil && (p.here || r.Reply.IsNull() && p.abandoned()):
		p.answer = &r
	case f == forward.Done:
		over = true
		if p.local != nil {
			r.Granted = p.grants
		}
		if p.local != nil && p.here {
			r.Reply = *p.local
		}
	case !p.sent || p.round != round: // it is sent again already
	case f == forward.Refused:
		over = true
		if p.doubt { // to send it once more would put it behind later calls of its session, which were not refused
			r = commands.Result{Reply: resp.ErrUnknownOutcome.Value(), Close: true}
		}
	default:
		o.unsend(p, f == forward.Lost)
		time.AfterFunc(retryAfter, o.kick)
	}
	if over {
		o.strike(p)
	}
	o.mu.Unlock()
	if over {
		p.finish(r)
	}
}

// finish answers a call that was struck off the list.
func (p *pending) finish(r commands.Result) {
	if r.Reply.IsErr() && r.Reply.Str == string(resp.ErrUnknownOutcome) {
		r.Close = true // also when this is all that the log remembers
	}
	p.call.Done(r)
}

// strike takes a call off the list. mu is held.
func (o *origin) strike(p *pending) {
	if !p.sent {
		o.unsent--
		p.stream.unsent.Add(-1)
	}
	p.done = true
	p.stream.open.Add(-1)
	o.bytes -= p.size
	gone := 0
	for gone < len(o.calls) && o.calls[gone].done {
		o.calls[gone] = nil
		gone++
	}
	o.calls = o.calls[gone:]
	o.acked.Store(o.last - uint64(len(o.calls)))
}

// find returns the call of a number, nil when it is answered. mu is held.
func (o *origin) find(seq uint64) *pending {
	first := o.last - uint64(len(o.calls)) + 1
	if seq < first || seq > o.last || o.calls[seq-first].done {
		return nil
	}
	return o.calls[seq-first]
}

// each calls f for the calls of this process in an entry.
func (o *origin) each(w work, f func(i int, p *pending)) {
	if o == nil || w.ids == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range w.calls {
		if name, seq := w.id(i); name == o.name {
			if p := o.find(seq); p != nil {
				f(i, p)
			}
		}
	}
}

// claim finds this process's own calls in an entry that comes from the leader: who has changed a key, and who has read it,
// is of interest here.
func (o *origin) claim(w work) {
	o.each(w, func(i int, p *pending) {
		c := w.calls[i]
		c.Session, c.Track, c.Fencing, c.Abandoned = p.call.Session, p.call.Track, p.call.Fencing, p.call.Abandoned
	})
}

// applied takes the replies of this process's own calls in an entry that came from the leader. They only count for calls
// whose answer waits for them, and then beside the leader's: what the leader has not run, another's read may not see yet.
// Nobody reads behind an abandoned call, so it needs no other answer.
func (o *origin) applied(w work, replies []resp.Value) {
	var over []*pending
	o.each(w, func(i int, p *pending) {
		if p.local == nil { // else it is only remembered
			p.local, p.grants = &replies[i], w.given(i)
		}
		if p.ranHere() {
			over = append(over, p)
			o.strike(p)
		}
	})
	finishHere(over)
}

// restored finds out which calls a snapshot has run.
func (o *origin) restored(ran remembered) {
	if o == nil || ran[o.name] == nil {
		return
	}
	o.mu.Lock()
	for _, p := range o.calls {
		if v, known := ran[o.name].replies[p.seq]; known && !p.done {
			p.local = &v
		}
	}
	o.mu.Unlock()
	o.conclude()
}

// conclude answers the calls for which it is enough that this node has run them.
func (o *origin) conclude() {
	var over []*pending
	o.mu.Lock()
	for _, p := range o.calls {
		if !p.done && p.local != nil && p.ranHere() {
			over = append(over, p)
		}
	}
	for _, p := range over {
		o.strike(p)
	}
	o.mu.Unlock()
	finishHere(over)
}

// ranHere tells whether a call that this node has run is answered by that.
func (p *pending) ranHere() bool { return p.answer != nil || p.abandoned() }

func finishHere(over []*pending) {
	for _, p := range over {
		p.finish(commands.Result{Reply: *p.local, Close: p.answer != nil && p.answer.Close, Granted: p.grants})
	}
}

// hangUp ends the session of a stream: what was not sent is not executed.
func (o *origin) hangUp(st *Stream) {
	o.turn.RLock()
	if o.to != nil {
		o.to.close(st)
	}
	o.turn.RUnlock()
	o.drop(resp.ErrAbandoned, func(p *pending) bool { return p.stream == st && !p.sent && !p.doubt })
}

// drop refuses calls.
func (o *origin) drop(why resp.Failure, which func(*pending) bool) {
	var over []*pending
	o.mu.Lock()
	for _, p := range o.calls {
		if !p.done && which(p) {
			over = append(over, p)
		}
	}
	for _, p := range over {
		o.strike(p)
	}
	o.mu.Unlock()
	for _, p := range over {
		p.finish(commands.Result{Reply: why.Value()})
	}
}

// expire answers the calls that have waited too long, and those that have been abandoned since this node has run them.
func (o *origin) expire(now time.Time) {
	o.conclude()
	if o.s.sitting.Load() {
		o.drop(resp.ErrRecovering, func(p *pending) bool { return !p.sent && !p.doubt })
	}
	patience := o.s.cfg.MaxWait
	o.drop(resp.ErrUnknownOutcome, func(p *pending) bool {
		late := now.Sub(p.since) - p.patience(now, patience)
		return !p.pure && (p.sent && late > patience/8 || p.doubt && late > 0)
	})
	o.drop(o.s.noLeader(), func(p *pending) bool {
		late := now.Sub(p.since) - p.patience(now, patience)
		return late > 0 && !p.sent || late > patience/8
	})
}

// abandonedWait is how long it is asked what became of an abandoned call. It is much less than forgetAfter.
const abandonedWait = 30 * time.Second

// patience is how long a call may take that was submitted with the patience of its client. Nobody waits for an abandoned one,
// but whoever submitted it wants to know what it did; unless it was not even sent.
func (p *pending) patience(now time.Time, normal time.Duration) time.Duration {
	if (p.sent || p.doubt) && now.Sub(p.since) > normal && p.abandoned() {
		return max(normal, abandonedWait)
	}
	return normal
}

func (p *pending) abandoned() bool { return isAbandoned(p.call) }

// isAbandoned tells whether nobody can take the answer to a call any more.
func isAbandoned(c *commands.Call) bool { return c.Abandoned != nil && c.Abandoned() }

// drain refuses further calls and waits until those that there are have been answered, which takes no longer than they may
// take in any case: see expire.
func (o *origin) drain() {
	if o == nil {
		return
	}
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	for deadline := time.Now().Add(2 * o.s.cfg.MaxWait); !o.idle() && time.Now().Before(deadline); {
		o.s.pause(steerEvery)
	}
}

// idle tells whether all calls are answered.
func (o *origin) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.calls) == 0
}

// close answers what is left. It is called when nothing runs any more.
func (o *origin) close() {
	if o == nil {
		return
	}
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.drop(resp.ErrUnknownOutcome, func(p *pending) bool { return !p.pure && (p.sent || p.doubt) })
	o.drop(resp.ErrShuttingDown, func(*pending) bool { return true })
}
