package proxy

import (
	"slices"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/route"
)

// transaction is what a session has queued since MULTI
// (https://redis.io/docs/latest/develop/interact/transactions/).
type transaction struct {
	queue  []queued
	bytes  int
	db     int        // in which the next queued command runs
	side   route.Side // who serves it, as far as is known
	word   string     // what decided that
	broken bool       // a command could not be queued, so EXEC answers EXECABORT
}

// queued is a command that waits for EXEC: a request, or the error that its options will be answered with.
type queued struct {
	request *commands.Request
	failed  error
	spec    *commands.Spec // nil for what only the upstream knows
	line    []string
	passed  bool // the upstream's beyond doubt
}

// backend tells whether the command is the backend's.
func (q queued) backend() bool { return q.failed == nil && q.request.Spec.Raft != commands.Local }

// theirs tells whether the command is the upstream's, in a transaction there.
func (q queued) theirs() bool { return q.passed || q.spec == nil || q.spec.Raft != commands.Local }

// What a queued command or a watched key counts besides its bytes, and how many commands a transaction may have for
// each unanswered command that a connection may have.
const (
	queuedBytes   = 256
	queuedPerSlot = 16
)

func multi(s *session, _ *commands.Request) resp.Value {
	if s.tx != nil {
		return resp.ErrNestedMulti.Value()
	}
	s.tx = &transaction{db: s.db}
	s.multi.Store(1)
	return resp.OK()
}

func discard(s *session, _ *commands.Request) resp.Value {
	if s.tx == nil {
		return resp.ErrDiscardWithoutMulti.Value()
	}
	s.leaveMulti()
	return resp.OK()
}

// leaveMulti drops the queue and the watched keys.
func (s *session) leaveMulti() {
	s.tx, s.watches, s.watchBytes = nil, nil, 0
	s.multi.Store(0)
	s.unwatchPassed()
}

// enqueue queues a command. As in Redis, wrong options are found when it runs.
func (s *session) enqueue(spec *commands.Spec, line []string) {
	tx := s.tx
	passed, err := s.claim(spec, line)
	if err != nil {
		s.refuse(spec, err)
		return
	}
	req, err := spec.Bind(line, tx.db)
	if !s.queue(spec, queued{req, err, spec, line, passed}) {
		return
	}
	if err == nil && spec.Name == "select" {
		tx.db = req.Opts.(int)
	}
	if err == nil {
		s.queuedCaching(req)
	}
}

// queue enters a command, unless the transaction has failed already, and replies. It is false when there is no room.
func (s *session) queue(spec *commands.Spec, q queued) bool {
	if !s.tx.broken {
		if full := s.overfull(q.line); full != nil {
			s.refuse(spec, full)
			return false
		}
		s.tx.queue = append(s.tx.queue, q)
		s.multi.Add(1)
	}
	s.reply(resp.Status("QUEUED"))
	return true
}

// overfull is the error of a command for which the queue has no room.
func (s *session) overfull(line []string) error {
	most := queuedPerSlot * s.srv.cfg.MaxPipeline
	if len(s.tx.queue) >= most {
		return resp.TooMany("commands in a transaction", most)
	}
	s.tx.bytes += queuedBytes + lengthOf(line)
	if s.tx.bytes > s.srv.cfg.MaxBulk {
		return resp.TooMany("bytes in a transaction", s.srv.cfg.MaxBulk)
	}
	return nil
}

// refuse answers a command that cannot run. It makes the transaction fail that it should have been part of; an EXEC
// that cannot run ends it.
func (s *session) refuse(spec *commands.Spec, why error) {
	reply := resp.ReplyFor(why)
	switch {
	case spec != nil && spec.Name == "exec":
		s.leaveMulti()
		reply = resp.ExecAbort(reply.Str).Value()
	case s.tx != nil:
		s.tx.broken, s.tx.queue = true, nil
	}
	s.count(spec, reply)
}

// execute answers EXEC: one call to the backend for all that is the backend's, and then what the front end answers.
func execute(s *session, r *commands.Request) {
	tx, watches := s.tx, s.watches
	switch {
	case tx == nil:
		s.count(r.Spec, resp.ErrExecWithoutMulti.Value())
		return
	case tx.broken:
		s.leaveMulti()
		s.count(r.Spec, resp.ErrExecAbort.Value())
		return
	}
	if tx.side == route.Nobody {
		tx.side, _ = s.watchedSide()
	}
	s.tx, s.watches, s.watchBytes = nil, nil, 0
	defer s.multi.Store(0)
	if tx.side == route.Upstream {
		s.executePassed(r, tx)
		return
	}
	if tx.side == route.Locks && !s.turnTo(route.Locks) {
		return
	}
	watched, err := s.settle(watches)
	if err != nil {
		s.count(r.Spec, resp.ReplyFor(err))
		return
	}
	call := &commands.Call{Block: true, Watched: watched}
	for _, q := range tx.queue {
		if q.backend() {
			call.Requests = append(call.Requests, q.request)
		}
	}
	if len(call.Requests) == len(tx.queue) && len(call.Requests)+len(watched) > 0 {
		s.submitBlock(r, tx, call)
		return
	}
	s.runMixed(r, tx, call)
}

// submitBlock hands over a transaction in which the front end has no part. The reader goes on.
func (s *session) submitBlock(r *commands.Request, tx *transaction, call *commands.Call) {
	sl := s.blockSlot(r, tx)
	sl.call = *call
	sl.call.Done = func(res Result) {
		sl.tallyBlock(res.Reply)
		sl.answer(res)
	}
	s.out.add(sl)
	s.hand(&sl.call)
}

func (s *session) blockSlot(r *commands.Request, tx *transaction) *slot {
	sl := s.slot(nil)
	sl.asked = tx.bytes
	sl.one[0] = r
	sl.began, sl.counts = s.readAt, s.srv
	return sl
}

// tallyBlock counts the commands of a block that has run.
func (s *slot) tallyBlock(reply resp.Value) {
	if len(reply.Elems) != len(s.call.Requests) {
		return
	}
	for i, r := range s.call.Requests {
		s.counts.tally(r.Spec, reply.Elems[i], s.began)
	}
}

// runMixed runs a transaction that has commands of the front end. Whether they run, and with them the state of the
// session, depends on the watched keys, so the reader waits for the backend. The backend's commands all run before
// the others; their replies stand where the commands stood.
func (s *session) runMixed(r *commands.Request, tx *transaction, call *commands.Call) {
	sl := s.blockSlot(r, tx)
	sl.call = *call
	s.out.add(sl)
	var replies []resp.Value
	var granted []commands.Grant
	if len(call.Requests)+len(call.Watched) > 0 {
		res, ok := s.ask(&sl.call)
		if !ok {
			return
		}
		if res.Close || res.Reply.Kind != resp.Array || len(res.Reply.Elems) != len(call.Requests) {
			sl.answer(res)
			return
		}
		sl.tallyBlock(res.Reply)
		replies = res.Reply.Elems
		if sl.call.Fencing {
			granted = res.Granted
		}
	}
	parts := s.runLocal(tx.queue, replies, queued.backend)
	s.srv.tally(r.Spec, resp.OK(), s.readAt)
	s.out.enact(sl, func() (all []resp.Value) {
		for _, g := range granted {
			all = append(all, grantPush(g))
		}
		return append(all, gathered(parts)...)
	}, s.proto, s.leaving)
}

// runLocal runs the front end's commands of a transaction in order, and returns what makes the reply of each
// command, that of the others, which elsewhere tells, from replies.
func (s *session) runLocal(queue []queued, replies []resp.Value, elsewhere func(queued) bool) []func() []resp.Value {
	parts := make([]func() []resp.Value, len(queue))
	for i, q := range queue {
		switch {
		case elsewhere(q):
			parts[i], replies = fixedReply(replies[0]), replies[1:]
		case q.failed != nil:
			parts[i] = fixedReply(resp.ReplyFor(q.failed))
		default:
			parts[i] = s.local(q.request)
		}
	}
	return parts
}

// local runs a command of the front end, and returns what makes its replies.
func (s *session) local(r *commands.Request) func() []resp.Value {
	h := s.srv.handlers[r.Spec.ID]
	switch {
	case h.listen != nil:
		return s.listenNow(r, h.listen)
	case h.later != nil:
		s.srv.tally(r.Spec, resp.OK(), s.readAt)
		return h.later(s, r)
	}
	v := h.now(s, r)
	s.srv.tally(r.Spec, v, s.readAt)
	return fixedReply(v)
}

func fixedReply(v resp.Value) func() []resp.Value {
	return func() []resp.Value { return []resp.Value{v} }
}

// gathered is the reply of EXEC. A command with several replies, such as SUBSCRIBE to two channels, still counts as
// one element, as in Redis: what is too much follows the array.
func gathered(parts []func() []resp.Value) []resp.Value {
	var all []resp.Value
	for _, part := range parts {
		all = append(all, part()...)
	}
	n := min(len(parts), len(all))
	return append([]resp.Value{resp.Arr(all[:n:n]...)}, all[n:]...)
}

// ask has the backend answer a call and waits for it. It returns false when the session is over.
func (s *session) ask(c *commands.Call) (Result, bool) {
	answer := make(chan Result, 1)
	c.Done = func(r Result) {
		select {
		case answer <- r:
		default: // a second answer is none
		}
	}
	s.hand(c)
	return await(s, answer)
}

// await waits on the reader for what a backend will send. Meanwhile others may write what the session owes.
func await[T any](s *session, answer <-chan T) (v T, ok bool) {
	select {
	case v = <-answer:
		return v, true
	default:
	}
	s.pause()
	defer s.out.acquire()
	select {
	case v = <-answer:
		return v, true
	case <-s.out.gone:
		return v, false
	}
}

// watching is a WATCH whose answer may not have come yet.
type watching struct {
	answer chan watchAnswer
}

type watchAnswer struct {
	keys   []commands.Watch
	failed error
}

// watch answers WATCH. What the backend tells of the keys stays here for EXEC.
func watch(s *session, r *commands.Request) {
	if s.tx != nil {
		s.count(r.Spec, resp.ErrWatchInMulti.Value())
		return
	}
	if s.passing.watching.Load() {
		s.count(r.Spec, resp.MixedKeys(r.Keys()[0], "a watched key").Value())
		return
	}
	w := watching{answer: make(chan watchAnswer, 1)}
	s.watches = append(s.watches, w)
	keys := r.Keys()
	s.watchBytes += len(keys)*queuedBytes + lengthOf(keys)
	if s.watchBytes > s.srv.cfg.MaxBulk {
		full := resp.TooMany("bytes of watched keys", s.srv.cfg.MaxBulk)
		w.answer <- watchAnswer{failed: full}
		s.count(r.Spec, full.Value())
		return
	}
	sl := s.requestSlot(r)
	sl.call.Done = func(res Result) {
		a := watchAnswer{keys: commands.WatchesOf(r, res.Reply)}
		if a.keys != nil {
			res.Reply = resp.OK()
		} else {
			a.failed = resp.Failure(res.Reply.Str)
		}
		select {
		case w.answer <- a:
		default: // a second answer is none
		}
		sl.answer(res)
	}
	s.out.add(sl)
	s.hand(&sl.call)
}

func unwatch(s *session, _ *commands.Request) resp.Value {
	s.watches, s.watchBytes = nil, 0
	s.unwatchPassed()
	return resp.OK()
}

// settle waits for the answers of all WATCHes. A WATCH that failed makes the EXEC fail that trusted in it.
func (s *session) settle(list []watching) (keys []commands.Watch, err error) {
	for _, w := range list {
		a, ok := await(s, w.answer)
		switch {
		case !ok:
			return nil, resp.ErrExecAbort // nobody will read it
		case a.failed != nil:
			return nil, resp.ExecAbort(a.failed.Error())
		}
		keys = append(keys, a.keys...)
	}
	return slices.Clip(keys), nil
}

func lengthOf(words []string) (n int) {
	for _, word := range words {
		n += len(word)
	}
	return n
}

// enact completes a slot by what makes its reply once all replies before it are known.
func (o *outbox) enact(s *slot, act func() []resp.Value, p resp.Protocol, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.done || o.phase == phaseClosed {
		return
	}
	s.act, s.proto, s.last = act, p, last
	o.settled(s, slotBytes)
	o.wakeWriter()
}
