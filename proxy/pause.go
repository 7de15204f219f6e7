package proxy

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// pause is what CLIENT PAUSE asked for: the sessions of this process stop before the next command that it holds back.
type pause struct {
	on   atomic.Bool // there may be a pause
	mu   sync.Mutex
	ends time.Time // zero for no pause
	all  bool
	over chan struct{} // closed when the pause is replaced or ended
}

// noPause is the order that ends a pause.
var noPause = args.Pause{}

// set begins a pause, or another one in place of it; none with noPause.
func (p *pause) set(order args.Pause) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != nil {
		close(p.over)
	}
	p.ends, p.all, p.over = time.Time{}, order.All, nil
	p.on.Store(order.For > 0)
	if order.For > 0 {
		p.ends, p.over = time.Now().Add(order.For), make(chan struct{})
	}
}

// holds tells for how long a command must wait, and what ends that early.
func (p *pause) holds(writes bool) (left time.Duration, over <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left = time.Until(p.ends)
	if left <= 0 {
		p.on.Store(false)
	}
	if p.all || writes {
		return left, p.over
	}
	return 0, nil
}

// waitOut stops the reader while clients are paused. A session that ends, or a server, does not wait.
func (s *session) waitOut(spec *commands.Spec) {
	for s.srv.pause.on.Load() && !s.srv.draining.Load() && spec.Name != "quit" {
		left, over := s.srv.pause.holds(s.mayWrite(spec))
		if left <= 0 {
			return
		}
		s.pause()
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-over:
		case <-s.out.gone:
		}
		timer.Stop()
		s.out.acquire()
		if s.out.closed() {
			return
		}
	}
}

// mayWrite tells whether a pause of writes holds a command back: all that may change keys or publish.
func (s *session) mayWrite(spec *commands.Spec) bool {
	if spec.Name != "exec" {
		return changes(spec)
	}
	if s.tx == nil {
		return false
	}
	for _, q := range s.tx.queue {
		runs := q.passed || q.failed == nil
		if q.spec == nil || runs && changes(q.spec) {
			return true
		}
	}
	return false
}

func changes(spec *commands.Spec) bool {
	return spec.Raft == commands.Change && !spec.Flags.Has(commands.ReadOnly)
}

func clientPause(s *session, r *commands.Request) resp.Value {
	s.srv.pause.set(r.Opts.(args.Pause))
	return resp.OK()
}

func clientUnpause(s *session, _ *commands.Request) resp.Value {
	s.srv.pause.set(noPause)
	return resp.OK()
}
