package quorum

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// crowds gather the requests of all sessions that want the same absent key (SET NX), so that the nodes are asked once
// for all of them: contention costs what one request costs, and the lock goes to those who wait in order of arrival.
//
// One request of a crowd is on its way at a time. When it is refused, so are those that came before it was sent, and the
// first of those that came since is sent next. When it is granted, somebody else holds the lock now, but perhaps not for
// long: so the others wait for a moment. If the holder releases the lock within that, the first of them is sent together with
// the release, and a change of holder costs one exchange with the nodes. If not, the nodes are asked for them.
type crowds struct {
	count atomic.Int64 // of crowds, so that the common case is cheap
	mu    sync.Mutex
	on    map[place]*crowd
}

// crowd are the requests for one key.
type crowd struct {
	of      *crowds
	at      place
	asking  *request   // on its way
	cohort  []*request // came before asking was sent: what holds for it holds for them
	waiting []*request // came since
	grants  int        // so far
}

const (
	holdPatience  = 2 * time.Millisecond  // after a grant, for its release
	crowdPatience = 10 * time.Millisecond // of one request, for its turn
)

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
		c.count.Add(1)
		return false
	}
	r.crowd = g
	g.waiting = append(g.waiting, r)
	return true
}

// over takes the reply to the request that was on its way, answers those for whom it holds too, and sends the next,
// unless that may wait for the release of what was granted.
func (g *crowd) over(v resp.Value) {
	c, e := g.of, g.asking.engine
	c.mu.Lock()
	settled := g.cohort
	if granted(v) {
		g.grants++
		settled = g.park()
	}
	g.asking, g.cohort = nil, nil
	var next *request
	switch {
	case len(g.waiting) == 0:
		delete(c.on, g.at)
		c.count.Add(-1)
	case granted(v):
		grants := g.grants
		e.cfg.Clock.AfterFunc(holdPatience, func() { g.goOn(grants) })
	default:
		next = g.advance()
	}
	c.mu.Unlock()
	for _, r := range settled {
		r.end(forOthers(v))
	}
	if next != nil {
		next.engine.try(next)
	}
}

// park lets those that came before the grant wait for its release, and returns those that have waited for long enough.
func (g *crowd) park() (settled []*request) {
	var stay []*request
	for _, r := range slices.Concat(g.cohort, g.waiting) {
		if r.age() < crowdPatience {
			stay = append(stay, r)
		} else {
			settled = append(settled, r)
		}
	}
	g.waiting = stay
	return settled
}

// advance takes the first that waits to be the one on its way.
func (g *crowd) advance() *request {
	g.asking, g.cohort, g.waiting = g.waiting[0], g.waiting[1:], nil
	return g.asking
}

// goOn ends the wait for the release after a grant: the nodes are asked whether the lock is still held.
func (g *crowd) goOn(grants int) {
	c := g.of
	c.mu.Lock()
	var next *request
	if g.asking == nil && g.grants == grants && len(g.waiting) > 0 {
		next = g.advance()
	}
	c.mu.Unlock()
	if next != nil {
		next.engine.try(next)
	}
}

// after takes the request that is to be sent together with a release: the first of those that wait for it.
func (c *crowds) after(r *request) *request {
	if c.count.Load() == 0 || len(r.keys) != 1 || r.tries > 0 || !r.releases() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.on[place{r.db, r.keys[0]}]
	if g == nil || g.asking != nil || len(g.waiting) == 0 {
		return nil
	}
	return g.advance()
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
