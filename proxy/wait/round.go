package wait

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// round is the tries of one call.
type round struct {
	tries    []try
	requests []*commands.Request
	bytes    int // of the arguments
}

// try is a waiter's part of a round: some of its requests.
type try struct {
	waiter   *Waiter
	kind     tryKind
	queue    *queue // that is served, when kind is serve
	from, to int    // the requests
}

type tryKind uint8

const (
	first tryKind = iota // nobody is ahead: the command as the client sent it
	check                // others are ahead, and elements are theirs: only the types of the keys are looked at
	serve                // it is the waiter's turn at a queue
)

// The bounds of a round. The last try may go over them.
const (
	mostRequests = 1024
	mostBytes    = 1 << 20
)

// call is the round as one unit of work for a backend.
func (r *round) call(done func(commands.Result)) *commands.Call {
	return &commands.Call{Requests: r.requests, Block: true, Done: done}
}

func (r *round) full() bool { return len(r.requests) >= mostRequests || r.bytes >= mostBytes }

// add makes a waiter part of the round.
func (r *round) add(w *Waiter, kind tryKind, q *queue, requests ...*commands.Request) {
	w.state = stateFlying
	from := len(r.requests)
	r.requests = append(r.requests, requests...)
	for _, req := range requests {
		for _, arg := range req.Args {
			r.bytes += len(arg)
		}
	}
	r.tries = append(r.tries, try{waiter: w, kind: kind, queue: q, from: from, to: len(r.requests)})
}

// gather makes the next round, or returns nil when there is nothing to try; r.mu is held.
func (r *Registry) gather() *round {
	next := &round{}
	for e := r.fresh.Front(); e != nil && !next.full(); e = r.fresh.Front() {
		switch w := r.fresh.Remove(e).(*Waiter); {
		case w.state == stateOver: // ended before it was tried
		case w.outrun():
			next.add(w, check, nil, w.checks()...)
		default:
			next.add(w, first, nil, w.request)
		}
	}
	marked := r.ready
	r.ready = nil
	for _, q := range marked {
		q.ready = false
		if !r.turn(q, next) {
			r.mark(q) // its turn comes in a later round
		}
	}
	if len(next.tries) == 0 {
		return nil
	}
	return next
}

// turn adds the waiters at the front of a queue. It is false when somebody there must wait for another round: one
// that is part of this round already, or has never been tried, or for whom there is no room.
func (r *Registry) turn(q *queue, next *round) bool {
	e := q.waiters.Front()
	for range q.batch {
		if e == nil {
			return true
		}
		w := e.Value.(*Waiter)
		if w.state != stateWaiting || next.full() {
			return false
		}
		next.add(w, serve, q, w.turn(q.key)...)
		e = e.Next()
	}
	return true
}

// outrun tells whether others came earlier to one of the waiter's keys.
func (w *Waiter) outrun() bool {
	for _, e := range w.places {
		if e.ahead() {
			return true
		}
	}
	return false
}

// turn is what a waiter asks when a key is ready. A move fails on the type of its target, and the client is told;
// that the key itself has another type is no concern of the client. So it asks for that first.
func (w *Waiter) turn(key string) []*commands.Request {
	if w.moves() {
		return []*commands.Request{length(w.request, key), w.request}
	}
	return []*commands.Request{w.request.Only(key)}
}

// moves tells whether the waiter moves elements to another list.
func (w *Waiter) moves() bool {
	return w.request.Spec.Name == "blmove" || w.request.Spec.Name == "brpoplpush"
}

// checks are requests that tell whether the keys have the right type and elements.
func (w *Waiter) checks() []*commands.Request {
	list := make([]*commands.Request, len(w.keys))
	for i, key := range w.keys {
		list[i] = length(w.request, key)
	}
	return list
}

// length asks for the number of elements of a key.
func length(of *commands.Request, key string) *commands.Request {
	name := "llen"
	if of.Spec.Group == commands.ZSetGroup {
		name = "zcard"
	}
	r, err := commands.Bind([]string{name, key}, of.DB)
	if err != nil {
		panic("the command table lacks " + name) // a defect
	}
	return r
}

// settle hands out what a round brought. Waiters without an element wait on, unless their wait was ended meanwhile.
func (r *Registry) settle(round *round, res commands.Result) {
	failed := res.Reply.Kind != resp.Array || len(res.Reply.Elems) != len(round.requests)
	var answers []func()
	r.mu.Lock()
	served := map[*queue]bool{}
	for _, t := range round.tries {
		if failed {
			answers = append(answers, r.answer(t.waiter, res))
			continue
		}
		reply := r.outcome(t, res.Reply.Elems[t.from:t.to])
		if t.queue != nil {
			served[t.queue] = !reply.IsNull()
		}
		switch w := t.waiter; {
		case !reply.IsNull():
			answers = append(answers, r.answer(w, commands.Result{Reply: reply}))
		case w.verdict != nil:
			r.leave(w)
			answers = append(answers, w.verdict)
		default:
			r.waitOn(w)
		}
	}
	r.goOn(round, served, failed)
	r.mu.Unlock()
	for _, answer := range answers {
		answer()
	}
}

// waitOn is for a waiter that was tried in vain; r.mu is held.
func (r *Registry) waitOn(w *Waiter) {
	w.state = stateWaiting
	if !w.tried {
		w.tried = true
		r.blocked++
	}
}

// answer takes a waiter off the books and returns what answers it; r.mu is held.
func (r *Registry) answer(w *Waiter, res commands.Result) func() {
	r.leave(w)
	return func() { w.done(res) }
}

// outcome is the reply to a waiter, or nil when it must wait on; r.mu is held.
func (r *Registry) outcome(t try, replies []resp.Value) resp.Value {
	reply := replies[0]
	switch {
	case t.kind == check:
		return r.checked(t.waiter, replies)
	case t.kind == first:
		return reply
	case reply.IsErr() && reply.Str == string(resp.ErrWrongType):
		return resp.Value{}
	}
	return replies[len(replies)-1]
}

// checked judges the lengths of a waiter's keys. Those that have elements are served once more, so that the waiter
// gets what those ahead leave.
func (r *Registry) checked(w *Waiter, lengths []resp.Value) resp.Value {
	for i, v := range lengths {
		switch {
		case v.IsErr():
			return v
		case v.Int() > 0:
			r.mark(r.queues[place{w.request.DB, w.keys[i], w.request.Spec.Group}])
			return resp.Value{}
		}
	}
	return resp.Value{}
}

// goOn has the queues served further whose waiters have all got something, with more at a time; r.mu is held.
func (r *Registry) goOn(round *round, served map[*queue]bool, failed bool) {
	for _, t := range round.tries {
		q := t.queue
		if q == nil || q.waiters.Len() == 0 {
			continue
		}
		if served[q] || failed {
			q.batch = min(2*q.batch, mostAtOnce)
			r.mark(q)
		} else {
			q.batch = 1
		}
	}
}
