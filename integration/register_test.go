package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/integration/linear"
)

const (
	registerClients = 6
	longRegister    = 5 * time.Minute // per mode, with REDFENCE_LONG=1
)

// registerRun is servers that remember what resources have seen, and what their clients have been told of one resource.
type registerRun struct {
	t        *testing.T
	addrs    []string // of servers
	resource string
	began    time.Time
	newest   atomic.Int64 // token that was given out
	taken    atomic.Int64 // checks that were answered 1

	mu    sync.Mutex
	looks []linear.Look
}

func (r *registerRun) add(o linear.Look) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks = append(r.looks, o)
	if o.Taken {
		r.taken.Add(1)
	}
}

// registerClient asks one server after the other, the next one when there is no answer.
type registerClient struct {
	run    *registerRun
	id, at int
	wire   *harness.Wire
	random *rand.Rand
}

func (r *registerRun) client(id int) *registerClient {
	return &registerClient{run: r, id: id, at: id, random: rand.New(rand.NewPCG(uint64(id), uint64(len(r.resource))))} //nolint:gosec // a place
}

// work checks tokens, of which most are new and some are not, and asks for the last.
func (c *registerClient) work() {
	if c.random.IntN(4) == 0 {
		c.look(0)
		return
	}
	c.look(max(1, c.run.newest.Add(1)-c.random.Int64N(6)))
}

// look executes one operation and takes down what came of it. An error tells nothing: the token may have been remembered.
func (c *registerClient) look(token int64) {
	if c.wire == nil {
		wire, err := harness.Open(c.run.addrs[c.at%len(c.run.addrs)])
		if err != nil {
			c.at++
			return
		}
		c.wire = wire
	}
	o := linear.Look{Client: c.id, Asked: token, Call: time.Since(c.run.began)}
	command := []string{"FENCE.LAST", c.run.resource}
	if token > 0 {
		command = []string{"FENCE.CHECK", c.run.resource, strconv.FormatInt(token, 10)}
	}
	_ = c.wire.Send(command...) // the answer tells
	reply, err := c.wire.ReceiveWithin(linearPatience)
	o.Return = time.Since(c.run.began)
	n, isInt := reply.Int()
	switch {
	case err != nil || !isInt && !reply.Null:
		c.hangUp()
		c.at++
	case token > 0:
		o.Known, o.Taken = true, n == 1
	default:
		o.Known, o.Last = true, n
	}
	c.run.add(o)
}

// until repeats an operation until it is answered, while nobody else is at work.
func (c *registerClient) until(token int64) {
	c.run.t.Helper()
	harness.Eventually(c.run.t, clusterPatience, func() bool {
		c.look(token)
		n := len(c.run.looks)
		return n > 0 && c.run.looks[n-1].Known
	})
}

func (c *registerClient) hangUp() {
	if c.wire != nil {
		_ = c.wire.Close()
		c.wire = nil
	}
}

// crowd has clients look at the resource until what it returns is called.
func (r *registerRun) crowd() (leave func()) {
	stop, clients := make(chan struct{}), sync.WaitGroup{}
	for i := range registerClients {
		clients.Go(func() {
			c := r.client(i)
			defer c.hangUp()
			for !ended(stop) {
				c.work()
				time.Sleep(time.Duration(c.random.IntN(3000)) * time.Microsecond) // what a client does besides
			}
		})
	}
	return func() { close(stop); clients.Wait() }
}

// goesOn waits until tokens are taken.
func (r *registerRun) goesOn() {
	r.t.Helper()
	before := r.taken.Load()
	harness.Eventually(r.t, clusterPatience, func() bool { return r.taken.Load() >= before+20 })
}

// round lets a fault happen to the resource's clients for d, and judges what they were told.
func (r *registerRun) round(loose bool, d time.Duration, strike func() (heal func())) *linear.Finding {
	r.t.Helper()
	leave := r.crowd()
	r.goesOn()
	heal := strike()
	wait(d)
	heal()
	r.goesOn()
	leave()
	last := r.client(registerClients)
	defer last.hangUp()
	last.until(0)
	return linear.CheckRegister(r.looks, loose, time.Minute)
}

// newRegister is a resource of a name, which nobody has asked for.
func newRegister(t *testing.T, resource string, servers []*harness.Server) *registerRun {
	t.Helper()
	r := &registerRun{t: t, resource: resource, began: time.Now()}
	for _, s := range servers {
		r.addrs = append(r.addrs, s.Addr)
	}
	return r
}

// registerFaults are how many faults a test lets happen: at least enough, and for so long each and all together.
func registerFaults() (enough int, each, all time.Duration) {
	if os.Getenv("REDFENCE_LONG") == "1" {
		return 20, 3 * time.Second, longRegister
	}
	return 3, 300 * time.Millisecond, 0
}

// TestClusterRemembersWhatResourcesHaveSeen has clients of all members check tokens and ask for the last, while members are
// killed, paused and cut off. What they are told has an order.
func TestClusterRemembersWhatResourcesHaveSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	c, network := harness.StartApartCluster(t, 3)
	l := &linearRun{t: t, c: c, network: network}
	names := []string{"leader killed", "all killed", "leader cut off", "leader paused", "follower killed", "two killed", "leader hears nobody"}
	enough, each, all := registerFaults()
	for n, began := 0, time.Now(); n < enough || time.Since(began) < all; n++ {
		name := names[n%len(names)]
		r := newRegister(t, fmt.Sprint("resource", n), c.Members)
		found := r.round(false, each, func() func() {
			leader := c.Leader()
			return linearFaults[name](l, leader, (leader+1)%3, (leader+2)%3)
		})
		if found != nil {
			t.Fatalf("round %d, %s: %+v", n, name, found)
		}
		r.wantAll(n, name)
	}
}

// TestQuorumRemembersWhatResourcesHaveSeen has clients of two proxies check tokens and ask for the last, while one node after
// the other is wiped: none is part of a majority before it has been told what the others have seen.
func TestQuorumRemembersWhatResourcesHaveSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	r := startRing(t, ringOf{nodes: 3, proxies: 2})
	names := []string{"flushed", "restarted empty", "killed, empty when it is back", "paused", "connections cut", "cut off, answers"}
	enough, each, all := registerFaults()
	for n, began := 0, time.Now(); n < enough || time.Since(began) < all; n++ {
		name, node := names[n%len(names)], n%3
		f := quorumFaults[name]
		resource := newRegister(t, "resource"+strconv.Itoa(n/3), r.proxies) // three nodes in turn for each
		resource.newest.Store(int64(n) * 1_000_000)
		if n%3 > 0 {
			resource.look(r.proxies[0])
		}
		found := resource.round(true, each, func() func() {
			f.strike(r, node)
			return func() {
				if f.heal != nil {
					f.heal(r, node)
				}
				r.awaitCounted(r.proxies...)
			}
		})
		if found != nil {
			t.Fatalf("round %d, %s: %+v", n, name, found)
		}
		resource.wantAll(n, name)
	}
}

// look takes down what the rounds before have left, as a check that was taken.
func (r *registerRun) look(server *harness.Server) {
	r.t.Helper()
	token, ok := harness.Dial(r.t, server.Addr).Do("FENCE.LAST", r.resource).Int()
	if !ok {
		r.t.Fatalf("%s is forgotten", r.resource)
	}
	r.add(linear.Look{Asked: token, Call: -1, Known: true, Taken: true})
}

// wantAll wants some operations with each answer, of which nothing was shown otherwise.
func (r *registerRun) wantAll(n int, name string) {
	r.t.Helper()
	count := func(is func(linear.Look) bool) (n int) {
		for _, o := range r.looks {
			if is(o) {
				n++
			}
		}
		return n
	}
	taken := count(func(o linear.Look) bool { return o.Taken })
	stale := count(func(o linear.Look) bool { return o.Known && o.Asked > 0 && !o.Taken })
	lasts := count(func(o linear.Look) bool { return o.Known && o.Asked == 0 })
	r.t.Logf("round %d, %s: %d taken, %d stale, %d times the last, of %d", n, name, taken, stale, lasts, len(r.looks))
	if taken == 0 || stale == 0 || lasts == 0 {
		r.t.Error("some answer never came, so nothing was shown of it")
	}
}

// TestAForgetfulRegisterIsFound makes both modes forget what a resource has seen: by a bug that is planted in a cluster, and by
// the loss of a majority of nodes, which nothing survives. The search for an order must find it.
func TestAForgetfulRegisterIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	modes := map[string]struct {
		loose bool
		start func(t *testing.T) (servers []*harness.Server, forget func())
	}{
		"acknowledged before it is synced": {start: func(t *testing.T) ([]*harness.Server, func()) {
			t.Helper()
			c, network := harness.NewApartCluster(t, 3, harness.Options{
				Args: []string{"--log-store", "bolt"}, Tags: "planted,clockskew",
				Env: []string{"REDFENCE_PLANTED=ack before fsync"},
			})
			c.Start()
			l := &linearRun{t: t, c: c, network: network}
			return c.Members, func() { l.kill(0, 1, 2)() }
		}},
		"majority wiped": {loose: true, start: func(t *testing.T) ([]*harness.Server, func()) {
			t.Helper()
			r := startRing(t, ringOf{nodes: 3, direct: true})
			r.addForgiving(loadLease, harness.Options{})
			r.awaitCounted(r.proxies...)
			return r.proxies, func() {
				for _, s := range r.servers {
					s.Kill()
				}
				for _, s := range r.servers {
					s.Restart()
				}
				r.awaitCounted(r.proxies...)
			}
		}},
	}
	for name, m := range modes {
		t.Run(name, func(t *testing.T) {
			servers, forget := m.start(t)
			r := newRegister(t, "resource", servers)
			c := r.client(0)
			defer c.hangUp()
			c.until(r.newest.Add(100))
			forget()
			c.until(0)
			found := linear.CheckRegister(r.looks, m.loose, time.Minute)
			if found == nil || found.Undecided {
				t.Fatalf("found %+v in %d operations", found, len(r.looks))
			}
			t.Log(found.Report)
		})
	}
}
