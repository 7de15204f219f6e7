package quorum

import (
	"slices"
	"sync"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// Stream carries the calls of one session. Requests that have a key in common take effect in the order of Submit:
// a later one is not sent before the earlier one is over, so that one that is tried again is never overtaken. A
// request whose keys cannot be told from its line waits for all, and all wait for it.
type Stream struct {
	engine *Engine
	mu     sync.Mutex
	open   []*request // not over, in the order of Submit
}

// place is a key of a database.
type place struct {
	db  int
	key string
}

// Open starts the stream of a session.
func (e *Engine) Open() *Stream { return &Stream{engine: e} }

// Submit runs a call. It does not wait.
func (s *Stream) Submit(c *commands.Call) {
	r := newRequest(s.engine, s, c)
	s.mu.Lock()
	free := !slices.ContainsFunc(s.open, r.conflicts)
	r.started = free
	s.open = append(s.open, r)
	s.mu.Unlock()
	if free { // otherwise the end of what it waits for starts it, perhaps by now
		r.start()
	}
}

// Close abandons the calls that wait for an earlier one.
func (s *Stream) Close() {
	s.mu.Lock()
	var waiting []*request
	s.open = slices.DeleteFunc(s.open, func(r *request) bool {
		if !r.started {
			waiting = append(waiting, r)
		}
		return !r.started
	})
	s.mu.Unlock()
	for _, r := range waiting {
		r.call.Done(commands.Result{Reply: resp.ErrTryAgainLate.Value()})
	}
}

// over takes a request off the books, and starts those that waited for it.
func (s *Stream) over(done *request) {
	s.mu.Lock()
	at := slices.Index(s.open, done)
	s.open = slices.Delete(s.open, at, at+1)
	var free []*request
	for i, r := range s.open {
		if i >= at && !r.started && !slices.ContainsFunc(s.open[:i], r.conflicts) {
			r.started = true
			free = append(free, r)
		}
	}
	s.mu.Unlock()
	for _, r := range free {
		r.start()
	}
}

// conflicts tells whether r must wait for an earlier request.
func (r *request) conflicts(earlier *request) bool {
	if r.db != earlier.db {
		return r.alone || earlier.alone
	}
	return r.alone || earlier.alone || slices.ContainsFunc(r.keys, func(k string) bool { return slices.Contains(earlier.keys, k) })
}
