package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
)

// fencing compares redfence with a build of itself that makes no fencing tokens.
func fencing(ctx context.Context, o options, program, dir string) (nodes, servers []*server, err error) {
	tokenless, err := buildRedfence(ctx, filepath.Join(dir, "redfence-tokenless"), "tokenless")
	if err != nil {
		return nil, nil, err
	}
	for i := range o.nodes {
		nodes = append(nodes, nodeServer(o.redis, dir, i))
	}
	for _, side := range []struct {
		name, program string
		fenced        bool
	}{{"no tokens", tokenless, false}, {"with token", program, true}} {
		s := redfenceServer(side.program, o, dir)
		if o.nodes > 0 {
			s = quorumServer(side.program, dir, nodes)
		}
		s.name, s.dir, s.fenced = side.name, filepath.Join(dir, filepath.Base(side.program)+"-data"), side.fenced
		servers = append(servers, s)
	}
	return nodes, servers, nil
}

// fenceSetting has every client take and release a lock of its own, and on one side be told the token of each grant.
// The release is not counted, but takes its time. In quorum mode both sides have the same nodes, but not the same locks:
// what stands there of one side's would be news to the other.
func fenceSetting(clients int) setting {
	s := lockSetting(clients)
	s.name = "fence"
	s.about = "every client takes and releases its own lock; only the acquisitions are counted: SET NX PX of a build without tokens, and SET NX PX FENCE, whose tokens must rise"
	s.ops = []op{{"acquire", true}, {"release", false}}
	s.after = noCheck
	raw := s.enlist
	s.enlist = func(c *client) cycle {
		if !c.server.fenced {
			return c.tokenless(raw(c))
		}
		key := "bench:held:" + strconv.Itoa(c.id)
		acquire := encode("SET", key, placeholder, "NX", "PX", leaseMillis, "FENCE")
		_, release := lockRequests(key)
		last := int64(0)
		return func() error {
			c.token.next()
			if err := c.timedCall(0, func() error { return c.fenced(acquire.with(c.token), &last) }); err != nil {
				return err
			}
			return c.timed(1, release.with(c.token), wantOne)
		}
	}
	return s
}

// fenced takes a lock, and checks that its token is above the last.
func (c *client) fenced(acquire []byte, last *int64) error {
	r, err := c.do(acquire)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(string(r.text), 10, 64)
	if r.kind != ':' || err != nil || n <= *last {
		return fmt.Errorf("%w %v to %q behind token %d", errWrongReply, r, acquire, *last)
	}
	*last = n
	return nil
}

// tokenless is a cycle on a server of which it is shown first that it makes no tokens.
func (c *client) tokenless(do cycle) cycle {
	key, shown := "bench:shown:"+strconv.Itoa(c.id), false
	return func() error {
		if !shown {
			shown = true
			if err := c.must(encode("SET", key, "x", "NX", "PX", leaseMillis, "FENCE").wire, wantZero); err != nil {
				return err
			}
			if err := c.must(encode("DEL", key).wire, wantOne); err != nil {
				return err
			}
		}
		return do()
	}
}
