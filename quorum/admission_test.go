package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
)

func TestNewNodesAreSetUp(t *testing.T) {
	servers, addrs := startServers(t, "--databases", "4")
	p := startProxy(t, 0, addrs...)
	p.wantReady()
	p.want(allCount)
	clusters := map[string]bool{}
	for _, s := range servers {
		c := harness.Dial(t, s.Addr)
		for db := range 4 {
			c.Want("OK", "SELECT", fmt.Sprint(db))
			clusters[strings.Fields(c.Do("GET", runner.CanaryKey).Text)[1]] = true
		}
	}
	if len(clusters) != 1 {
		t.Errorf("cluster ids: %v", clusters)
	}
}

func TestProxiesThatSetUpAtOnceAgree(t *testing.T) {
	_, addrs := startServers(t)
	one, two := startProxy(t, 0, addrs...), startProxy(t, 0, addrs[2], addrs[1], addrs[0])
	one.want(allCount)
	two.want(allCount)
	for range 5 { // and stay so
		for _, n := range one.nodes {
			look := n.Facts().Look
			harness.Eventually(t, patience, func() bool { return n.Facts().Look > look })
		}
		one.want(allCount)
		two.want(allCount)
	}
	late := startProxy(t, 0, addrs[1], addrs[0], addrs[2])
	late.want(allCount)
}

func TestFirstStartWaitsForAllNodes(t *testing.T) {
	servers, addrs := startServers(t)
	servers[1].Kill()
	p := startProxy(t, 0, addrs...)
	p.wantReason(0, "which is not so of "+addrs[1])
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := p.Ready(ctx)
	if !errors.Is(err, quorum.ErrNotReady) || !strings.Contains(err.Error(), addrs[1]+" (connection refused)") {
		t.Errorf("%v", err)
	}
	servers[1].Restart()
	p.wantReady()
	p.want(allCount)

	servers[2].Kill()
	late := startProxy(t, 0, addrs...)
	late.wantReady() // known nodes need a majority only
	late.want("counted counted down")
}

func TestServersThatAreNoNodes(t *testing.T) {
	_, addrs := startServers(t)
	startProxy(t, 0, addrs...).want(allCount)
	others, otherAddrs := startServers(t)
	startProxy(t, 0, otherAddrs...).want(allCount)
	t.Run("another cluster", func(t *testing.T) {
		p := startProxy(t, 0, addrs[0], addrs[1], otherAddrs[0])
		p.want("counted counted refused")
		p.wantReason(2, "another cluster")
	})
	t.Run("another number of nodes", func(t *testing.T) {
		p := startProxy(t, 0, append(addrs, harness.StartRedis(t).Addr, harness.StartRedis(t).Addr)...)
		p.want("refused refused refused quarantined quarantined")
		p.wantReason(0, "cluster of 3 nodes, here are 5")
	})
	t.Run("listed twice", func(t *testing.T) {
		p := startProxy(t, 0, addrs[0], addrs[1], strings.Replace(addrs[0], "127.0.0.1", "localhost", 1))
		p.want("counted counted refused")
		p.wantReason(2, "the same server as "+addrs[0])
	})
	t.Run("a replica", func(t *testing.T) {
		host, port, _ := strings.Cut(addrs[0], ":")
		replica := harness.StartRedis(t, "--replicaof", host+" "+port)
		p := startProxy(t, 0, addrs[0], addrs[1], replica.Addr)
		p.want("counted counted refused")
		p.wantReason(2, "replica")
	})
	t.Run("evicting", func(t *testing.T) {
		c := harness.Dial(t, others[1].Addr)
		c.Want("OK", "CONFIG", "SET", "maxmemory", "100mb")
		c.Want("OK", "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
		p := startProxy(t, 0, otherAddrs...)
		p.want("counted refused counted")
		p.wantReason(1, "CONFIG SET maxmemory-policy noeviction")
		c.Want("OK", "CONFIG", "SET", "maxmemory-policy", "noeviction")
		p.want(allCount)
	})
}

func TestAppendFsyncAlwaysForgetsNothing(t *testing.T) {
	servers, addrs := startServers(t, "--appendonly", "yes", "--appendfsync", "always")
	p := startProxy(t, 0, addrs...)
	p.want(allCount)
	servers[0].Kill()
	p.want("down counted counted")
	servers[0].Restart()
	p.want(allCount)
	if strings.Contains(p.log.String(), "brought up to date") {
		t.Error("a node that forgets nothing was resynchronised")
	}
}

// TestSettingUpIsOneQuietLine looks at what a new installation logs, and that a node which stays out is told of.
func TestSettingUpIsOneQuietLine(t *testing.T) {
	_, addrs := startServers(t)
	p := startProxy(t, time.Minute, addrs...)
	p.want(allCount)
	if lines := strings.Split(strings.TrimSpace(p.log.String()), "\n"); len(lines) != 1 || !strings.Contains(lines[0], "level=INFO msg=\"set up a new installation\"") {
		t.Errorf("logged %q", lines)
	}
}

func TestANodeThatStaysOutIsToldOf(t *testing.T) {
	servers, addrs := startServers(t)
	servers[2].Kill()
	p := startProxy(t, time.Minute, addrs...)
	harness.Eventually(t, patience, func() bool {
		return strings.Count(p.log.String(), "level=WARN msg=\"node does not count\"") == 2
	})
	if !strings.Contains(p.log.String(), addrs[2]) {
		t.Error("the node that is missing is not named")
	}
	servers[2].Start()
	p.want(allCount)
	harness.Eventually(t, patience, func() bool { return strings.Count(p.log.String(), "msg=\"node counts\"") == 2 })
}

// TestListsThatDiffer has proxies list different servers: two majorities of them need not meet.
func TestListsThatDiffer(t *testing.T) {
	const rival = "another proxy counts a server in its place"
	_, addrs := startServers(t)
	one := startProxy(t, 0, addrs...)
	one.want(allCount)
	for _, addr := range addrs[:2] {
		c := harness.Dial(t, addr)
		harness.Eventually(t, patience, func() bool { return strings.Count(c.Do("HVALS", "__redfence__claims").String(), "@") == 3 })
	}
	other := harness.StartRedis(t)
	two := startProxy(t, 0, addrs[0], addrs[1], other.Addr)
	two.want("counted counted refused")
	two.wantReason(2, rival)
	if n := harness.Dial(t, other.Addr).Int("DBSIZE"); n != 0 {
		t.Errorf("the server has %d keys, it should have been left alone", n)
	}
	one.want(allCount)
	one.close() // then its claims are over, and the other server is taken for one that has forgotten everything
	two.want(allCount)
	again := startProxy(t, 0, addrs...)
	again.want("counted counted refused")
	again.wantReason(2, rival)
	two.want(allCount)
}

func TestARestartedServerIsNoOther(t *testing.T) {
	servers, addrs := startServers(t)
	one, two := startProxy(t, 0, addrs...), startProxy(t, 0, addrs...)
	one.want(allCount)
	two.want(allCount)
	servers[2].Kill()
	servers[2].Restart()
	one.want(allCount)
	two.want(allCount)
	for _, p := range []*aProxy{one, two} {
		if strings.Contains(p.log.String(), "node refused") {
			t.Errorf("a node was refused:\n%s", p.log)
		}
	}
}
