package integration

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

const (
	loadLease  = 2 * time.Second
	shortHold  = 300 * time.Millisecond // the TTL of locks that nobody gives back
	loadPerEnd = 4                      // clients for each way of taking locks
)

// load is clients that take, hold, renew and give back locks until they are stopped.
type load struct {
	h     *history
	forms []string // of lock, see proxyClient
	done  chan struct{}
	wait  sync.WaitGroup
}

// startLoad runs a client with each of the ways of taking locks.
func startLoad(h *history, ways []lockClient, forms ...string) *load {
	l := &load{h: h, forms: forms, done: make(chan struct{})}
	if len(forms) == 0 {
		l.forms = []string{"plain", "fence", "hash"}
	}
	seed := rand.Uint64()
	for i, way := range ways {
		c := &contender{load: l, lockClient: way, name: strconv.Itoa(i), random: rand.New(rand.NewPCG(seed, uint64(i)))}
		l.wait.Go(c.run)
	}
	return l
}

// loadOn runs loadPerEnd clients of each of the processes.
func loadOn(h *history, proxies []*harness.Server) *load {
	var ways []lockClient
	for range loadPerEnd {
		for _, p := range proxies {
			ways = append(ways, &proxyClient{addr: p.Addr, h: h})
		}
	}
	return startLoad(h, ways)
}

// stop ends the clients and fails the test for all that must not be.
func (l *load) stop(t *testing.T) {
	t.Helper()
	l.end()
	for i, finding := range l.h.judge() {
		if i == 20 {
			t.Error("and more")
			break
		}
		t.Error(finding)
	}
	t.Logf("%d granted, %d refused, %d not served, %d unknown; errors %v",
		l.h.count(wasGranted), l.h.count(wasRefused), l.h.count(wasUnserved), l.h.count(wasUnknown), l.h.errors)
}

func (l *load) end() {
	close(l.done)
	l.wait.Wait()
}

// patience bounds what should happen within seconds, also on a machine that does much else.
const patience = 90 * time.Second

// goesOn waits until the clients have run for d and been granted n more locks.
func (l *load) goesOn(t *testing.T, d time.Duration, n int) {
	t.Helper()
	began, before := time.Now(), l.h.count(wasGranted)
	harness.Eventually(t, patience+d, func() bool {
		return time.Since(began) >= d && l.h.count(wasGranted) >= before+n
	})
}

// contender is one client of a load.
type contender struct {
	*load
	lockClient
	name   string
	random *rand.Rand
	serial int
}

func (c *contender) run() {
	defer c.close()
	for !c.stopped() {
		a := c.newAttempt()
		c.acquire(a)
		if a.outcome == wasGranted {
			c.use(a)
		}
		c.h.record(a)
		if a.outcome == wasUnknown && c.release(a) == yes {
			a.releaseTold = time.Now()
		}
		c.pause(time.Duration(1+c.random.IntN(4)) * time.Millisecond)
	}
}

// newAttempt is for a lock that all want, or that only this client wants, of a random form.
func (c *contender) newAttempt() *attempt {
	c.serial++
	a := &attempt{owner: c.name + "-" + strconv.Itoa(c.serial), ttl: loadLease}
	a.key = c.forms[c.random.IntN(len(c.forms))] + ":all"
	if c.random.IntN(4) == 0 {
		a.key = c.forms[c.random.IntN(len(c.forms))] + ":" + c.name
	}
	if c.random.IntN(8) == 0 {
		a.ttl = shortHold
	}
	return a
}

// use does what the lock is for. Short locks are not given back.
func (c *contender) use(a *attempt) {
	read := c.h.read(a.key)
	c.pause(time.Duration(c.random.IntN(6)) * time.Millisecond)
	for range c.random.IntN(3) {
		c.prolong(a)
		c.pause(time.Millisecond)
	}
	c.h.write(a, read)
	if a.ttl != shortHold {
		c.giveBack(a)
	}
}

// prolong renews the lease. The answer must not be no while the client has the lock.
func (c *contender) prolong(a *attempt) {
	asked := time.Now()
	switch c.renew(a) {
	case yes:
		a.renewAsked = asked
		if a.claims(time.Now()) {
			a.ends = asked.Add(validity(a.ttl))
		}
	case no:
		c.lost(a, "renewed")
	case unclear:
		a.renewAsked = asked
	case notDone:
	}
}

func (c *contender) lost(a *attempt, when string) {
	if now := time.Now(); now.Before(a.ends) {
		c.h.find("%s lost %s %v before its end: it was not its own when it was to be %s", a.owner, a.key, a.ends.Sub(now), when)
	}
}

// giveBack asks for the release until it is confirmed or the lease is over.
func (c *contender) giveBack(a *attempt) {
	a.releaseAsked = time.Now()
	for sure := true; time.Now().Before(a.ends); {
		switch c.release(a) {
		case yes:
			a.releaseTold = time.Now()
			return
		case no:
			if sure {
				c.lost(a, "released")
			}
			return
		case unclear:
			sure = false
		case notDone:
		}
		c.pause(5 * time.Millisecond)
	}
}

func (c *contender) stopped() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// pause is the client's own time, not a wait for anything.
func (c *contender) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.done:
	}
}
