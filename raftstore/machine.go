package raftstore

import (
	"sync"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
	"github.com/redfence/redfence/raftstore/keyspace"
	"github.com/redfence/redfence/raftstore/script"
)

// expiredPerEntry is how many due keys an entry removes before its calls run. More stay for the next entries; they
// are absent all the same, since presence is judged by the stamp.
const expiredPerEntry = 1000

// machine is the state machine: the keyspace and the engine that runs scripts on it. All that it does follows from
// the entries that it applies.
type machine struct {
	mu     sync.Mutex // held while a transaction runs and while a view is taken
	ks     *keyspace.Keyspace
	engine *script.Engine
	limits script.Limits
}

func newMachine(limits script.Limits) *machine {
	return &machine{ks: keyspace.New(), engine: script.New(limits, commands.RedisVersion), limits: limits}
}

// outcome is what applying one call gave: its replies, and for each event that was published the request that did.
type outcome struct {
	replies []resp.Value
	events  []publication
}

// publication is an event and the request that made it: an index into outcome.replies, or -1 for expiry.
type publication struct {
	commands.Message
	request int
}

// apply runs an entry and returns the outcome of each call, and the publications of keys that were due.
func (m *machine) apply(e entry.Entry) ([]outcome, []commands.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.ks.Begin(keyspace.Stamp{Now: e.Now, Wall: e.Wall})
	t.ExpireDue(expiredPerEntry)
	expired := t.Events()
	seen := len(expired)
	outcomes := make([]outcome, len(e.Calls))
	for i, c := range e.Calls {
		outcomes[i], seen = m.call(t, c, seen)
	}
	return outcomes, t.Events()[:len(expired)]
}

// call runs one call and returns its outcome and the number of events of the transaction afterwards.
func (m *machine) call(t *keyspace.Txn, c entry.Call, seen int) (outcome, int) {
	o := outcome{replies: make([]resp.Value, len(c.Lines))}
	for i, line := range c.Lines {
		o.replies[i] = m.line(t, line)
		for _, e := range t.Events()[seen:] {
			o.events = append(o.events, publication{e, i})
		}
		seen = len(t.Events())
	}
	return o, seen
}

func (m *machine) line(t *keyspace.Txn, line entry.Line) resp.Value {
	r, err := commands.Bind(line.Args, line.DB)
	if err != nil {
		return resp.ReplyFor(err)
	}
	return m.exec(t, r)
}

// exec runs one request as a step of its own.
func (m *machine) exec(t *keyspace.Txn, r *commands.Request) resp.Value {
	v, _ := m.step(t, r)
	return v
}

// step is exec that also tells how a script ended; other commands are always done.
func (m *machine) step(t *keyspace.Txn, r *commands.Request) (resp.Value, script.Outcome) {
	t.Select(r.DB)
	t.Mark()
	if isScript(r.Spec) {
		return m.eval(t, r)
	}
	if checksText(r.Spec) {
		if err := m.engine.Check(r.Args[2]); err != nil {
			return resp.Err(err.Error()), script.Failed
		}
	}
	return t.Exec(r), script.Done
}

// try runs a call without the log. It tells whether that was enough; if not, the call must go through the log.
func (m *machine) try(c *commands.Call, clock, wall int64) (resp.Value, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.ks.Try(clock, wall)
	if c.Block {
		return m.tryBlock(t, c.Requests)
	}
	v, out := m.step(t, c.Requests[0])
	switch {
	case !t.Undecided():
		return v, true
	case out == script.OverBudget || out == script.Stopped:
		return m.rehearse(c.Requests[0], clock, wall)
	}
	return resp.Value{}, false
}

func (m *machine) tryBlock(t *keyspace.Txn, block []*commands.Request) (resp.Value, bool) {
	replies := make([]resp.Value, 0, len(block))
	for _, r := range block {
		replies = append(replies, m.exec(t, r))
		if t.Undecided() {
			return resp.Value{}, false
		}
	}
	return resp.Arr(replies...), true
}

// rehearse finds out whether a script that wrote and did not end soon goes over its budget. Then it leaves nothing
// behind, so its error is the answer, and no entry makes every replay run it again. Otherwise it must go through
// the log.
func (m *machine) rehearse(r *commands.Request, clock, wall int64) (resp.Value, bool) {
	t := m.ks.Rehearse(clock, wall)
	mark := t.Mark()
	v, out := m.step(t, r)
	t.Rollback(mark)
	return v, out == script.OverBudget
}

// times are the store time of the last entry that was applied, and when the next key is due, if any has a TTL.
func (m *machine) times() (now, deadline int64, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	deadline, found = m.ks.NextDeadline()
	return m.ks.Now(), deadline, found
}

func (m *machine) view() *keyspace.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ks.View()
}
