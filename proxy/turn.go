package proxy

import (
	"runtime"
	"sync/atomic"
)

const (
	// beginners is how many sessions at once may be between their acceptance and their first read.
	beginners = 8
	// longLine is how many sessions may wait for a turn before those who connect have to wait in the same line.
	longLine = 1024
)

// turns bounds how many sessions do lengthy work at once. The runtime gives a processor to one goroutine after the
// other, so with hundreds that work for milliseconds the log waits for all of them, and so does everybody else. With
// turns they wait for each other, in the order in which they asked.
type turns struct {
	free    chan struct{}
	waiting atomic.Int64
}

func newTurns(n int) *turns { return &turns{free: make(chan struct{}, n)} }

// halfTheProcessors is turns that leave the other half to those who need none.
func halfTheProcessors() *turns { return newTurns(max(1, runtime.GOMAXPROCS(0)/2)) }

// take waits for a turn. It gives up, and is false, when gone is closed.
func (t *turns) take(gone <-chan struct{}) bool {
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	select {
	case t.free <- struct{}{}:
		return true
	case <-gone:
		return false
	}
}

// give ends a turn. It never waits.
func (t *turns) give() { <-t.free }

// takeTurn waits until the session may work through a pipeline. Only the reader calls it, without a turn.
func (s *session) takeTurn() {
	if t := s.srv.pipelining; t.take(s.out.gone) {
		s.turn = t
	}
}

// giveTurn ends the session's turn, if it has one. The reader calls it before it waits for anything.
func (s *session) giveTurn() {
	if s.turn != nil {
		s.turn.give()
		s.turn = nil
	}
}

// standBy gives others their turn, and sends what the upstream is to have. It does not block.
func (s *session) standBy() {
	s.giveTurn()
	s.flushLink()
}

// pause readies the session for a wait of the reader: others have their turn, and what can be written is.
func (s *session) pause() {
	s.standBy()
	s.out.release()
}

// admit waits until one more command may be taken on. It is false when the session is over.
func (s *session) admit() bool {
	waited, open := s.out.admit()
	if waited && open {
		s.takeTurn()
	}
	return open
}
