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
}

func newMachine(limits script.Limits) *machine {
	return &machine{ks: keyspace.New(), engine: script.New(limits, commands.RedisVersion)}
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
	t.Select(r.DB)
	t.Mark()
	if isScript(r.Spec) {
		return m.eval(t, r)
	}
	if checksText(r.Spec) {
		if err := m.engine.Check(r.Args[2]); err != nil {
			return resp.Err(err.Error())
		}
	}
	return t.Exec(r)
}

// try runs a call without the log. It tells whether that was enough; if not, the call must go through the log.
func (m *machine) try(c *commands.Call, clock, wall int64) (resp.Value, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.ks.Try(clock, wall)
	if !c.Block {
		v := m.exec(t, c.Requests[0])
		return v, !t.Undecided()
	}
	replies := make([]resp.Value, 0, len(c.Requests))
	for _, r := range c.Requests {
		replies = append(replies, m.exec(t, r))
		if t.Undecided() {
			return resp.Value{}, false
		}
	}
	return resp.Arr(replies...), true
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
