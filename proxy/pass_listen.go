package proxy

import (
	"sync/atomic"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy/route"
)

// listening is what hears for the sessions: the backend, and the upstream for what belongs there.
func listening(cfg Config) listens {
	if cfg.Upstream == nil {
		return cfg.Backend
	}
	return bothEars{cfg.Backend, cfg.Upstream, cfg.Rules}
}

// bothEars listens at the side from which messages on a topic can come, or at both.
type bothEars struct {
	ours, theirs listens
	rules        route.Rules
}

func (b bothEars) side(t Topic) route.Side {
	switch t.Kind {
	case commands.TopicChanges:
		return route.Locks
	case commands.TopicPattern:
		return b.rules.Pattern(t.Name)
	case commands.TopicChannel, commands.TopicShard:
	}
	return b.rules.Channel(t.Name)
}

// Listen is part of listens.
func (b bothEars) Listen(t Topic, ready func(error)) {
	switch b.side(t) {
	case route.Locks:
		b.ours.Listen(t, ready)
	case route.Upstream:
		b.theirs.Listen(t, ready)
	default:
		each := bothReady(ready)
		b.ours.Listen(t, each)
		b.theirs.Listen(t, each)
	}
}

// bothReady is called twice, and calls ready the second time, or the first time with an error.
func bothReady(ready func(error)) func(error) {
	var left atomic.Int32
	left.Store(2)
	return func(err error) {
		switch {
		case err != nil:
			if left.Swap(-1) > 0 {
				ready(err)
			}
		case left.Add(-1) == 0:
			ready(nil)
		}
	}
}

// Unlisten is part of listens.
func (b bothEars) Unlisten(t Topic) {
	side := b.side(t)
	if side != route.Upstream {
		b.ours.Unlisten(t)
	}
	if side != route.Locks {
		b.theirs.Unlisten(t)
	}
}

// CutListeners ends the sessions that listen to one of these topics: messages were missed, and a client that is cut off
// subscribes again and looks at what may have changed.
func (s *Server) CutListeners(topics []Topic) {
	for _, ses := range s.all() {
		if ses.heard.any(topics) {
			s.log.Warn("cut off a client: messages of the upstream were missed", "client", ses.raw.RemoteAddr())
			ses.kill()
		}
	}
}

// any tells whether one of the topics was taken and not given up.
func (h *heard) any(topics []Topic) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		if len(h.taken[t]) > 0 {
			return true
		}
	}
	return false
}
