package quorum

import (
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// counted is the answer of a node that counted one up, from a version.
func counted(before tally.Version, id string, n int64) *tally.Answer {
	return &tally.Answer{Ran: true, Reply: resp.Int(n), Writes: []tally.Write{{
		Key: "hot", Before: before, After: before.Next(id), Existed: true, Exists: true, State: "string", TTL: tally.Forever, Token: 7,
	}}}
}

func version(n uint64, id string) tally.Version { return tally.Version{Number: n, Request: id} }

// runs are the requests that a node was sent, of all that waits there.
func (n *mutedNode) runs() (runs int) {
	for _, s := range n.sent {
		if _, is := s.Op.(*runner.Run); is {
			runs++
		}
	}
	return runs
}

// answerAll answers what waits on a node, as a node does that can do all that is asked of it; the runs by run.
func (n *mutedNode) answerAll(run func() *tally.Answer) {
	sent := n.sent
	n.sent = nil
	for _, s := range sent {
		switch op := s.Op.(type) {
		case *runner.Run:
			s.Done(Outcome{Answer: run()})
		case *runner.Undo:
			s.Done(Outcome{Undone: []runner.Undone{{Put: true}}})
		case *runner.Fetch:
			s.Done(Outcome{States: []runner.State{{Key: op.Keys[0], Exists: true, Version: version(9, "gone on")}}})
		default:
			s.Done(Outcome{Reason: "withdrawn"})
		}
	}
}

// Requests for one key are sent one behind the other, until each node sees them in another order than the next one.
func TestContendersTakeTurns(t *testing.T) {
	m := newMuted()
	m.submit(t, "INCR", "hot")
	m.submit(t, "INCR", "hot")
	if got := m.nodes[0].runs(); got != 2 {
		t.Fatalf("%d requests were sent, want both", got)
	}
	for i, id := range []string{"a", "b", "c"} {
		m.nodes[i].answerAll(func() *tally.Answer { return counted(version(1, id), id, 2) })
	}
	for _, n := range m.nodes {
		n.answerAll(nil) // what is put back
	}
	m.clock.fire()
	m.submit(t, "INCR", "hot")
	m.submit(t, "INCR", "hot")
	m.submit(t, "INCR", "cold")
	if got := m.nodes[0].runs(); got != 2 {
		t.Fatalf("%d requests are on their way, want one for the contended key and one for the other", got)
	}
	for range 4 {
		for _, n := range m.nodes {
			n.answerAll(func() *tally.Answer { return counted(version(1, "a"), "p", 2) })
		}
		m.clock.fire()
	}
	if len(m.replies) != 5 {
		t.Errorf("%d replies, want 5", len(m.replies))
	}
}

// A turn is over after some time without trouble, and nothing is kept of it.
func TestTurnsAreForgotten(t *testing.T) {
	m := newMuted()
	m.engine.contend(0, []string{"hot", "other"})
	m.submit(t, "INCR", "hot")
	m.submit(t, "INCR", "hot")
	if got := m.nodes[0].runs(); got != 1 {
		t.Fatalf("%d requests are on their way, want one", got)
	}
	m.clock.now += contendedFor
	m.clock.fire()
	for range 2 {
		for _, n := range m.nodes {
			n.answerAll(func() *tally.Answer { return counted(version(1, "a"), "p", 2) })
		}
	}
	if len(m.replies) != 2 || m.engine.turns.count.Load() != 0 || len(m.engine.turns.on) != 0 {
		t.Errorf("%d replies, %d turns", len(m.replies), m.engine.turns.count.Load())
	}
}

// A node that is behind with a key that is written all the time gets what it lacks: the next request waits for that.
func TestANodeCatchesUpWithABusyKey(t *testing.T) {
	m := newMuted()
	behind := func() *tally.Answer { return counted(version(1, "old"), "p", 1) }
	same := func() *tally.Answer { return counted(version(5, "a"), "p", 6) }
	m.submit(t, "INCR", "hot")
	m.submit(t, "INCR", "hot")
	m.nodes[0].answerAll(same)
	m.nodes[1].answerAll(same)
	m.nodes[2].answerAll(behind)
	m.nodes[0].answerAll(same) // what is to be copied, which is out of date
	m.nodes[1].answerAll(same)
	m.submit(t, "INCR", "hot")
	m.submit(t, "INCR", "hot")
	for i, answer := range []func() *tally.Answer{same, same, behind} {
		m.nodes[i].answerAll(answer)
	}
	if len(m.replies) != 3 {
		t.Fatalf("%d replies, want 3", len(m.replies))
	}
	if got := m.nodes[2].runs(); got != 0 {
		t.Fatal("the next request does not wait for the node that is behind")
	}
	m.nodes[0].answerAll(same) // what is to be copied
	if got := m.nodes[2].runs(); got != 1 {
		t.Errorf("%d requests on their way, want the one that has waited", got)
	}
}
