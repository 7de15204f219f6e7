package quorum

import (
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/tally"
)

// mutedNode keeps what it is sent, until the test answers it.
type mutedNode struct{ sent []Sending }

var _ Node = (*mutedNode)(nil)

func (n *mutedNode) Name() string                       { return "muted" }
func (n *mutedNode) Send(s Sending)                     { n.sent = append(n.sent, s) }
func (n *mutedNode) Standing() (Standing, tally.Reason) { return Counted, "" }

// answer ends the oldest sending; nil is no answer.
func (n *mutedNode) answer(a *tally.Answer) {
	s := n.sent[0]
	n.sent = n.sent[1:]
	if a == nil {
		s.Done(Outcome{Reason: "withdrawn"})
		return
	}
	s.Done(Outcome{Answer: a})
}

// mutedClock is moved by the test, which also fires its timers.
type mutedClock struct {
	now    time.Duration
	timers []func()
}

func (c *mutedClock) Now() time.Duration { return c.now }

func (c *mutedClock) AfterFunc(_ time.Duration, f func()) func() {
	stopped := false
	c.timers = append(c.timers, func() {
		if !stopped {
			f()
		}
	})
	return func() { stopped = true }
}

func (c *mutedClock) fire() {
	due := c.timers
	c.timers = nil
	for _, f := range due {
		f()
	}
}

// muted is an engine over three such nodes.
type muted struct {
	nodes   [3]*mutedNode
	clock   mutedClock
	engine  *Engine
	replies []resp.Value
}

func newMuted() *muted {
	m := &muted{clock: mutedClock{now: time.Hour}}
	var nodes []Node
	for i := range m.nodes {
		m.nodes[i] = &mutedNode{}
		nodes = append(nodes, m.nodes[i])
	}
	m.engine = New(Config{
		Nodes: nodes, Clock: &m.clock, ID: "p", Timeout: 80 * time.Millisecond, Sink: deafSink{},
		Wall: func() int64 { return 1 }, Random: func(int64) int64 { return 0 },
	})
	return m
}

func (m *muted) submit(t *testing.T, line ...string) {
	t.Helper()
	r, err := commands.Bind(line, 0)
	if err != nil {
		t.Fatal(err)
	}
	m.engine.Open().Submit(&commands.Call{Requests: []*commands.Request{r}, Done: func(res commands.Result) {
		m.replies = append(m.replies, res.Reply)
	}})
}

func tookLock() *tally.Answer {
	return &tally.Answer{Ran: true, Reply: resp.OK(), Writes: []tally.Write{{
		Key: "lock", After: tally.Version{Number: 1, Request: "p.1"}, Exists: true, State: "me", TTL: 60_000, Token: 7, Fresh: true,
	}}}
}

func endedLock() *tally.Answer {
	return &tally.Answer{Ran: true, Reply: resp.Int(1), Writes: []tally.Write{{
		Key: "lock", Before: tally.Version{Number: 1, Request: "p.1"}, After: tally.Version{Number: 2, Request: "p.2"},
		Existed: true, Ended: true, OldToken: 7,
	}}}
}

func foundNone() *tally.Answer { return &tally.Answer{Ran: true, Reply: resp.Int(0)} }

func foundAnothers() *tally.Answer {
	a := foundNone()
	a.Seen = []tally.Seen{{Key: "lock", Version: tally.Version{Number: 2, Request: "q.1"}, Exists: true}}
	return a
}

// forgetful is the answer of a node that may have forgotten.
func forgetful(a *tally.Answer) *tally.Answer {
	a.Quarantined = true
	return a
}

// foundNext is what a node says that has the lock for somebody who found it released.
func foundNext() *tally.Answer {
	a := foundNone()
	a.Seen = []tally.Seen{{Key: "lock", Version: endedLock().Writes[0].After.Next("q.1"), Exists: true}}
	return a
}

func foundLeftover() *tally.Answer {
	a := foundNone()
	a.Seen = []tally.Seen{{Key: "lock", Version: tally.Version{Number: 2, Request: "r.1"}, Exists: true}}
	return a
}

// A node that has not been asked yet when the others have agreed is still asked, if that is soon.
func TestWhatOthersWonIsStillSent(t *testing.T) {
	refused := func() *tally.Answer { return &tally.Answer{Ran: true} }
	for _, tt := range []struct {
		name  string
		votes func() *tally.Answer
		after time.Duration
		want  bool // it is withdrawn
	}{
		{"at once", tookLock, time.Millisecond, false},
		{"too late", tookLock, 41 * time.Millisecond, true},
		{"nobody wrote", refused, time.Millisecond, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMuted()
			m.submit(t, "SET", "lock", "me", "NX", "PX", "60000")
			last := m.nodes[2].sent[0]
			m.nodes[0].answer(tt.votes())
			m.nodes[1].answer(tt.votes())
			if len(m.replies) != 1 {
				t.Fatalf("replies %v, a majority has agreed", m.replies)
			}
			m.clock.now += tt.after
			if got := last.Withdrawn(); got != tt.want {
				t.Errorf("withdrawn: %v, want %v", got, tt.want)
			}
		})
	}
}

// A majority that missed the hold, or that answered an attempt before, does not tell its holder that it has none.
func TestAReleaseByAMinority(t *testing.T) {
	for _, tt := range []struct {
		name     string
		attempts [][3]*tally.Answer // in the order of the answers
		want     int64
	}{
		{"nobody has the hold", [][3]*tally.Answer{{foundNone(), foundNone(), foundNone()}}, 0},
		{"the third has it", [][3]*tally.Answer{{foundNone(), foundNone(), endedLock()}}, 1},
		{"the first has it", [][3]*tally.Answer{{endedLock(), foundNone(), foundNone()}}, 1},
		{"the third does not answer", [][3]*tally.Answer{{foundNone(), foundNone(), nil}}, 0},
		{"a majority has somebody else's", [][3]*tally.Answer{{foundAnothers(), foundAnothers(), endedLock()}}, 0},
		{"a majority has what was granted to nobody", [][3]*tally.Answer{{foundAnothers(), foundLeftover(), endedLock()}}, 1},
		{"a majority has what was taken behind the release", [][3]*tally.Answer{{foundNext(), foundNext(), endedLock()}}, 1},
		{"one that may have forgotten has somebody else's", [][3]*tally.Answer{{foundAnothers(), forgetful(foundAnothers()), endedLock()}}, 1},
		{"it was alone to answer before, and another finds it now, beside somebody else's", [][3]*tally.Answer{
			{endedLock(), nil, nil}, {foundAnothers(), foundAnothers(), endedLock()},
		}, 1},
		{"it was alone to answer before", [][3]*tally.Answer{{endedLock(), nil, nil}, {foundNone(), foundNone(), foundNone()}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMuted()
			m.submit(t, "DEL", "lock")
			for i, answers := range tt.attempts {
				if i > 0 {
					m.clock.fire()
				}
				for node, a := range answers {
					if n := m.nodes[node]; len(n.sent) > 0 {
						n.answer(a)
					}
				}
				m.drain()
			}
			if len(m.replies) != 1 || m.replies[0].Int() != tt.want {
				t.Errorf("replies %v, want one: %d", m.replies, tt.want)
			}
		})
	}
}

// A node that may have forgotten the hold does not tell its holder that it has none, when it has the key for somebody else
// since: the third node, which does not answer, may have it.
func TestAReleaseBesideAForgetfulNode(t *testing.T) {
	m := newMuted()
	m.submit(t, "DEL", "lock")
	for i, a := range []*tally.Answer{foundAnothers(), forgetful(foundAnothers()), nil} {
		m.nodes[i].answer(a)
	}
	m.drain()
	if len(m.replies) != 1 || !m.replies[0].IsErr() {
		t.Errorf("replies %v, want an error", m.replies)
	}
}

// drain takes the copies that follow from a vote.
func (m *muted) drain() {
	for _, n := range m.nodes {
		for len(n.sent) > 0 {
			n.answer(nil)
		}
	}
}

// A renewal that too few nodes have made is not put back, and its error says so.
func TestARenewalByAMinority(t *testing.T) {
	renewed := func() *tally.Answer {
		a := tookLock()
		w := &a.Writes[0]
		w.Before, w.After, w.Existed, w.Renewal, w.Fresh = w.After, w.After.Next("p.2"), true, true, false
		a.Reply = resp.Int(1)
		return a
	}
	m := newMuted()
	m.submit(t, "PEXPIRE", "lock", "60000")
	for len(m.replies) == 0 && m.clock.now < 2*time.Hour {
		for i, a := range []*tally.Answer{renewed(), nil, nil} {
			if n := m.nodes[i]; len(n.sent) > 0 {
				n.answer(a)
			}
		}
		m.clock.now += time.Second
		m.clock.fire()
	}
	const want = "CLUSTERDOWN quorum lost: 1 of 3 nodes answered (muted: withdrawn, muted: withdrawn); nothing was executed but that a TTL may be longer now"
	if len(m.replies) != 1 || m.replies[0].Str != want {
		t.Errorf("replies %v, want one: %s", m.replies, want)
	}
}

// What a script has had one node remember by FENCE.CHECK is not put back, and its error says so.
func TestACheckByAMinority(t *testing.T) {
	m := newMuted()
	m.submit(t, "EVAL", "return redis.call('FENCE.CHECK', ARGV[1], ARGV[2])", "0", "stock", "7")
	for _, n := range m.nodes { // whether the text is a script
		n.answer(&tally.Answer{Ran: true, Reply: resp.OK()})
	}
	for len(m.replies) == 0 && m.clock.now < 2*time.Hour {
		for i, a := range []*tally.Answer{{Ran: true, Reply: resp.Int(1), Checks: true}, nil, nil} {
			if n := m.nodes[i]; len(n.sent) > 0 {
				n.answer(a)
			}
		}
		m.clock.now += time.Second
		m.clock.fire()
	}
	if len(m.replies) != 1 || !strings.HasSuffix(m.replies[0].Str, "but that the token may be remembered: send it again") {
		t.Errorf("replies %v", m.replies)
	}
}
