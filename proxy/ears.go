package proxy

import (
	"sync"
	"sync/atomic"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// ears are the topics that sessions of this process want to hear of: the first one that does makes the backend listen,
// the last one ends it.
type ears struct {
	backend listens

	mu   sync.Mutex // held while the backend is called, so that it hears of a topic in order
	open map[Topic]*ear
}

// ear is one topic from when the backend began to listen to when it ended. Many sessions share it.
type ear struct {
	topic Topic
	users int // guarded by ears.mu

	mu      sync.Mutex
	settled bool
	err     error
	waiting []func(error)
}

// listens is the part of a backend, or of the upstream, that hears.
type listens interface {
	Listen(t Topic, ready func(error))
	Unlisten(t Topic)
}

func newEars(b listens) *ears { return &ears{backend: b, open: map[Topic]*ear{}} }

// take makes the backend listen to a topic, if it does not, and calls ready when it does or cannot. Where the backend
// could not for somebody else, it is asked again.
func (e *ears) take(t Topic, ready func(error)) *ear {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.open[t]
	if at != nil && !at.failed() {
		at.users++
		at.await(ready)
		return at
	}
	if at != nil {
		e.backend.Unlisten(t)
	}
	at = &ear{topic: t, users: 1, waiting: []func(error){ready}}
	e.open[t] = at
	e.backend.Listen(t, at.settle)
	return at
}

// give ends the use of an ear. Whoever still waits for it is not kept waiting: it was given up by the same session.
func (e *ears) give(at *ear) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at.users--
	if at.users > 0 {
		return
	}
	if e.open[at.topic] == at {
		delete(e.open, at.topic)
		e.backend.Unlisten(at.topic)
	}
	at.settle(nil)
}

func (a *ear) failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err != nil
}

// await calls ready once it is known whether the backend listens.
func (a *ear) await(ready func(error)) {
	a.mu.Lock()
	if !a.settled {
		a.waiting = append(a.waiting, ready)
		a.mu.Unlock()
		return
	}
	err := a.err
	a.mu.Unlock()
	ready(err)
}

// settle is what the backend calls.
func (a *ear) settle(err error) {
	a.mu.Lock()
	if a.settled {
		a.mu.Unlock()
		return
	}
	waiting := a.waiting
	a.settled, a.err, a.waiting = true, err, nil
	a.mu.Unlock()
	for _, ready := range waiting {
		ready(err)
	}
}

// heard are the ears that a session has taken and not given up. The reader takes them, and gives them up when the
// command that says so has its turn, perhaps on the writer. Between these the session may have taken one a second time.
type heard struct {
	mu    sync.Mutex
	taken map[Topic][]*ear
}

// take listens to topics for a session, and calls done when all are heard, or one cannot be.
func (h *heard) take(e *ears, topics []Topic, done func(error)) {
	left := atomic.Int64{}
	left.Store(int64(len(topics)) + 1)
	failed := atomic.Pointer[error]{}
	ready := func(err error) {
		if err != nil {
			failed.CompareAndSwap(nil, &err)
		}
		if left.Add(-1) > 0 {
			return
		}
		if first := failed.Load(); first != nil {
			err = *first
		}
		done(err)
	}
	for _, t := range topics {
		at := e.take(t, ready)
		h.mu.Lock()
		if h.taken == nil {
			h.taken = map[Topic][]*ear{}
		}
		h.taken[t] = append(h.taken[t], at)
		h.mu.Unlock()
	}
	ready(nil)
}

// give gives up the ear of a topic that was taken first.
func (h *heard) give(e *ears, t Topic) {
	h.mu.Lock()
	list := h.taken[t]
	if len(list) == 0 {
		h.mu.Unlock()
		return
	}
	if h.taken[t] = list[1:]; len(list) == 1 {
		delete(h.taken, t)
	}
	h.mu.Unlock()
	e.give(list[0])
}

// giveAll gives up all ears of a session that is over, and returns their topics.
func (h *heard) giveAll(e *ears) (topics []Topic) {
	h.mu.Lock()
	taken := h.taken
	h.taken = nil
	h.mu.Unlock()
	for t, list := range taken {
		topics = append(topics, t)
		for _, at := range list {
			e.give(at)
		}
	}
	return topics
}

// listenFor answers a command once the backend listens to what it wants to hear of. When the backend cannot, the
// connection ends behind the error, since what the client would believe to be subscribed to is not what is.
func (s *session) listenFor(r *commands.Request, begin func(*session, *commands.Request) ([]Topic, func() []resp.Value)) {
	topics, act := begin(s, r)
	if len(topics) == 0 {
		s.later(r, act)
		return
	}
	sl := s.slot(r.Args)
	began, last := s.readAt, s.leaving
	s.out.add(sl)
	s.heard.take(s.srv.ears, topics, func(err error) {
		if err != nil {
			s.srv.tally(r.Spec, resp.ReplyFor(err), began)
			s.out.answered(sl, Result{Reply: resp.ReplyFor(err), Close: true})
			return
		}
		s.srv.tally(r.Spec, resp.OK(), began)
		s.out.enact(sl, act, sl.proto, last)
	})
}

// listenNow is listenFor inside a transaction, where the reader waits.
func (s *session) listenNow(r *commands.Request, begin func(*session, *commands.Request) ([]Topic, func() []resp.Value)) func() []resp.Value {
	topics, act := begin(s, r)
	answer := make(chan error, 1)
	s.heard.take(s.srv.ears, topics, func(err error) { answer <- err })
	err, ok := await(s, answer)
	if ok && err == nil {
		s.srv.tally(r.Spec, resp.OK(), s.readAt)
		return act
	}
	s.leaving = true
	if !ok {
		return fixedReply(resp.Value{}) // nobody will read it
	}
	s.srv.tally(r.Spec, resp.ReplyFor(err), s.readAt)
	return fixedReply(resp.ReplyFor(err))
}
