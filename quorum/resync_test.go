package quorum_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
)

// ttl is the PTTL of a key on a server, in ms.
func ttl(t *testing.T, s *harness.Server, key string) int64 {
	t.Helper()
	return harness.Dial(t, s.Addr).Int("PTTL", key)
}

func TestNodesThatForgotAreBroughtUpToDate(t *testing.T) {
	cases := map[string]func(t *testing.T, s *harness.Server){
		"killed and restarted empty": func(_ *testing.T, s *harness.Server) { s.Kill(); s.Restart() },
		"FLUSHALL":                   func(t *testing.T, s *harness.Server) { harness.Dial(t, s.Addr).Want("OK", "FLUSHALL") },
		"restarted with an old dump": func(t *testing.T, s *harness.Server) {
			c := harness.Dial(t, s.Addr)
			c.Want("OK", "SAVE")
			c.Do("DEL", "lock")
			s.Kill()
			s.Restart()
		},
	}
	for name, forget := range cases {
		t.Run(name, func(t *testing.T) {
			servers, addrs := startServers(t)
			p := startProxy(t, 0, addrs...)
			p.want(allCount)
			p.everywhere(0, "SET", "lock", "me", "PX", "100000")
			p.everywhere(3, "HSET", "hash", "f", "v")
			for _, s := range servers { // as a client does that talks to the nodes directly
				harness.Dial(t, s.Addr).Want("OK", "SET", "direct", "me", "PX", "100000")
			}
			before := ttl(t, servers[1], "lock")
			forget(t, servers[1])
			p.do(1, "GET", "lock") // finds out, if no look has
			harness.Eventually(t, patience, func() bool { return strings.Contains(p.log.String(), "node is up to date") })
			p.want(allCount)
			if after := ttl(t, servers[1], "lock"); after <= 0 || after > before {
				t.Errorf("TTL %d became %d", before, after)
			}
			if ttl(t, servers[1], "direct") <= 0 {
				t.Error("a key without companion was not copied")
			}
			if ttl(t, servers[1], runner.Companion+"lock") <= 0 {
				t.Error("the companion was not copied")
			}
			c := harness.Dial(t, servers[1].Addr)
			c.Want("OK", "SELECT", "3")
			if got := c.Do("HGET", "hash", "f").Text; got != "v" {
				t.Errorf("the hash has %q", got)
			}
			if o := p.do(1, "GET", "lock"); o.Reason != "" || o.Answer.Quarantined {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestRollingRestartWithoutPersistence restarts all nodes one after another (M9 of the quorum review).
func TestRollingRestartWithoutPersistence(t *testing.T) {
	servers, addrs := startServers(t)
	p := startProxy(t, 0, addrs...)
	p.want(allCount)
	const keys = 500
	for i := range keys {
		p.everywhere(0, "SET", fmt.Sprint("lock", i), "me", "PX", strconv.Itoa(60000+i))
	}
	before := ttl(t, servers[0], "lock7")
	for i, s := range servers {
		s.Kill()
		s.Restart()
		harness.Eventually(t, patience, func() bool { return strings.Count(p.log.String(), "node is up to date") == i+1 })
		p.want(allCount)
	}
	for i := range keys {
		if got := ttl(t, servers[2], fmt.Sprint("lock", i)); got <= 0 || got > before+keys {
			t.Fatalf("lock %d has TTL %d, before %d", i, got, before)
		}
	}
}

// TestAnotherProxysAdmissionIsSeen lets one proxy bring a node up to date; the other must count it again.
func TestAnotherProxysAdmissionIsSeen(t *testing.T) {
	servers, addrs := startServers(t)
	one, two := startProxy(t, 0, addrs...), startProxy(t, 0, addrs[1], addrs[2], addrs[0])
	one.want(allCount)
	two.want(allCount)
	one.everywhere(0, "SET", "lock", "me", "PX", "100000")
	for range 3 {
		harness.Dial(t, servers[0].Addr).Want("OK", "FLUSHALL")
		if o := one.do(0, "GET", "lock"); o.Reason == "" && !o.Answer.Quarantined && o.Answer.Reply.Str != "me" {
			t.Fatalf("a node that was flushed says the lock is free: %+v", o)
		}
		one.want(allCount)
		two.want(allCount)
		for _, o := range []quorum.Outcome{one.do(0, "GET", "lock"), two.do(2, "GET", "lock")} {
			if o.Reason != "" || o.Answer.Quarantined || o.Answer.Reply.Str != "me" {
				t.Fatalf("%+v %+v", o, o.Answer)
			}
		}
	}
}

// TestTooFewOthersToCopyFrom restarts two of three nodes empty at once: they wait for --max-lock-ttl.
func TestTooFewOthersToCopyFrom(t *testing.T) {
	servers, addrs := startServers(t)
	p := startProxy(t, 2*time.Second, addrs...)
	p.want(allCount)
	if _, limited := p.MaxTTL(); limited {
		t.Error("TTLs are limited without need")
	}
	p.everywhere(0, "SET", "lock", "me", "PX", "100000")
	began := time.Now()
	for _, s := range servers[:2] {
		s.Kill()
		s.Restart()
	}
	isLimited := func() bool { max, limited := p.MaxTTL(); return limited && max == 2*time.Second }
	harness.Eventually(t, patience, isLimited)
	p.want(allCount)
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("admitted after %v", took)
	}
	if !isLimited() {
		t.Error("TTLs are not limited after an admission by waiting")
	}
	if ttl(t, servers[0], "lock") <= 0 {
		t.Error("what the last node had was not copied")
	}
}

// TestKeysWithoutTTLAreNeverForgiven: then waiting helps nothing.
func TestKeysWithoutTTLAreNeverForgiven(t *testing.T) {
	servers, addrs := startServers(t)
	p := startProxy(t, 300*time.Millisecond, addrs...)
	p.want(allCount)
	p.everywhere(0, "SET", "semaphore", "5")
	for _, n := range p.nodes {
		harness.Eventually(t, patience, func() bool { return n.Facts().Immortal > 0 })
	}
	for _, s := range servers {
		harness.Dial(t, s.Addr).Want("OK", "FLUSHALL")
	}
	p.want("quarantined quarantined quarantined")
	look := p.nodes[0].Facts().Look
	harness.Eventually(t, patience, func() bool { return p.nodes[0].Facts().Look > look+10 })
	p.want("quarantined quarantined quarantined")
}

// TestAllNodesEmptyUnderARunningProxy is no new installation, before --max-lock-ttl is over.
func TestAllNodesEmptyUnderARunningProxy(t *testing.T) {
	servers, addrs := startServers(t)
	p := startProxy(t, time.Second, addrs...)
	p.want(allCount)
	cluster := strings.Fields(harness.Dial(t, addrs[0]).Do("GET", runner.CanaryKey).Text)[1]
	began := time.Now()
	for _, s := range servers {
		harness.Dial(t, s.Addr).Want("OK", "FLUSHALL")
	}
	p.want("quarantined quarantined quarantined")
	p.want(allCount)
	if took := time.Since(began); took < time.Second {
		t.Errorf("admitted after %v", took)
	}
	if got := strings.Fields(harness.Dial(t, addrs[0]).Do("GET", runner.CanaryKey).Text)[1]; got != cluster {
		t.Errorf("cluster %s became %s", cluster, got)
	}
}

func TestAPausedNodeComesBack(t *testing.T) {
	servers, addrs := startServers(t)
	p := startProxy(t, 0, addrs...)
	p.want(allCount)
	servers[1].Pause()
	p.want("counted down counted")
	servers[1].Resume()
	p.want(allCount)
}

// TestLargeResync logs what a node with many locks takes: 10,000, or 100,000 in the long run.
func TestLargeResync(t *testing.T) {
	servers, addrs := startServers(t)
	p := startProxy(t, 0, addrs...)
	p.want(allCount)
	keys := 10_000
	if os.Getenv("REDFENCE_LONG") == "1" {
		keys = 100_000
	}
	fill := `for i = 1, tonumber(ARGV[1]) do
		redis.call('SET', 'lock' .. i, 'me', 'PX', 600000)
		redis.call('SET', '__redfence__:lock' .. i, '1 7 7 9000000000000 x', 'PX', 86400000) end`
	for _, s := range servers {
		harness.Dial(t, s.Addr).Do("EVAL", fill, "0", strconv.Itoa(keys))
	}
	servers[0].Kill()
	servers[0].Restart()
	began := time.Now()
	harness.Eventually(t, 2*time.Minute, func() bool { return strings.Contains(p.log.String(), "node is up to date") })
	t.Logf("%d locks took %v", keys, time.Since(began))
	p.want(allCount)
	if got := harness.Dial(t, addrs[0]).Int("PTTL", fmt.Sprint("lock", keys)); got <= 0 {
		t.Errorf("TTL of the last lock is %d", got)
	}
}

// TestANodeThatForgetsAgainMeanwhile is flushed while it is brought up to date: what was copied before is gone.
func TestANodeThatForgetsAgainMeanwhile(t *testing.T) {
	servers, addrs := startServers(t)
	p := startProxy(t, 0, addrs...)
	p.want(allCount)
	const keys = 20_000
	for _, s := range servers {
		harness.Dial(t, s.Addr).Do("EVAL", `for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'lock' .. i, 'me', 'PX', 600000) end`, "0", strconv.Itoa(keys))
	}
	c := harness.Dial(t, servers[1].Addr)
	c.Want("OK", "FLUSHALL")
	harness.Eventually(t, patience, func() bool { return c.Int("DBSIZE") > 1000 })
	c.Want("OK", "FLUSHALL")
	harness.Eventually(t, patience, func() bool { return strings.Contains(p.log.String(), "node is up to date") })
	p.want(allCount)
	missing := `local n = 0; for i = 1, tonumber(ARGV[1]) do n = n + redis.call('EXISTS', 'lock' .. i) end; return tonumber(ARGV[1]) - n`
	if n := c.Int("EVAL", missing, "0", strconv.Itoa(keys)); n != 0 {
		t.Errorf("%d of %d locks are missing on a node that counts", n, keys)
	}
}
