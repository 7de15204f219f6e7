package main

import (
	"fmt"
	"strconv"
)

// fencing compares redfence with itself: one process, whose clients ask for no fencing token, and then for one.
func fencing(o options, program, dir string) (nodes, servers []*server) {
	for i := range o.nodes {
		nodes = append(nodes, nodeServer(o.redis, dir, i))
	}
	plain := redfenceServer(program, o, dir)
	if o.nodes > 0 {
		plain = quorumServer(program, dir, nodes)
	}
	plain.name = "without"
	asking := &server{name: "with token", about: "the same process", behind: []*server{plain}, version: plain.version, fenced: true}
	return nodes, []*server{plain, asking}
}

// fenceSetting has every client take and release a lock of its own, and on one side be told the token of each grant.
// The release is not counted, but takes its time.
func fenceSetting(clients int) setting {
	s := lockSetting(clients)
	s.name = "fence"
	s.about = "every client takes and releases its own lock; only the acquisitions are counted: SET NX PX, or SET NX PX FENCE, whose tokens must rise"
	s.ops = []op{{"acquire", true}, {"release", false}}
	s.after = noCheck
	raw := s.enlist
	s.enlist = func(c *client) cycle {
		if !c.server.fenced {
			return raw(c)
		}
		key := "bench:lock:" + strconv.Itoa(c.id)
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
