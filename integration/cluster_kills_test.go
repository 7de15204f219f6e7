package integration

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// killEvery is how often the leader is killed under the clients' programs; the first time comes after firstKill.
const (
	killEvery = 10 * time.Second
	firstKill = time.Second
)

// besieged is a cluster whose clients sit on the two nodes that stay, while the third, which leads, is killed again and
// again. So no connection breaks, and whatever goes wrong is due to a change of the leader.
type besieged struct {
	*harness.Cluster
	next  atomic.Int64
	stop  chan struct{}
	ended chan struct{}
	kills int
}

// onKilledLeaders is a backend for the clients' programs alone.
var onKilledLeaders = backend{name: "raft3-kills", start: startBesieged, fences: true}

func startBesieged(t testing.TB) deployment {
	t.Helper()
	b := &besieged{Cluster: harness.StartCluster(t, 3), stop: make(chan struct{}), ended: make(chan struct{})}
	t.Cleanup(func() {
		close(b.stop)
		<-b.ended
		t.Logf("the leader was killed %d times", b.kills)
	})
	go b.run()
	return b
}

// Address is that of one of the nodes that stay.
func (b *besieged) Address() string { return b.Members[int(b.next.Add(1))%2].Addr }

// Restart restarts one node after the other.
func (b *besieged) Restart() { (&spread{Cluster: b.Cluster}).Restart() }

// run kills the third member whenever it leads and the time has come, starts it again and gives it the lead.
func (b *besieged) run() {
	defer close(b.ended)
	victim := b.Members[2]
	for wait := firstKill; b.lead() && b.pause(wait); wait = killEvery {
		victim.Kill()
		b.kills++
		if !b.until(b.serves) { // else giving back the lead would make the election longer
			return
		}
		victim.Launch()
	}
}

// lead gives the lead to the third member. It tells false when the test is over.
func (b *besieged) lead() bool {
	return b.until(func() bool {
		if b.leads(b.Members[2]) {
			return true
		}
		_, _ = askOnce(b.Members[0].Addr, "REDFENCE", "MEMBER", "TRANSFER", b.Name(2)) // it may not be up yet
		return false
	})
}

// serves tells whether there is a leader that answers.
func (b *besieged) serves() bool {
	r, err := askOnce(b.Members[0].Addr, "EXISTS", "besieged")
	_, isNumber := r.Int()
	return err == nil && isNumber
}

func (*besieged) leads(m *harness.Server) bool {
	r, err := askOnce(m.Addr, "INFO", "raft")
	return err == nil && strings.Contains(r.Text, "raft_state:leader")
}

// until asks again and again, and tells false when the test is over.
func (b *besieged) until(is func() bool) bool {
	for !is() {
		if !b.pause(50 * time.Millisecond) {
			return false
		}
	}
	return true
}

// pause waits, and tells whether the test goes on.
func (b *besieged) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-b.stop:
		return false
	}
}
