package integration

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// TestQuorumWatchdogSurvivesRollingRestart restarts all nodes, one after another and empty, while a client holds a lock that it
// renews every third of its lease, as Redisson's watchdog does. Nobody else gets it, and its token stays.
func TestQuorumWatchdogSurvivesRollingRestart(t *testing.T) {
	r, h := startRing(t, ringOf{nodes: 3, proxies: 2}), newHistory()
	owner, other := &proxyClient{addr: r.proxies[0].Addr, h: h}, &proxyClient{addr: r.proxies[1].Addr, h: h}
	defer owner.close()
	defer other.close()
	held := &attempt{key: "hash:watched", owner: "watchdog:1", ttl: 6 * time.Second}
	if owner.acquire(held); held.outcome != wasGranted {
		t.Fatalf("%+v", held)
	}
	renewals, next := 0, time.Now()
	watch := func() {
		if try := (&attempt{key: held.key, owner: "thief:1", ttl: held.ttl}); time.Now().Before(next) {
			if other.acquire(try); try.outcome == wasGranted {
				t.Fatal("another client was granted the lock")
			}
			return
		}
		next = time.Now().Add(held.ttl / 3)
		got := owner.renew(held)
		if got == no {
			t.Fatalf("the lock was lost after %d renewals", renewals)
		}
		if got == yes {
			renewals++
		}
	}
	for i, s := range r.servers {
		s.Kill()
		s.Restart()
		before := renewals
		harness.Eventually(t, patience, func() bool { watch(); return renewals > before && r.counted(r.proxies[0]) && r.counted(r.proxies[1]) })
		t.Logf("node %d restarted, %d renewals", i+1, renewals)
	}
	if token := harness.Dial(t, r.proxies[1].Addr).Int("FENCE", held.key, held.owner); token != held.token {
		t.Errorf("the token is %d, was %d", token, held.token)
	}
	if owner.release(held) != yes {
		t.Error("the lock could not be released")
	}
	for _, finding := range h.findings {
		t.Error(finding)
	}
}

// TestQuorumProxyKilled kills one of two processes again and again while clients of both take locks. What it was doing must
// keep nobody from a lock for longer than its TTL.
func TestQuorumProxyKilled(t *testing.T) {
	rounds := 4
	if os.Getenv("REDFENCE_LONG") == "1" {
		rounds = 40
	}
	r := startRing(t, ringOf{nodes: 3, proxies: 2})
	load := loadOn(newHistory(), r.proxies)
	for range rounds {
		load.goesOn(t, time.Duration(rand.IntN(200))*time.Millisecond, 20)
		r.proxies[0].Kill()
		load.goesOn(t, 0, 10)
		r.proxies[0].Restart()
	}
	load.goesOn(t, 0, 20)
	load.stop(t)
	r.awaitGone(loadLease)
}

// TestQuorumProxyKilledBetweenItsSends kills a process when a request of its has reached only some of the nodes.
func TestQuorumProxyKilledBetweenItsSends(t *testing.T) {
	for name, reached := range map[string]int{"one of three": 1, "two of three": 2} {
		t.Run(name, func(t *testing.T) {
			r := startRing(t, ringOf{nodes: 3})
			doomed, other := r.addProxy(), harness.StartProxy(t, r.servers).Server
			for _, relay := range r.relays[reached:] {
				relay.Hold(harness.ToServer)
			}
			const ttl = 3 * time.Second
			asked := time.Now()
			harness.Dial(t, doomed.Addr).Send("SET", "lock", "gone", "NX", "PX", milliseconds(ttl))
			for _, s := range r.servers[:reached] {
				direct := harness.Dial(t, s.Addr)
				harness.Eventually(t, patience, func() bool { return direct.Do("GET", "lock").Text == "gone" || time.Since(asked) > ttl })
			}
			doomed.Kill()
			for _, relay := range r.relays {
				relay.Cut()
				relay.Release(harness.ToServer)
			}
			c := harness.Dial(t, other.Addr)
			harness.Eventually(t, patience, func() bool { return c.Do("SET", "lock", "next", "NX", "PX", "60000").Text == "OK" })
			t.Logf("the next client has the lock %v after the request of the killed process, whose TTL was %v", time.Since(asked), ttl)
			c.Want("(integer) 1", "EVAL", compareAndDelete, "1", "lock", "next")
			r.awaitGone(ttl)
		})
	}
}
