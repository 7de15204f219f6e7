package quorum

import (
	"sync"

	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// crowds gather the requests of all sessions that want the same absent key (SET NX), so that the nodes are asked once
// for all of them: contention costs what one request costs, and the lock goes to those who wait in order of arrival.
//
// One request of a crowd is on its way at a time. When it is granted, the others that came before the grant are
// refused: somebody else holds the lock now. When it is refused, so are those that came before it was sent, and
// the first of those that came since is sent next.
type crowds struct {
	mu sync.Mutex
	on map[place]*crowd
}

// crowd are the requests for one key.
type crowd struct {
	of      *crowds
	at      place
	asking  *request   // on its way
	cohort  []*request // came before asking was sent: what holds for it holds for them
	waiting []*request // came since
}

// wantsAbsent tells whether a request is a SET that changes a key only if it is absent, and then answers alike for
// all who are refused.
func wantsAbsent(r *request) bool {
	if r.call.Block || len(r.call.Requests) != 1 || len(r.call.Watched) > 0 {
		return false
	}
	o, ok := r.call.Requests[0].Opts.(args.SetOptions)
	return ok && o.When == args.IfAbsent && !o.Get
}

// join enters a request, and tells whether it is to wait for others.
func (c *crowds) join(r *request) (waits bool) {
	if !wantsAbsent(r) {
		return false
	}
	at := place{r.db, r.keys[0]}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.on[at]
	if g == nil {
		r.crowd = &crowd{of: c, at: at, asking: r}
		c.on[at] = r.crowd
		return false
	}
	r.crowd = g
	g.waiting = append(g.waiting, r)
	return true
}

// over takes the reply to the request that was on its way, answers those for whom it holds too, and sends the next.
func (g *crowd) over(v resp.Value) {
	c := g.of
	c.mu.Lock()
	settled := g.cohort
	if granted(v) {
		settled = append(settled, g.waiting...)
		g.waiting = nil
	}
	g.asking, g.cohort = nil, nil
	if len(g.waiting) > 0 {
		g.asking, g.cohort, g.waiting = g.waiting[0], g.waiting[1:], nil
	} else {
		delete(c.on, g.at)
	}
	next := g.asking
	c.mu.Unlock()
	for _, r := range settled {
		r.end(forOthers(v))
	}
	if next != nil {
		next.engine.try(next)
	}
}

// granted tells whether a reply to SET NX, or to SET NX FENCE, is a grant.
func granted(v resp.Value) bool { return v.Kind == resp.Simple || v.Kind == resp.Integer }

// forOthers is the reply of those for whom another's request was sent. What may have been executed for that one
// surely was not for them.
func forOthers(v resp.Value) resp.Value {
	switch {
	case granted(v):
		return resp.Value{}
	case resp.IsUnknownVote(v):
		return resp.ErrTryAgainVote.Value()
	}
	return v
}
