package integration

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/integration/linear"
)

// linearPatience is how long a client waits for an answer. Then it does not know the outcome, and asks another node, for twice
// as long. Each operation without an outcome may have taken place at any time since, and with many of them on one lock nobody can
// search through all orders.
const linearPatience = time.Second

// linearRun is a cluster, and what its clients have been told.
type linearRun struct {
	t       *testing.T
	c       *harness.Cluster
	network *harness.Network
	clock   steppedClock // of all members, for builds that have one
	log     *linear.Log
}

// client returns one that talks to a member, and goes on to the next one when that does not answer.
func (l *linearRun) client(id, member int) *linearClient {
	return &linearClient{
		t: l.t, c: l.c, log: l.log, id: id, at: member, random: rand.New(rand.NewPCG(uint64(id), uint64(member))),
	}
}

// judge fails the test when the answers have no order, and returns what it found.
func (l *linearRun) judge() []linear.Finding {
	found := linear.Check(l.log.Ops(), time.Minute)
	for _, f := range found {
		l.t.Logf("%s (undecided: %v)\n%s", f.Key, f.Undecided, f.Report)
	}
	return found
}

// linearClient takes locks, renews them, asks about them and lets them go, and takes down what it was told.
type linearClient struct {
	t      *testing.T
	c      *harness.Cluster
	log    *linear.Log
	id, at int
	wire   *harness.Wire
	random *rand.Rand
	named  int // owners so far
	lost   int // answers in a row
}

// command is what an operation is on the wire.
func command(o *linear.Op) []string {
	switch o.Kind {
	case linear.Acquire:
		return []string{"SET", o.Key, o.Owner, "NX", "PX", milliseconds(o.TTL), "FENCE"}
	case linear.Release:
		return []string{"EVAL", compareAndDelete, "1", o.Key, o.Owner}
	case linear.Renew:
		return []string{"EVAL", compareAndExpire, "1", o.Key, o.Owner, milliseconds(o.TTL)}
	case linear.Holder:
		return []string{"GET", o.Key}
	default:
		return []string{"FENCE", o.Key, o.Owner}
	}
}

// do executes an operation and takes it down, unless it surely was not executed: then it returns false.
func (c *linearClient) do(o linear.Op) (linear.Op, bool) {
	if !c.send(&o) {
		return o, false
	}
	return c.receive(o)
}

// send sends an operation. When nothing can have been sent it returns false.
func (c *linearClient) send(o *linear.Op) bool {
	if c.wire == nil {
		wire, err := harness.Open(c.c.Members[c.at%len(c.c.Members)].Addr)
		if err != nil {
			c.next()
			return false
		}
		c.wire = wire
	}
	o.Client, o.Call = c.id, c.log.Now()
	_ = c.wire.Send(command(o)...) // receive finds out
	return true
}

// receive waits for the answer to the operation that was sent.
func (c *linearClient) receive(o linear.Op) (linear.Op, bool) {
	r, err := c.wire.ReceiveWithin(linearPatience << min(c.lost, 3))
	c.lost++
	o.Return = c.log.Now()
	switch {
	case err != nil || strings.HasPrefix(r.Text, "ERR UNKNOWN"):
		c.next()
	case notExecuted(r):
		c.lost = 0
		return o, false
	default:
		o.Known, c.lost = true, 0
		if !understand(&o, r) {
			c.t.Errorf("%v was answered %v", &o, r)
		}
	}
	c.log.Add(o)
	return o, true
}

// understand takes the answer from the reply, and tells whether it is one.
func understand(o *linear.Op, r harness.Reply) bool {
	n, isInt := r.Int()
	switch o.Kind {
	case linear.Acquire, linear.Token:
		o.Token, o.Done = n, isInt
		return isInt || r.Null
	case linear.Holder:
		if !r.Null {
			o.Holder = r.Text
		}
		return !isInt && r.Kind != '-'
	default:
		o.Done = n == 1
		return isInt
	}
}

// must executes an operation until it is known what became of it.
func (c *linearClient) must(o linear.Op) linear.Op {
	c.t.Helper()
	harness.Eventually(c.t, clusterPatience, func() bool {
		done, sure := c.do(o)
		o = done
		return sure && o.Known
	})
	return o
}

// next hangs up and goes on to another member.
func (c *linearClient) next() {
	c.hangUp()
	c.at++
}

func (c *linearClient) hangUp() {
	if c.wire != nil {
		_ = c.wire.Close()
		c.wire = nil
	}
}

// linearLocks are the locks of a round, and for how long they are taken. What is taken for longer than a round lasts may
// end by its release only.
var linearLocks = []struct {
	name string
	ttls []time.Duration
}{
	{"short", []time.Duration{60 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond}},
	{"medium", []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second}},
	{"long", []time.Duration{time.Minute, time.Hour}},
}

// work takes a lock of a round, if it can be had, and does some of what holders do.
func (c *linearClient) work(round string, stop chan struct{}) {
	lock := linearLocks[c.random.IntN(len(linearLocks))]
	c.named++
	o := linear.Op{Key: round + lock.name, Owner: fmt.Sprint("c", c.id, "-", c.named), TTL: lock.ttls[c.random.IntN(len(lock.ttls))]}
	if c.random.IntN(4) == 0 {
		c.do(linear.Op{Kind: linear.Holder, Key: o.Key})
	}
	taken, sure := c.do(o)
	if !sure || taken.Known && !taken.Done {
		return
	}
	for range c.random.IntN(4) {
		o.Kind = linear.Renew + linear.Kind(c.random.IntN(3))
		c.do(o)
		c.pause()
	}
	if lock.name != "long" && c.random.IntN(3) == 0 {
		return // it ends by itself
	}
	o.Kind = linear.Release
	for known := false; !known && !ended(stop); {
		gone, sure := c.do(o)
		known = sure && gone.Known
		c.pause()
	}
}

// pause is what a client does besides.
func (c *linearClient) pause() { time.Sleep(time.Duration(c.random.IntN(5000)) * time.Microsecond) }

// linearCrowd is clients at work.
type linearCrowd struct {
	stop chan struct{}
	wait sync.WaitGroup
}

// crowd has n clients work on the locks of a round.
func (l *linearRun) crowd(n int, round string) *linearCrowd {
	w := &linearCrowd{stop: make(chan struct{})}
	for i := range n {
		w.wait.Go(func() {
			c := l.client(i, i)
			defer c.hangUp()
			for !ended(w.stop) {
				c.work(round, w.stop)
				c.pause()
			}
		})
	}
	return w
}

// leave has all clients finish what they are at.
func (w *linearCrowd) leave() {
	close(w.stop)
	w.wait.Wait()
}
