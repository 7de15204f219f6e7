package quorum

import (
	"slices"

	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// reading is what a resync has read of one key: first on the node that may have forgotten it, then on N-M+1 others. Of
// any majority that granted something, and of which the node was a part, one at least is among those.
type reading struct {
	own    runner.State
	others []runner.State
	// rested says that the node had this version already so long before the others were read that no request which
	// wrote it can execute on them any more.
	rested bool
}

// choose is what the node is to be given of the key so that it may count again; nil when it has that. Again says that it
// cannot be told yet, and the key is to be read again. ID names the resync.
//
// While the others differ, a request may be about to be won, or to be put back. When they still do after that, and one
// of them has the key, it may be a lock that the node has forgotten, or what is left of a lost request, and nothing tells
// which. So the key is made present on the node until the last of them is over, under a version that no other node has,
// which therefore nobody counts or puts back. The highest version would not do: a lost request can be as high as the
// grant in which the node took part.
func (r *reading) choose(id string) (c *runner.Conditional, again bool) {
	if len(r.others) == 0 || r.own.Version.Request == id {
		return nil, false
	}
	agreed := r.agreed()
	c = &runner.Conditional{State: r.others[0]}
	c.TTL, c.Mark = r.longest()
	switch {
	case agreed && r.has(&c.State):
		return nil, false
	case agreed && r.behind(&c.State):
		return c, false
	case agreed && r.own.Exists && r.own.Version == c.Version:
		c.Again = true
		return c, false
	case !r.rested:
		return nil, true
	case !agreed:
		ttl, mark := c.TTL, c.Mark
		c.State = r.disputed(id)
		c.Mark = mark
		if c.Version.Request == id {
			c.TTL = ttl
		}
	}
	c.Expect = &r.own.Version
	return c, false
}

// agreed tells whether all others have the key in the same state.
func (r *reading) agreed() bool {
	first := &r.others[0]
	return !slices.ContainsFunc(r.others, func(s runner.State) bool {
		return s.Version != first.Version || s.Exists != first.Exists || !slices.Equal(s.Content, first.Content)
	})
}

// has tells whether the node has a state already. Of what clients set there directly it does not matter what.
func (r *reading) has(s *runner.State) bool {
	if r.own.Version != s.Version || r.own.Mark < s.Mark {
		return false
	}
	unknown := s.Version == tally.Version{}
	return r.own.Exists == s.Exists && (!s.Exists || unknown || sameEnd(r.own.TTL, s.TTL)) || r.own.Exists && unknown
}

// sameEnd tells whether TTLs differ only because they were read one after the other, and not because a clock stepped.
func sameEnd(a, b int64) bool {
	const near = 1000 // ms
	return a == b || a != tally.Forever && b != tally.Forever && max(a-b, b-a) < near
}

// behind tells whether a state only carries the node forward. No request counts what it writes there meanwhile, for it
// finds a higher version on the others, unless it renews a hold that all have.
func (r *reading) behind(s *runner.State) bool {
	return r.own.Version.Before(s.Version) && (r.own.Token == 0 || r.own.Token != s.Token)
}

// longest is the longest TTL that one of the others has the key for, and the largest mark.
func (r *reading) longest() (ttl int64, mark fencing.Token) {
	for _, s := range r.others {
		if s.Exists && ttl != tally.Forever {
			ttl = max(ttl, s.TTL)
		}
		if s.Exists && s.TTL == tally.Forever {
			ttl = tally.Forever
		}
		mark = max(mark, s.Mark)
	}
	return ttl, mark
}

// disputed is what the node has of a key about which the others do not agree: the highest version that is present, under
// a name of its own. When all have it without end, such as a counter, or when none has it, the highest will do.
func (r *reading) disputed(id string) runner.State {
	best, highest, endless := r.others[0], uint64(0), true
	for _, s := range r.others {
		highest = max(highest, s.Version.Number)
		endless = endless && s.Exists && s.TTL == tally.Forever
		if s.Exists && !best.Exists || s.Exists == best.Exists && best.Version.Before(s.Version) {
			best = s
		}
	}
	if best.Exists && !endless {
		best.Version = tally.Version{Number: highest, Request: id}
	}
	return best
}
