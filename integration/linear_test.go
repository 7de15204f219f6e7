package integration

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/integration/linear"
)

const (
	linearClients = 8
	shortFaults   = 8 // in the gate; which ones is up to chance
	longFaults    = 100
	longLinear    = 20 * time.Minute
	rareOpen      = 50 // one lock in so many rounds may have more orders than can be searched in a minute
)

// linearFault happens to a cluster while its clients work. It returns what ends it.
type linearFault func(l *linearRun, leader, follower, other int) (heal func())

var linearFaults = map[string]linearFault{
	"leader killed":   func(l *linearRun, leader, _, _ int) func() { return l.kill(leader) },
	"follower killed": func(l *linearRun, _, follower, _ int) func() { return l.kill(follower) },
	"two killed":      func(l *linearRun, leader, follower, _ int) func() { return l.kill(leader, follower) },
	"all killed":      func(l *linearRun, leader, follower, other int) func() { return l.kill(other, leader, follower) },
	"leader paused":   func(l *linearRun, leader, _, _ int) func() { return l.pause(leader) },
	"follower paused": func(l *linearRun, _, follower, _ int) func() { return l.pause(follower) },
	"two paused":      func(l *linearRun, leader, follower, _ int) func() { return l.pause(leader, follower) },
	"leader cut off": func(l *linearRun, leader, _, _ int) func() {
		l.network.Isolate(leader)
		return l.network.Heal
	},
	"follower cut off": func(l *linearRun, _, follower, _ int) func() {
		l.network.Isolate(follower)
		return l.network.Heal
	},
	"leader is not heard": func(l *linearRun, leader, follower, other int) func() {
		l.network.Cut(leader, follower)
		l.network.Cut(leader, other)
		return l.network.Heal
	},
	"leader hears nobody": func(l *linearRun, leader, follower, other int) func() {
		l.network.Cut(follower, leader)
		l.network.Cut(other, leader)
		return l.network.Heal
	},
	"leader is not heard by one": func(l *linearRun, leader, follower, _ int) func() {
		l.network.Cut(leader, follower)
		return l.network.Heal
	},
	"leader does not hear one": func(l *linearRun, leader, follower, _ int) func() {
		l.network.Cut(follower, leader)
		return l.network.Heal
	},
	"leader and follower cut off from each other": func(l *linearRun, leader, follower, _ int) func() {
		l.network.Cut(leader, follower)
		l.network.Cut(follower, leader)
		return l.network.Heal
	},
	"answers cut, then all connections": func(l *linearRun, leader, follower, other int) func() {
		l.network.CutAnswers(leader, follower)
		l.network.CutAnswers(leader, other)
		return func() { l.network.Break(); l.network.Heal() }
	},
	"leadership handed over": func(l *linearRun, _, follower, _ int) func() {
		_, _ = askOnce(l.c.Members[follower].Addr, "REDFENCE", "MEMBER", "TRANSFER", l.c.Name(follower)) // or not
		return func() {}
	},
}

// kill kills members at once (SIGKILL).
func (l *linearRun) kill(members ...int) (heal func()) {
	for _, m := range members {
		l.c.Members[m].Kill()
	}
	return func() {
		for _, m := range members {
			l.c.Members[m].Launch()
		}
		for _, m := range members {
			l.c.Members[m].AwaitReady()
		}
	}
}

// pause stops members where they are (SIGSTOP).
func (l *linearRun) pause(members ...int) (heal func()) {
	for _, m := range members {
		l.c.Members[m].Pause()
	}
	return func() {
		for _, m := range members {
			l.c.Members[m].Resume()
		}
	}
}

// TestClusterIsLinearizable has clients on all nodes of a cluster take, renew, release and ask about locks with long and
// short TTLs, while nodes are killed and paused, and the network between them fails, one way and both ways. What the
// clients are told must be what one lock service that never fails could have told them. With REDFENCE_LONG=1 that goes on for
// 20 minutes and at least 100 faults.
func TestClusterIsLinearizable(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c, network := harness.StartApartCluster(t, 3, "--log-store", []string{"wal", "bolt"}[seed%2])
	names := slices.Sorted(maps.Keys(linearFaults))
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	began, faults, open, most, enough, atLeast := time.Now(), 0, 0, time.Second, shortFaults, time.Duration(0)
	if os.Getenv("REDFENCE_LONG") == "1" {
		most, enough, atLeast = 4*time.Second, longFaults, longLinear
	}
	var sum tally
	for faults < enough || time.Since(began) < atLeast {
		name := names[faults%len(names)]
		faults++
		l := &linearRun{t: t, c: c, network: network, log: linear.NewLog()}
		l.round(fmt.Sprint(faults, "-"), linearFaults[name], random.Perm(2), most/2+time.Duration(random.Int64N(int64(most))))
		found := l.judge()
		sum.add(l.log)
		open += len(found)
		if slices.ContainsFunc(found, func(f linear.Finding) bool { return !f.Undecided }) || open*rareOpen > max(faults, enough) {
			t.Fatalf("round %d, %s: no order for %d locks", faults, name, len(found))
		}
	}
	t.Logf("%d faults in %v, the orders of %d locks undecided: %+v", faults, time.Since(began).Round(time.Second), open, sum)
	if sum.Granted == 0 || sum.Renewed == 0 || sum.Released == 0 || sum.Expired == 0 || sum.Refused == 0 {
		t.Error("some operation never took place, so nothing was shown of it")
	}
}

// round lets clients work, a fault happen for d meanwhile and end, and sees to it that every lock can be had again.
func (l *linearRun) round(name string, fault linearFault, order []int, d time.Duration) {
	l.t.Helper()
	leader := l.c.Leader()
	others := slices.DeleteFunc([]int{0, 1, 2}, func(m int) bool { return m == leader })
	clients := l.crowd(linearClients, name)
	l.goesOn()
	heal := fault(l, leader, others[order[0]], others[order[1]])
	wait(d)
	heal()
	l.goesOn()
	clients.leave()
	last := l.client(linearClients, 0)
	defer last.hangUp()
	for _, lock := range linearLocks {
		key := name + lock.name
		last.must(linear.Op{Kind: linear.Holder, Key: key})
		if lock.name != "long" {
			last.grant(key)
		}
	}
}

// grant takes a lock as soon as its lease is over.
func (c *linearClient) grant(key string) {
	c.t.Helper()
	harness.Eventually(c.t, clusterPatience, func() bool {
		c.named++
		o := c.must(linear.Op{Key: key, Owner: fmt.Sprint("last-", c.named), TTL: time.Second})
		return o.Done
	})
}

// goesOn waits until locks are granted.
func (l *linearRun) goesOn() {
	l.t.Helper()
	granted := func(o *linear.Op) bool { return o.Kind == linear.Acquire && o.Done }
	before := l.log.Count(granted)
	harness.Eventually(l.t, clusterPatience, func() bool { return l.log.Count(granted) >= before+30 })
}

// tally is what operations came to.
type tally struct{ Granted, Refused, Renewed, Released, Expired, Queries, Unknown int }

func (s *tally) add(log *linear.Log) {
	for _, o := range log.Ops() {
		switch {
		case !o.Known:
			s.Unknown++
		case o.Kind == linear.Acquire && o.Done:
			s.Granted++
		case o.Kind == linear.Acquire:
			s.Refused++
		case o.Kind == linear.Holder || o.Kind == linear.Token:
			s.Queries++
		case !o.Done:
			s.Expired++ // a renewal or release that came too late
		case o.Kind == linear.Renew:
			s.Renewed++
		default:
			s.Released++
		}
	}
}
