package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// ring is redis-servers, a relay in front of each, and redfence processes that reach the servers through the relays.
type ring struct {
	t       *testing.T
	servers []*harness.Server
	clocks  []*harness.SteppedClock // nil unless they can be stepped
	relays  []*harness.Relay        // none when the processes reach the servers directly
	urls    []string                // of the nodes, as the processes are told
	proxies []*harness.Server
}

// ringOf says what a ring is made of.
type ringOf struct {
	nodes, proxies int
	durable        bool // the servers forget nothing when they are killed
	clocks         bool // of the servers can be stepped
	direct         bool // the processes reach the servers without relays
}

func startRing(t *testing.T, o ringOf) *ring {
	t.Helper()
	r := &ring{t: t}
	for range o.nodes {
		r.addServer(o)
	}
	for _, s := range r.servers {
		if o.direct {
			r.urls = append(r.urls, "redis://"+s.Addr)
			continue
		}
		relay := harness.StartRelay(t, s.Addr)
		r.relays, r.urls = append(r.relays, relay), append(r.urls, "redis://"+relay.Addr)
	}
	for range o.proxies {
		r.addProxy()
	}
	return r
}

func (r *ring) addServer(o ringOf) {
	r.t.Helper()
	var args []string
	if o.durable {
		args = []string{"--appendonly", "yes", "--appendfsync", "always"}
	}
	if !o.clocks {
		r.servers = append(r.servers, harness.StartRedis(r.t, args...))
		return
	}
	s, clock := harness.StartSteppedRedis(r.t, args...)
	r.servers, r.clocks = append(r.servers, s), append(r.clocks, clock)
}

// addProxy runs one more redfence over the nodes and returns when all of them count.
func (r *ring) addProxy() *harness.Server {
	r.t.Helper()
	var flags []string
	for _, url := range r.urls {
		flags = append(flags, "--node", url)
	}
	p := harness.StartRedfence(r.t, flags...)
	r.proxies = append(r.proxies, p)
	r.awaitCounted(p)
	return p
}

// awaitCounted waits until a proxy counts all nodes.
func (r *ring) awaitCounted(proxies ...*harness.Server) {
	r.t.Helper()
	for _, p := range proxies {
		if !harness.Poll(patience, func() bool { return r.counted(p) }) {
			r.t.Fatalf("not all nodes count:\n%s", harness.Dial(r.t, p.Addr).Do("INFO", "quorum").Text)
		}
	}
}

// counted tells whether a proxy counts all nodes now.
func (r *ring) counted(p *harness.Server) bool {
	r.t.Helper()
	w, err := harness.Open(p.Addr)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	info, err := w.Do("INFO", "quorum")
	return err == nil && strings.Contains(info.Text, fmt.Sprintf("quorum_counted:%d\r\n", len(r.servers)))
}

// reuse takes and gives back the locks of which something is left on a node whose clock has stepped: what was set while it
// was ahead may end an hour late there, which must be in nobody's way.
func (r *ring) reuse() {
	r.t.Helper()
	for i := range r.clocks {
		direct, c := harness.Dial(r.t, r.servers[i].Addr), harness.Dial(r.t, r.proxies[0].Addr)
		for _, key := range direct.Do("KEYS", "*").Elems {
			if strings.HasPrefix(key.Text, "__redfence__") || direct.Int("PTTL", key.Text) <= loadLease.Milliseconds() {
				continue
			}
			c.Want("OK", "SET", key.Text, "next", "NX", "PX", "1000")
			c.Want("(integer) 1", "EVAL", compareAndDelete, "1", key.Text, "next")
			harness.Eventually(r.t, patience, func() bool { return direct.Int("EXISTS", key.Text) == 0 })
		}
	}
}

// awaitGone waits until no node has a key of a client any more, and wants none to outlast most.
func (r *ring) awaitGone(most time.Duration) {
	r.t.Helper()
	for i, s := range r.servers {
		c := harness.Dial(r.t, s.Addr)
		for _, key := range c.Do("KEYS", "*").Elems {
			if strings.HasPrefix(key.Text, "__redfence__") {
				continue
			}
			if ttl := c.Int("PTTL", key.Text); ttl == -1 || ttl > most.Milliseconds() {
				r.t.Errorf("node %d has %s for %d ms, no lock was for more than %v", i+1, key.Text, ttl, most)
				continue
			}
			harness.Eventually(r.t, patience, func() bool { return c.Int("EXISTS", key.Text) == 0 })
		}
	}
}

// fault is what happens to a minority of the nodes while clients take locks.
type fault struct {
	ring   ringOf // how its nodes differ from others
	strike func(r *ring, node int)
	heal   func(r *ring, node int) // nil when there is nothing to be done
}

var quorumFaults = map[string]fault{
	"killed": {
		ring:   ringOf{durable: true},
		strike: func(r *ring, node int) { r.servers[node].Kill() },
		heal:   func(r *ring, node int) { r.servers[node].Restart() },
	},
	"killed, empty when it is back": {
		strike: func(r *ring, node int) { r.servers[node].Kill() },
		heal:   func(r *ring, node int) { r.servers[node].Restart() },
	},
	"restarted empty": {
		strike: func(r *ring, node int) { r.servers[node].Kill(); r.servers[node].Restart() },
	},
	"flushed": {
		strike: func(r *ring, node int) { harness.Dial(r.t, r.servers[node].Addr).Want("OK", "FLUSHALL") },
	},
	"paused": {
		strike: func(r *ring, node int) { r.servers[node].Pause() },
		heal:   func(r *ring, node int) { r.servers[node].Resume() },
	},
	"paused again and again for less than the node timeout": {
		strike: func(r *ring, node int) { r.stutter(node, nodeTimeout/4) },
	},
	"500 ms slow": {
		strike: func(r *ring, node int) { r.relays[node].Delay(harness.ToClient, 500*time.Millisecond) },
		heal:   func(r *ring, node int) { r.relays[node].Delay(harness.ToClient, 0) },
	},
	"500 ms slow, requests": {
		strike: func(r *ring, node int) { r.relays[node].Delay(harness.ToServer, 500*time.Millisecond) },
		heal:   func(r *ring, node int) { r.relays[node].Delay(harness.ToServer, 0) },
	},
	"cut off, requests": {
		strike: func(r *ring, node int) { r.relays[node].Hold(harness.ToServer) },
		heal:   func(r *ring, node int) { r.relays[node].Release(harness.ToServer) },
	},
	"cut off, answers": {
		strike: func(r *ring, node int) { r.relays[node].Hold(harness.ToClient) },
		heal:   func(r *ring, node int) { r.relays[node].Release(harness.ToClient) },
	},
	"connections cut": {
		strike: func(r *ring, node int) { r.relays[node].Cut() },
	},
	"scripts flushed": {
		strike: func(r *ring, node int) { harness.Dial(r.t, r.servers[node].Addr).Want("OK", "SCRIPT", "FLUSH") },
	},
	"clock an hour ahead": {
		ring:   ringOf{clocks: true},
		strike: func(r *ring, node int) { r.clocks[node].Step(time.Hour) },
		heal:   func(r *ring, node int) { r.clocks[node].Step(0) },
	},
	"clock an hour behind": {
		ring:   ringOf{clocks: true},
		strike: func(r *ring, node int) { r.clocks[node].Step(-time.Hour) },
		heal:   func(r *ring, node int) { r.clocks[node].Step(0) },
	},
}

// nodeTimeout is --node-timeout, unless a test sets another.
const nodeTimeout = 100 * time.Millisecond

// stutter pauses a server several times for so long.
func (r *ring) stutter(node int, d time.Duration) {
	for range 5 {
		r.servers[node].Pause()
		wait(d)
		r.servers[node].Resume()
		wait(d)
	}
}

// wait lets a fault last; nothing is expected to have happened after it.
func wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// TestQuorumFaults has clients take locks while a minority of the nodes fails and comes back, with both halves of the
// clients at processes of their own or all at one. With REDFENCE_LONG=1 every fault lasts half a minute and befalls 3
// and 5 nodes behind one process and two.
func TestQuorumFaults(t *testing.T) {
	turn := 0
	for name, f := range quorumFaults {
		if os.Getenv("REDFENCE_LONG") != "1" {
			turn++
			f.ring.nodes, f.ring.proxies = 3, 1+turn%2
			if turn%5 == 0 {
				f.ring.nodes = 5
			}
			t.Run(name, func(t *testing.T) { f.test(t, 300*time.Millisecond) })
			continue
		}
		for _, nodes := range []int{3, 5} {
			for _, proxies := range []int{1, 2} {
				f.ring.nodes, f.ring.proxies = nodes, proxies
				t.Run(fmt.Sprintf("%s/%d nodes, %d proxies", name, nodes, proxies), func(t *testing.T) { f.test(t, 30*time.Second) })
			}
		}
	}
}

// test lets the fault befall as many nodes as a majority can do without, for d.
func (f fault) test(t *testing.T, d time.Duration) {
	r := startRing(t, f.ring)
	load := loadOn(newHistory(), r.proxies)
	load.goesOn(t, 0, 20)
	for node := range f.ring.nodes / 2 {
		f.strike(r, node)
	}
	load.goesOn(t, d, 40)
	if f.heal != nil {
		for node := range f.ring.nodes / 2 {
			f.heal(r, node)
		}
	}
	load.goesOn(t, d/2, 20)
	r.awaitCounted(r.proxies...)
	load.goesOn(t, 0, 20)
	load.stop(t)
	r.reuse()
	r.awaitGone(loadLease)
}
