package integration

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// tokenRace is clients that all want one lock, and the tokens that they were granted.
type tokenRace struct {
	h    *history
	stop chan struct{}
	wait sync.WaitGroup
}

// raceOn has two clients of each server contend for one lock.
func raceOn(servers []*harness.Server) *tokenRace {
	r := &tokenRace{h: newHistory(), stop: make(chan struct{})}
	for i := range 2 * len(servers) {
		c := &proxyClient{addr: servers[i%len(servers)].Addr, h: r.h}
		r.wait.Go(func() {
			defer c.close()
			for n := 0; !ended(r.stop); n++ {
				r.attempt(c, strconv.Itoa(i)+"-"+strconv.Itoa(n))
			}
		})
	}
	return r
}

// attempt takes the lock, if it can be had, and gives it back.
func (r *tokenRace) attempt(c *proxyClient, owner string) {
	a := &attempt{key: "fence:hot", owner: owner, ttl: loadLease}
	c.acquire(a)
	r.h.record(a)
	for a.outcome == wasGranted && time.Now().Before(a.ends) && c.release(a) == notDone {
		wait(time.Millisecond)
	}
	wait(time.Millisecond) // the client's own time
}

// goesOn waits for n more grants.
func (r *tokenRace) goesOn(t *testing.T, n int) {
	t.Helper()
	before := r.h.count(wasGranted)
	limit := patience + time.Duration(n)*100*time.Millisecond // three proxies that contend grant some 30 in a second
	harness.Eventually(t, limit, func() bool { return r.h.count(wasGranted) >= before+n })
}

// judge ends the race and wants its tokens to rise: each above all that were known when it was asked for.
func (r *tokenRace) judge(t *testing.T) {
	t.Helper()
	close(r.stop)
	r.wait.Wait()
	for _, finding := range fallingTokens(r.h.attempts) {
		t.Error(finding)
	}
	t.Logf("%d granted, %d refused, %d not served, %d unknown", r.h.count(wasGranted), r.h.count(wasRefused), r.h.count(wasUnserved), r.h.count(wasUnknown))
}

// apart is how far two of the wall clocks are apart.
const apart = 5 * time.Second

// Wall clocks of three servers.
var (
	fiveApart = []time.Duration{-apart / 2, 0, apart / 2}
	ahead     = []time.Duration{apart / 2, apart / 2, apart / 2}
	behind    = []time.Duration{-apart / 2, -apart / 2, -apart / 2}
)

// skewed is a clock with an offset, in a file of the test's.
func skewed(t *testing.T, offset time.Duration) (env string) {
	t.Helper()
	clock := steppedClock{t: t, file: filepath.Join(t.TempDir(), "offset")}
	clock.step(offset)
	return "REDFENCE_CLOCK_OFFSET_FILE=" + clock.file
}

// tokenRaceCase is a race for a lock, before and behind something that happens to the servers.
type tokenRaceCase struct {
	clocks  []time.Duration // of the servers
	grants  int             // before, and as many behind; with REDFENCE_LONG=1 1,000
	forgive time.Duration   // how long nodes that all have forgotten do not vote
}

// amid runs the race, with a fault in its middle.
func (tc tokenRaceCase) amid(t *testing.T, servers []*harness.Server, fault func()) {
	t.Helper()
	grants := tc.grants
	if os.Getenv("REDFENCE_LONG") == "1" {
		grants = 1000
	}
	r := raceOn(servers)
	r.goesOn(t, grants)
	fault()
	r.goesOn(t, grants)
	r.judge(t)
}

// TestTokensOfAClusterRiseInRealTime has clients of three members contend for one lock: the tokens rise in the order of time, with
// clocks that differ, over the loss of leaders, disks, and of everything.
func TestTokensOfAClusterRiseInRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	tests := map[string]struct {
		tokenRaceCase
		fault func(t *testing.T, l *linearRun)
	}{
		"clocks 5 s apart":                {tokenRaceCase{clocks: fiveApart, grants: 500}, func(*testing.T, *linearRun) {}},
		"leader killed, clocks 5 s apart": {tokenRaceCase{clocks: fiveApart, grants: 100}, func(_ *testing.T, l *linearRun) { l.kill(l.c.Leader())() }},
		"all restarted":                   {tokenRaceCase{clocks: fiveApart, grants: 100}, func(_ *testing.T, l *linearRun) { l.kill(0, 1, 2)() }},
		"all restarted, all clocks stepped back": {tokenRaceCase{clocks: ahead, grants: 100}, func(t *testing.T, l *linearRun) {
			t.Helper()
			restart := l.kill(0, 1, 2)
			setClocks(t, l.c.Members, behind)
			restart()
		}},
		"all data lost": {tokenRaceCase{clocks: ahead, grants: 100}, func(t *testing.T, l *linearRun) {
			t.Helper()
			l.kill(0, 1, 2)
			loseData(t, l.c, 0, 1, 2)
		}},
		"all data lost, clocks 5 s behind since, which have passed": {tokenRaceCase{clocks: ahead, grants: 100}, func(t *testing.T, l *linearRun) {
			t.Helper()
			l.kill(0, 1, 2)
			setClocks(t, l.c.Members, behind)
			wait(apart)
			loseData(t, l.c, 0, 1, 2)
		}},
		"one recovered, the others restored from its snapshot": {tokenRaceCase{clocks: fiveApart, grants: 100}, recoverOne},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := harness.NewClusterWith(t, 3, harness.Options{Tags: "clockskew"})
			setClocks(t, c.Members, tc.clocks)
			c.Start()
			tc.amid(t, c.Members, func() { tc.fault(t, &linearRun{t: t, c: c}) })
		})
	}
}

// setClocks gives servers that do not run other wall clocks.
func setClocks(t *testing.T, servers []*harness.Server, clocks []time.Duration) {
	t.Helper()
	for i, s := range servers {
		s.SetEnv(skewed(t, clocks[i]))
	}
}

// loseData takes the data of members that do not run, and starts them again.
func loseData(t *testing.T, c *harness.Cluster, members ...int) {
	t.Helper()
	for _, m := range members {
		if err := os.RemoveAll(c.Members[m].Dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range members {
		c.Members[m].Launch()
	}
	for _, m := range members {
		c.Members[m].AwaitReady()
	}
}

// recoverOne makes a new cluster of one member, to which the others come without data.
func recoverOne(t *testing.T, l *linearRun) {
	t.Helper()
	left := l.c.Leader()
	l.kill(0, 1, 2)
	if code, text := harness.RunRedfence(t, "member", "recover", "--data-dir", l.c.Members[left].Dir, "--hold", "1s", "--yes"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, text)
	}
	l.c.Members[left].Start()
	loseData(t, l.c, (left+1)%3, (left+2)%3)
	voters(t, l.c.Members[left], 3)
	l.kill(left)() // somebody leads who has nothing but the snapshot
}

// TestQuorumTokensRiseInRealTime has clients of three proxies contend for one lock: the tokens rise in the order of time, with
// clocks that differ, while one node after the other forgets all, or all forget at once.
func TestQuorumTokensRiseInRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	tests := map[string]struct {
		tokenRaceCase
		fault func(t *testing.T, r *ring)
	}{
		"clocks 5 s apart": {tokenRaceCase{clocks: fiveApart, grants: 150}, func(*testing.T, *ring) {}},
		"one node after the other wiped, clocks 5 s apart": {tokenRaceCase{clocks: fiveApart, grants: 100}, wipeInTurn},
		"proxies restarted": {tokenRaceCase{clocks: fiveApart, grants: 100}, func(t *testing.T, r *ring) { t.Helper(); restartProxies(t, r, fiveApart) }},
		"proxies restarted, all clocks stepped back": {
			tokenRaceCase{clocks: ahead, grants: 100}, func(t *testing.T, r *ring) { t.Helper(); restartProxies(t, r, behind) },
		},
		"all data lost, clocks 5 s apart": {tokenRaceCase{clocks: fiveApart, grants: 100, forgive: apart}, func(_ *testing.T, r *ring) {
			for _, s := range r.servers {
				s.Kill()
			}
			for _, s := range r.servers {
				s.Restart()
			}
			r.awaitCounted(r.proxies...)
		}},
		"all data and proxies lost, clocks 5 s behind since, which have passed": {tokenRaceCase{clocks: ahead, grants: 100}, func(t *testing.T, r *ring) {
			t.Helper()
			for _, s := range append(slices.Clone(r.servers), r.proxies...) {
				s.Kill()
			}
			wait(apart)
			for _, s := range r.servers {
				s.Restart()
			}
			restartProxies(t, r, behind)
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := startRing(t, ringOf{nodes: 3, direct: true})
			for _, offset := range tc.clocks {
				r.addForgiving(cmp.Or(tc.forgive, loadLease), harness.Options{Tags: "clockskew", Env: []string{skewed(t, offset)}})
			}
			r.awaitCounted(r.proxies...)
			tc.amid(t, r.proxies, func() { tc.fault(t, r) })
		})
	}
}

// addForgiving runs one more redfence over the nodes, which lets nodes that all have forgotten vote after some time.
func (r *ring) addForgiving(after time.Duration, o harness.Options) {
	r.t.Helper()
	o.Args = []string{"--max-lock-ttl", milliseconds(after) + "ms"}
	for _, url := range r.urls {
		o.Args = append(o.Args, "--node", url)
	}
	r.proxies = append(r.proxies, harness.StartRedfenceWith(r.t, o))
}

// wipeInTurn wipes a minority at a time, until no node has what it had.
func wipeInTurn(_ *testing.T, r *ring) {
	for _, s := range r.servers {
		s.Kill()
		s.Restart()
		r.awaitCounted(r.proxies...)
	}
}

// restartProxies starts them again, all with other clocks.
func restartProxies(t *testing.T, r *ring, clocks []time.Duration) {
	t.Helper()
	for i, p := range r.proxies {
		p.Kill()
		setClocks(t, r.proxies[i:i+1], clocks[i:])
		p.Restart()
	}
	r.awaitCounted(r.proxies...)
}
