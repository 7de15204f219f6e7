package quorum

import (
	"slices"
	"strings"
	"time"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// simNode is one upstream server in memory. It executes what package runner describes, one operation at a time.
type simNode struct {
	w       *world
	id      int
	name    string
	keys    map[string]*simEntry
	offset  time.Duration                   // of the node's clock
	canary  string                          // empty since it forgot, until it is admitted again
	befores map[tally.Version]tally.Version // by version after, where votes do not tell (bugNoVersions)
	stalled time.Duration
}

func newSimNode(w *world, id int) *simNode {
	return &simNode{
		w: w, id: id, name: "node" + string(rune('1'+id)), keys: map[string]*simEntry{}, canary: "admitted", befores: map[tally.Version]tally.Version{},
		offset: time.Duration(w.rng.Int64N(int64(time.Second))),
	}
}

// clock is the node's time.
func (n *simNode) clock() time.Duration { return simEpoch + n.w.now + n.offset }

func (n *simNode) forgot() bool { return n.canary == "" }

func (n *simNode) ms() int64 { return int64(n.clock() / time.Millisecond) }

// entry is what the node keeps of a key; a key whose time is over has gone.
func (n *simNode) entry(key string) *simEntry {
	e := n.keys[key]
	if e == nil {
		e = &simEntry{end: tally.Forever}
		n.keys[key] = e
	}
	if e.value != nil && e.end != tally.Forever && n.ms() >= e.end {
		e.value, e.token, e.end = nil, 0, tally.Forever
	}
	return e
}

// forget loses everything, as a server does that restarts without persistence, or is flushed.
func (n *simNode) forget() {
	n.keys = map[string]*simEntry{}
	if n.w.bug != bugNoQuarantine {
		n.canary = ""
	}
}

// execute runs an operation and returns what becomes of it. The sender's monotonic clock is ahead of the world's.
// Answers are marked when the sender did not count the node.
func (n *simNode) execute(s Sending, ahead time.Duration, counted bool) Outcome {
	switch op := s.Op.(type) {
	case *runner.Run:
		return Outcome{Answer: n.run(op, counted)}
	case *runner.Undo:
		return Outcome{Undone: n.undo(op)}
	case *runner.Copy:
		return Outcome{Copied: n.copy(op, ahead)}
	case *runner.Accept:
		return Outcome{Accepted: n.accept(op)}
	case *runner.Fetch:
		return Outcome{States: n.states(op.Keys)}
	case *runner.Scan:
		return Outcome{Scanned: runner.Scanned{Next: "0", Keys: n.states(n.known())}}
	case *runner.Admit:
		return Outcome{Admitted: n.admit(op)}
	case *runner.Check:
		return Outcome{Answer: &tally.Answer{Ran: true, Reply: resp.OK(), Time: n.clock()}}
	default:
		panic("an operation that nodes do not know")
	}
}

func (n *simNode) known() []string {
	keys := make([]string, 0, len(n.keys))
	for key := range n.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// undo puts back what a request wrote, where nobody else wrote since.
func (n *simNode) undo(op *runner.Undo) []runner.Undone {
	done := make([]runner.Undone, 0, len(op.Writes))
	for _, w := range op.Writes {
		e := n.entry(w.Key)
		if n.w.bug == bugNoUndo {
			done = append(done, runner.Undone{Put: true, Version: e.version})
			continue
		}
		id, _, _ := strings.Cut(w.After.Request, "~")
		n.w.book.undone(n.id, id)
		put := e.version == w.After || n.w.bug == bugAnyUndo
		if put {
			n.putBack(e, w)
		}
		done = append(done, runner.Undone{Put: put, Version: e.version, Exists: e.value != nil})
	}
	return done
}

func (n *simNode) putBack(e *simEntry, w tally.Write) {
	e.version = w.Before
	if before, hidden := n.befores[w.After]; hidden {
		e.version = before
	}
	e.value, e.token, e.end = nil, 0, tally.Forever
	if w.Existed && (w.ImageEnd == tally.Forever || w.ImageEnd > n.ms()) {
		e.value, e.end, e.token = simNamed(w.Image), w.ImageEnd, w.OldToken
	}
}

// copy takes over states of other nodes, where their conditions hold.
func (n *simNode) copy(op *runner.Copy, ahead time.Duration) []runner.Copied {
	done := make([]runner.Copied, 0, len(op.Keys))
	for i := range op.Keys {
		c := &op.Keys[i]
		e := n.entry(c.Key)
		end := n.end(c, ahead)
		gone := c.Instance != 0 && (e.value == nil || e.token != c.Instance)
		ok := n.mayCopy(e, c, end) || n.w.bug == bugAnyCopy
		if ok {
			n.put(e, &c.State, end)
		}
		done = append(done, runner.Copied{Done: ok, Gone: gone && !ok, Version: e.version})
	}
	return done
}

// end is when a copy ends on the node: its TTL after the moment from which that counts.
func (n *simNode) end(c *runner.Conditional, ahead time.Duration) int64 {
	if c.TTL == tally.Forever {
		return tally.Forever
	}
	end := int64((simEpoch+n.offset+c.Since-ahead)/time.Millisecond) + c.TTL
	if n.w.bug == bugLongCopy {
		end += 1000
	}
	return end
}

func (n *simNode) mayCopy(e *simEntry, c *runner.Conditional, end int64) bool {
	again := c.Again && e.version == c.Version && e.value != nil
	switch {
	case c.Expect != nil && e.version != *c.Expect:
		return false
	case c.Expect == nil && !again && !e.version.Before(c.Version):
		return false
	case c.Instance != 0 && (e.value == nil || e.token != c.Instance):
		return false
	case c.Absent && e.value != nil:
		return false
	}
	return !c.Exists || end == tally.Forever || end > n.ms()
}

func (n *simNode) put(e *simEntry, s *runner.State, end int64) {
	e.version, e.mark = s.Version, max(e.mark, s.Mark, s.Token)
	e.value, e.token, e.end = nil, 0, tally.Forever
	if !s.Exists {
		return
	}
	e.value, e.token, e.end = &simValue{kind: s.Type, items: s.Content}, s.Token, end
	n.w.book.copied(n, s.Key, e)
}

// accept gives a present instance a token of other nodes.
func (n *simNode) accept(op *runner.Accept) runner.Accepted {
	e := n.entry(op.Key)
	same := e.value != nil && e.version == op.Version
	if n.w.bug == bugNoWriteBack {
		return runner.Accepted{Held: same, Mark: e.mark}
	}
	if same && e.mark < op.Token {
		e.mark, e.token = op.Token, op.Token
	}
	return runner.Accepted{Held: same && e.token == op.Token, Mark: e.mark}
}

func (n *simNode) states(keys []string) []runner.State {
	states := make([]runner.State, 0, len(keys))
	for _, key := range keys {
		e := n.entry(key)
		s := runner.State{Key: key, Version: e.version, Mark: e.mark, Token: e.token, Exists: e.value != nil, TTL: tally.Forever}
		if e.value != nil {
			s.Type, s.Content = e.value.kind, e.value.items
			if e.end != tally.Forever {
				s.TTL = e.end - n.ms()
			}
		}
		states = append(states, s)
	}
	return states
}

func (n *simNode) admit(op *runner.Admit) runner.Admitted {
	if n.canary != op.Expect {
		return runner.Admitted{Canary: n.canary}
	}
	n.canary = op.Canary
	return runner.Admitted{Done: true, Canary: n.canary}
}
