package integration

import (
	"strconv"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// TestQuorumClassicHole is what Redlock's critics found (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/,
// "Performance, crash recovery and fsync"): A holds a lock on nodes 1 and 2 while 3 is away; 2 restarts empty; B must not get it
// from 2 and 3. A library that counts answers gives it to B, and the same checks see that.
func TestQuorumClassicHole(t *testing.T) {
	tests := map[string]struct {
		clients func(t *testing.T, r *ring, h *history) (a, b lockClient)
		sound   bool
	}{
		"one process": {func(t *testing.T, r *ring, h *history) (a, b lockClient) {
			t.Helper()
			p := r.addProxy()
			return &proxyClient{addr: p.Addr, h: h}, &proxyClient{addr: p.Addr, h: h}
		}, true},
		// The process that knows what node 3 has missed is gone.
		"another process, the first one killed": {func(t *testing.T, r *ring, h *history) (a, b lockClient) {
			t.Helper()
			first, second := r.addProxy(), r.addProxy()
			return &doomedClient{proxyClient{addr: first.Addr, h: h}, first}, &proxyClient{addr: second.Addr, h: h}
		}, true},
		"counting answers": {func(t *testing.T, r *ring, _ *history) (a, b lockClient) {
			t.Helper()
			return newCounting(t, r), newCounting(t, r)
		}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, h := startRing(t, ringOf{nodes: 3}), newHistory()
			a, b := tc.clients(t, r, h)
			defer b.close()
			playHole(t, r, h, a, b)
			if found := h.judge(); (len(found) == 0) != tc.sound {
				t.Fatalf("found %q", found)
			}
		})
	}
}

// doomedClient kills the process it talks to once it has a lock.
type doomedClient struct {
	proxyClient
	server *harness.Server
}

func (d *doomedClient) acquire(a *attempt) {
	d.proxyClient.acquire(a)
	d.close()
	d.server.Kill()
}

// playHole has A take the lock, and B try for it until that has been refused often, or it was granted.
func playHole(t *testing.T, r *ring, h *history, a, b lockClient) {
	t.Helper()
	const key, ttl = "fence:hole", 20 * time.Second
	away := r.relays[2]
	away.Hold(harness.ToServer)
	held := &attempt{key: key, owner: "A", ttl: ttl}
	if a.acquire(held); held.outcome != wasGranted {
		t.Fatalf("A was not granted the lock: %+v", held)
	}
	h.record(held)
	away.Cut()
	r.servers[1].Kill()
	away.Release(harness.ToServer)
	r.servers[1].Restart()
	if n := harness.Dial(t, r.servers[2].Addr).Int("EXISTS", key); n != 0 {
		t.Fatal("node 3 has the lock: the test would prove nothing")
	}
	refusals := 0
	harness.Eventually(t, patience, func() bool {
		try := &attempt{key: key, owner: "B" + strconv.Itoa(len(h.attempts)), ttl: ttl}
		b.acquire(try)
		h.record(try)
		if try.outcome == wasRefused {
			refusals++
		}
		return refusals == 20 || try.outcome == wasGranted
	})
}

// counting is a client that takes locks as Redlock libraries do: it counts OK, and nothing else.
type counting struct{ nodes []*proxyClient }

func newCounting(t *testing.T, r *ring) *counting {
	t.Helper()
	c := &counting{}
	for _, relay := range r.relays {
		n := &proxyClient{addr: relay.Addr, h: newHistory()}
		t.Cleanup(n.close)
		c.nodes = append(c.nodes, n)
	}
	return c
}

func (c *counting) acquire(a *attempt) {
	a.asked = time.Now()
	won := 0
	for _, n := range c.nodes {
		if n.acquirePlain(a) {
			won++
		}
		if won > len(c.nodes)/2 {
			break // as if the others were away
		}
	}
	a.told, a.ends, a.outcome = time.Now(), a.asked.Add(validity(a.ttl)), wasRefused
	if won > len(c.nodes)/2 {
		a.outcome = wasGranted
	}
}

func (c *proxyClient) acquirePlain(a *attempt) bool {
	reply, _ := c.do("SET", a.key, a.owner, "NX", "PX", milliseconds(a.ttl))
	return reply.Text == "OK"
}

func (c *counting) renew(*attempt) answer   { return notDone }
func (c *counting) release(*attempt) answer { return notDone }
func (c *counting) close()                  {}
