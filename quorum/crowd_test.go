package quorum

import (
	"slices"
	"testing"
	"time"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

func refusedLock() *tally.Answer { return &tally.Answer{Ran: true} }

// values are what the requests that wait on the first node set, "DEL" for a release, in order.
func (m *muted) values() (list []string) {
	for _, s := range m.nodes[0].sent {
		words := s.Op.(*runner.Run).Requests[0].Args
		list = append(list, words[min(2, len(words)-1)])
	}
	return list
}

// vote answers the oldest sending of all nodes.
func (m *muted) vote(answer func() *tally.Answer) {
	for _, n := range m.nodes {
		n.answer(answer())
	}
}

func (m *muted) want(t *testing.T, sent []string, replies ...resp.Value) {
	t.Helper()
	if got := m.values(); !slices.Equal(got, sent) {
		t.Fatalf("sent %v, want %v", got, sent)
	}
	if len(m.replies) != len(replies) {
		t.Fatalf("replies %v, want %v", m.replies, replies)
	}
	for i, want := range replies {
		if got := m.replies[i]; got.Kind != want.Kind || got.Str != want.Str || got.Int() != want.Int() {
			t.Fatalf("replies %v, want %v", m.replies, replies)
		}
	}
}

// contended has a hold the lock, while b and c, who came before that was known, wait for it.
func contended(t *testing.T) *muted {
	t.Helper()
	m := newMuted()
	for _, owner := range []string{"a", "b", "c"} {
		m.submit(t, "SET", "lock", owner, "NX", "PX", "60000")
	}
	m.want(t, []string{"a"})
	m.vote(tookLock)
	m.want(t, nil, resp.OK())
	return m
}

func TestALockIsHandedOver(t *testing.T) {
	m := contended(t)
	m.submit(t, "DEL", "lock")
	m.want(t, []string{"lock", "b"}, resp.OK())
	for i, s := range m.nodes[0].sent {
		if s.More != (i == 0) {
			t.Errorf("sending %d: more %v", i, s.More)
		}
	}
	m.vote(endedLock)
	m.vote(tookLock)
	m.want(t, nil, resp.OK(), resp.Int(1), resp.OK())
	m.submit(t, "DEL", "lock")
	m.want(t, []string{"lock", "c"}, resp.OK(), resp.Int(1), resp.OK())
}

func TestALockThatIsHeldIsRefused(t *testing.T) {
	m := contended(t)
	m.clock.now += holdPatience
	m.clock.fire()
	m.want(t, []string{"b"}, resp.OK())
	m.submit(t, "SET", "lock", "d", "NX", "PX", "60000")
	m.vote(refusedLock)
	m.want(t, []string{"d"}, resp.OK(), resp.Value{}, resp.Value{})
	m.vote(refusedLock)
	m.want(t, nil, resp.OK(), resp.Value{}, resp.Value{}, resp.Value{})
	if n := m.engine.crowds.count.Load(); n != 0 || len(m.engine.crowds.on) != 0 {
		t.Errorf("%d crowds are left", n)
	}
}

// A release that another sends, or of another key, wakes nobody, and one who has waited for long waits no more.
func TestWhoWaitsForALock(t *testing.T) {
	m := contended(t)
	m.submit(t, "DEL", "other")
	m.want(t, []string{"other"}, resp.OK())
	m.vote(foundNone)
	m.clock.now += crowdPatience - time.Microsecond
	m.submit(t, "SET", "lock", "d", "NX", "PX", "60000")
	m.submit(t, "DEL", "lock")
	m.want(t, []string{"lock", "b"}, resp.OK(), resp.Int(0))
	m.clock.now += time.Microsecond
	m.vote(endedLock)
	m.vote(tookLock)
	m.want(t, nil, resp.OK(), resp.Int(0), resp.Int(1), resp.Value{}, resp.OK())
	m.submit(t, "DEL", "lock")
	m.want(t, []string{"lock", "d"}, resp.OK(), resp.Int(0), resp.Int(1), resp.Value{}, resp.OK())
}
