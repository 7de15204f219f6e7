package integration

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/integration/harness"
)

// TestQuorumWaiterIsWokenByAnotherProxy has a client of one process wait for a lock, as Redisson does, that a client of
// another process gives back.
func TestQuorumWaiterIsWokenByAnotherProxy(t *testing.T) {
	q := harness.StartQuorum(t, 3, "--no-wakeups")
	other := harness.StartProxy(t, q.Nodes, "--no-wakeups")
	holder, waiter, listener := harness.Dial(t, q.Addr), harness.Dial(t, other.Addr), harness.Dial(t, other.Addr)
	for round := range 20 {
		key := "hash:" + strconv.Itoa(round)
		channel := "redisson_lock__channel:{" + key + "}"
		if reply := holder.Do("EVAL", enterLock, "1", key, "60000", "holder:1"); !reply.Null {
			t.Fatalf("the lock was not granted: %s", reply)
		}
		listener.Want(`["subscribe", "`+channel+`", (integer) 1]`, "SUBSCRIBE", channel)
		if reply := waiter.Do("EVAL", enterLock, "1", key, "60000", "waiter:1"); reply.Null || reply.IsError() {
			t.Fatalf("the lock was not refused: %s", reply)
		}
		holder.Want("(integer) 1", "EVAL", leaveLock, "2", key, channel, "holder:1")
		if got := listener.Receive().String(); got != `["message", "`+channel+`", "0"]` {
			t.Fatalf("woken by %s", got)
		}
		if reply := waiter.Do("EVAL", enterLock, "1", key, "60000", "waiter:1"); !reply.Null {
			t.Fatalf("the lock was refused after the wake-up: %s", reply)
		}
		listener.Want(`["unsubscribe", "`+channel+`", (integer) 0]`, "UNSUBSCRIBE", channel) // no second message came before
	}
}

// TestQuorumCountersThroughTwoProxiesGoOn has clients of two processes count one key up. They get in one another's way, but
// nearly all are served, none is counted twice or not at all, and no trace of it remains.
func TestQuorumCountersThroughTwoProxiesGoOn(t *testing.T) {
	const clients, counts = 8, 25
	q := harness.StartQuorum(t, 3)
	other := harness.StartProxy(t, q.Nodes)
	var served, unknown, refused atomic.Int64
	var running sync.WaitGroup
	for i := range 2 * clients {
		addr := []string{q.Addr, other.Addr}[i%2]
		running.Go(func() {
			c := &proxyClient{addr: addr, h: newHistory()}
			defer c.close()
			for range counts {
				switch _, answer := c.do("INCR", "hot"); answer {
				case yes:
					served.Add(1)
				case notDone:
					refused.Add(1)
				default:
					unknown.Add(1)
				}
			}
		})
	}
	running.Wait()
	if all := int64(2 * clients * counts); served.Load() < all*9/10 {
		t.Errorf("%d of %d were served; of %d the outcome is unknown, %d were refused", served.Load(), all, unknown.Load(), refused.Load())
	}
	for _, addr := range []string{q.Addr, other.Addr} {
		got := harness.Dial(t, addr).Int("INCR", "hot")
		if served.Add(1); got < served.Load() || got > served.Load()+unknown.Load() {
			t.Errorf("counted to %d, with %d served and %d unknown", got, served.Load(), unknown.Load())
		}
	}
}

// TestQuorumAndRedsyncExcludeEachOther has clients of two processes and users of redsync, which talks to the nodes itself,
// contend for the same locks.
func TestQuorumAndRedsyncExcludeEachOther(t *testing.T) {
	r, h := startRing(t, ringOf{nodes: 3, proxies: 2, direct: true}), newHistory()
	direct := newDirect(t, r)
	ways := []lockClient{direct.client(), direct.client(), direct.client()}
	for _, p := range r.proxies {
		ways = append(ways, &proxyClient{addr: p.Addr, h: h}, &proxyClient{addr: p.Addr, h: h})
	}
	load := startLoad(h, ways, "plain", "fence")
	byOwner := func(library bool) (n int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, a := range h.attempts {
			if a.outcome == wasGranted && (a.owner[0] < '3') == library {
				n++
			}
		}
		return n
	}
	harness.Eventually(t, patience, func() bool { return byOwner(true) >= 60 && byOwner(false) >= 60 })
	load.stop(t)
	t.Logf("granted by the library %d times, by the processes %d times", byOwner(true), byOwner(false))
	r.awaitGone(loadLease)
}

// direct is redsync over the nodes.
type direct struct{ sync *redsync.Redsync }

func newDirect(t *testing.T, r *ring) direct {
	t.Helper()
	var all []pools.Pool
	for _, s := range r.servers {
		c := redis.NewClient(&redis.Options{Addr: s.Addr})
		t.Cleanup(func() { _ = c.Close() })
		all = append(all, goredis.NewPool(c))
	}
	return direct{redsync.New(all...)}
}

func (d direct) client() lockClient { return &directClient{sync: d.sync} }

// directClient is one user of redsync. Its grants have no tokens.
type directClient struct {
	sync  *redsync.Redsync
	mutex *redsync.Mutex
}

func (c *directClient) acquire(a *attempt) {
	c.mutex = c.sync.NewMutex(a.key, redsync.WithExpiry(a.ttl), redsync.WithTries(1),
		redsync.WithGenValueFunc(func() (string, error) { return a.owner, nil }))
	a.asked = time.Now()
	err := c.mutex.TryLockContext(context.Background())
	a.told, a.ends, a.outcome = time.Now(), a.asked.Add(validity(a.ttl)), wasGranted
	if err != nil {
		a.outcome = wasUnserved // it cannot tell why
	}
}

func (c *directClient) renew(*attempt) answer {
	if ok, err := c.mutex.ExtendContext(context.Background()); ok && err == nil {
		return yes
	}
	return unclear
}

func (c *directClient) release(*attempt) answer {
	if ok, err := c.mutex.UnlockContext(context.Background()); ok && err == nil {
		return yes
	}
	return unclear
}

func (c *directClient) close() {}
