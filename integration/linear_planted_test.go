package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/integration/linear"
)

// plantedBug is a bug that builds with the tag planted can have, and what brings it to light.
type plantedBug struct {
	name  string
	tries int // how often it may take
	show  func(l *linearRun, key string)
}

var plantedBugs = []plantedBug{
	{"unconfirmed reads", 40, (*linearRun).wakeALeader},
	{"expiry by wall clock", 1, (*linearRun).stepTheClock},
	{"no dedup", 3, (*linearRun).loseAnAnswer},
	{"amnesiac votes", 1, (*linearRun).voteWithoutMemory},
	{"ack before fsync", 1, (*linearRun).killAll},
	{"effects before own fsync", 1, (*linearRun).holdTheLeader},
}

// TestPlantedBugsAreFound plants a bug at a time in all members, and wants the search for an order to find it. The same
// happens to the same build without a bug, of which nothing may be found.
func TestPlantedBugsAreFound(t *testing.T) {
	if os.Getenv("REDFENCE_LONG") != "1" {
		t.Skip("skipped: two minutes of planted bugs; REDFENCE_LONG=1 looks for them")
	}
	for _, bug := range plantedBugs {
		t.Run(bug.name, func(t *testing.T) {
			if found := bug.find(t, ""); len(found) != 0 {
				t.Error("found a bug where none was planted")
			}
			found := bug.find(t, bug.name)
			if len(found) == 0 || found[0].Undecided {
				t.Errorf("not found: %v", found)
			}
		})
	}
}

// find has the bug come to light, on a cluster that has what is planted.
func (b plantedBug) find(t *testing.T, planted string) (found []linear.Finding) {
	t.Helper()
	clock := steppedClock{t: t, file: filepath.Join(t.TempDir(), "offset")}
	clock.step(0)
	c, network := harness.NewApartCluster(t, 3, harness.Options{
		Args: []string{"--log-store", "bolt"}, Tags: "planted,clockskew",
		Env: []string{"REDFENCE_PLANTED=" + planted, "REDFENCE_CLOCK_OFFSET_FILE=" + clock.file},
	})
	c.Start()
	l := &linearRun{t: t, c: c, network: network, clock: clock, log: linear.NewLog()}
	tries := b.tries
	if planted == "" {
		tries = min(tries, 2)
	}
	for n := 0; n < tries && len(found) == 0; n++ {
		b.show(l, fmt.Sprint("lock", n))
		found = l.judge()
	}
	return found
}

// at returns a client of a member, which hangs up when the test ends.
func (l *linearRun) at(id, member int) *linearClient {
	c := l.client(id, member%len(l.c.Members))
	l.t.Cleanup(c.hangUp)
	return c
}

// wakeALeader stops the leader, has the lock change hands without it, and asks it on connections that it has not looked at.
func (l *linearRun) wakeALeader(key string) {
	leader := l.c.Leader()
	first := l.at(0, leader)
	first.must(linear.Op{Key: key, Owner: "a", TTL: time.Hour})
	ask := make([]*linearClient, 8)
	for i := range ask {
		ask[i] = l.at(10+i, leader)
		ask[i].must(linear.Op{Kind: linear.Holder, Key: key})
	}
	l.c.Members[leader].Pause()
	other := l.at(1, leader+1)
	other.must(linear.Op{Kind: linear.Release, Key: key, Owner: "a"})
	other.must(linear.Op{Key: key, Owner: "b", TTL: time.Hour})
	asked := make([]linear.Op, len(ask))
	for i, c := range ask {
		asked[i] = linear.Op{Kind: linear.Holder, Key: key}
		c.send(&asked[i])
	}
	l.c.Members[leader].Resume()
	for i, c := range ask {
		c.receive(asked[i])
	}
}

// stepTheClock makes the wall clock of all members an hour late while a lock is held for longer than the test takes.
func (l *linearRun) stepTheClock(key string) {
	c := l.at(0, l.c.Leader())
	c.must(linear.Op{Key: key, Owner: "a", TTL: 10 * time.Minute})
	l.clock.step(time.Hour)
	c.must(linear.Op{Kind: linear.Holder, Key: key})
	c.must(linear.Op{Key: key, Owner: "b", TTL: time.Minute})
	l.clock.step(0)
}

// loseAnAnswer has a follower's call executed and its answer get lost, so that the follower sends it again.
func (l *linearRun) loseAnAnswer(key string) {
	leader := l.c.Leader()
	follower := (leader + 1) % 3
	far, near := l.at(0, follower), l.at(1, leader)
	far.must(linear.Op{Kind: linear.Holder, Key: key})
	l.network.CutAnswers(leader, follower)
	o := linear.Op{Key: key, Owner: "a", TTL: time.Hour}
	far.send(&o)
	harness.Poll(linearPatience, func() bool {
		return near.must(linear.Op{Kind: linear.Holder, Key: key}).Holder == "a"
	})
	l.network.Break()
	l.network.Heal()
	far.receive(o)
	near.must(linear.Op{Kind: linear.Token, Key: key, Owner: "a"})
}

// voteWithoutMemory leaves one member that has missed a grant and one that has lost its disk, which are no majority.
func (l *linearRun) voteWithoutMemory(key string) {
	leader := l.c.Leader()
	missed, wiped := (leader+1)%3, (leader+2)%3
	l.c.Members[missed].Kill()
	l.at(0, leader).must(linear.Op{Key: key, Owner: "a", TTL: time.Hour})
	l.kill(leader, wiped)
	if err := os.RemoveAll(l.c.Members[wiped].Dir); err != nil {
		l.t.Fatal(err)
	}
	l.c.Members[missed].Launch()
	l.c.Members[wiped].Launch()
	c := l.at(1, missed)
	harness.Poll(voteTime, func() bool {
		o, sure := c.do(linear.Op{Key: key, Owner: "b", TTL: time.Hour})
		return sure && o.Known
	})
	l.c.Members[leader].Launch()
	l.at(2, missed).must(linear.Op{Kind: linear.Holder, Key: key})
}

// voteTime is some election timeouts.
const voteTime = 5 * time.Second

// killAll kills all members at once when they have granted a lock.
func (l *linearRun) killAll(key string) {
	l.at(0, l.c.Leader()).must(linear.Op{Key: key, Owner: "a", TTL: time.Hour})
	restart := l.kill(0, 1, 2)
	restart()
	l.at(1, 0).must(linear.Op{Kind: linear.Holder, Key: key})
}

// holdTheLeader has the leader take a lock for a client while its disk hangs, with one follower, and kills both. The other one
// and the leader, whose disk has nothing of it, are a majority.
func (l *linearRun) holdTheLeader(key string) {
	leader := l.c.Leader()
	has, missed := (leader+1)%3, (leader+2)%3
	l.c.Members[missed].Kill()
	l.at(0, leader).must(linear.Op{Kind: linear.Holder, Key: key})
	held := filepath.Join(l.c.Members[leader].Dir, "held-disk")
	if err := os.WriteFile(held, nil, 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.at(1, leader).do(linear.Op{Key: key, Owner: "a", TTL: time.Hour})
	l.kill(leader, has)
	if err := os.Remove(held); err != nil {
		l.t.Fatal(err)
	}
	l.c.Members[leader].Launch()
	l.c.Members[missed].Launch()
	l.at(2, missed).must(linear.Op{Kind: linear.Holder, Key: key})
}
