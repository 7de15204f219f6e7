package raftstore

import (
	"bufio"
	"io"
	"sync"
	"sync/atomic"

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
	habits habits
	locks  locks
	used   atomic.Int64 // bytes of the state after the last entry
	says   scriptLog
	ran    remembered
}

func newMachine(limits script.Limits) *machine {
	m := &machine{
		ks: keyspace.New(), engine: script.New(limits, commands.RedisVersion), limits: limits,
		habits: habits{}, ran: remembered{},
	}
	m.says.init()
	return m
}

// work is what one log entry asks for.
type work struct {
	entry.Header
	calls   []*commands.Call
	origins []entry.Origin
	ids     []entry.ID         // of the calls; nil when none has one
	own     bool               // this node has proposed it, and counts it
	granted [][]commands.Grant // by call, for those that asked; nil when none was given anything
}

// grant notes what a call was given.
func (w *work) grant(i int, list []commands.Grant) {
	if len(list) == 0 {
		return
	}
	if w.granted == nil {
		w.granted = make([][]commands.Grant, len(w.calls))
	}
	w.granted[i] = list
}

// given is what a call was given.
func (w *work) given(i int) []commands.Grant {
	if w.granted == nil {
		return nil
	}
	return w.granted[i]
}

// id is the name of a call.
func (w *work) id(i int) (origin string, seq uint64) {
	if w.ids == nil || w.ids[i].From == 0 {
		return "", 0
	}
	return w.origins[w.ids[i].From-1].Name, w.ids[i].Seq
}

// bound turns a decoded entry into work. A line that does not bind here has not bound where it was proposed either,
// unless that was another version; it has no Spec, and is answered with an error.
func bound(e entry.Entry) work {
	w := work{Header: e.Header, origins: e.Origins, calls: make([]*commands.Call, len(e.Calls))}
	if len(e.Origins) > 0 {
		w.ids = make([]entry.ID, len(e.Calls))
	}
	for i, c := range e.Calls {
		call := &commands.Call{Block: c.Block, Watched: c.Watched, Requests: make([]*commands.Request, len(c.Lines))}
		for j, line := range c.Lines {
			r, err := commands.Bind(line.Args, line.DB)
			if err != nil {
				r = &commands.Request{Args: line.Args, DB: line.DB}
			}
			call.Requests[j] = r
		}
		w.calls[i] = call
		if w.ids != nil {
			w.ids[i] = c.ID
		}
	}
	return w
}

// apply runs an entry and returns the reply of each call. Publications and accesses go to the sink in order. A call that
// was run before is only answered.
func (m *machine) apply(w *work, sink Sink) []resp.Value {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, tracking := m.ks.Begin(keyspace.Stamp{Now: w.Now, Wall: w.Wall, MaxMemory: w.MaxMemory, FenceMemory: w.FenceMemory}), sink.Tracking()
	t.Trace(tracking, false)
	t.CountLeases(w.own)
	t.ExpireDue(expiredPerEntry)
	seen := publish(t, 0, sink, nil)
	report(t, 0, sink)
	if len(w.origins) > 0 || len(m.ran) > 0 {
		m.ran.hear(w.origins, m.ks.Now())
	}
	replies := make([]resp.Value, len(w.calls))
	for i, c := range w.calls {
		origin, seq := w.id(i)
		from := m.ran[origin]
		if from != nil {
			if v, known := from.again(seq); known {
				replies[i] = v
				continue
			}
		}
		before := t.Mark()
		t.Trace(tracking, c.Track)
		t.TellGrants(c.Fencing, c.Abandoned != nil)
		t.Weigh()
		if c.Block {
			replies[i], seen = m.block(t, c, seen, sink)
		} else {
			replies[i] = m.exec(t, c.Requests[0])
			seen = publish(t, seen, sink, answerOf(c.Requests[0], &replies[i]))
		}
		wake(t, before, sink)
		report(t, c.Session, sink)
		m.locks.tally(t, c)
		w.grant(i, t.Grants())
		if from != nil {
			from.note(seq, replies[i])
		}
	}
	m.says.end(w.own)
	m.used.Store(m.ks.Used())
	return replies
}

// report tells what a session's call did to keys.
func report(t *keyspace.Txn, session int64, sink Sink) {
	if list := t.Trail(); len(list) > 0 {
		sink.Accessed(session, list)
	}
}

// block runs a block, unless a key that it depends on has changed. A key that is found to be over its TTL only now
// expires all the same. It returns the reply and the number of events that were published.
func (m *machine) block(t *keyspace.Txn, c *commands.Call, seen int, sink Sink) (resp.Value, int) {
	touched := m.touched(t, c.Watched)
	seen = publish(t, seen, sink, nil)
	if touched {
		return resp.Value{Kind: resp.NullArray}, seen
	}
	if t.Full() && m.grows(t, c) {
		return resp.ErrExecOOM.Value(), seen
	}
	t.AllowGrowth()
	parts := make([]resp.Value, len(c.Requests))
	for i, r := range c.Requests {
		parts[i] = m.exec(t, r)
		seen = publish(t, seen, sink, answerOf(r, &parts[i]))
	}
	return resp.Arr(parts...), seen
}

// touched tells whether a watched key has changed. It looks at all of them, so that what it finds due does not
// depend on their order.
func (m *machine) touched(t *keyspace.Txn, watched []commands.Watch) (yes bool) {
	t.Mark()
	for _, w := range watched {
		if t.Touched(w) {
			yes = true
		}
	}
	return yes
}

// answerOf is where the number of receivers belongs: in the reply of a client's PUBLISH, but not in that of a script.
func answerOf(r *commands.Request, reply *resp.Value) *resp.Value {
	if r.Spec != nil && r.Spec.Group == commands.PubSubs {
		return reply
	}
	return nil
}

// publish delivers the events of a transaction behind the first seen ones, and returns how many there are now.
func publish(t *keyspace.Txn, seen int, sink Sink, receivers *resp.Value) int {
	for _, e := range t.Events()[seen:] {
		n := sink.Message(e)
		if receivers != nil {
			*receivers = resp.Int(int64(n))
		}
	}
	return len(t.Events())
}

// wake tells of the lists and sorted sets that a call gave elements. Those who wait are served after the whole call.
func wake(t *keyspace.Txn, before keyspace.Mark, sink Sink) {
	for _, k := range t.Ready(before) {
		if k.All {
			sink.ReadyAll(k.DB)
		} else {
			sink.Ready(k.DB, k.Key)
		}
	}
}

// exec runs one request as a step of its own.
func (m *machine) exec(t *keyspace.Txn, r *commands.Request) resp.Value {
	v, _ := m.step(t, r)
	return v
}

// step is exec that also tells how a script ended; other commands are always done.
func (m *machine) step(t *keyspace.Txn, r *commands.Request) (resp.Value, script.Outcome) {
	if r.Spec == nil {
		return resp.ErrLaterVersion.Value(), script.Failed
	}
	t.Select(r.DB)
	t.Mark()
	if isScript(r.Spec) {
		return m.eval(t, r)
	}
	if checksText(r.Spec) {
		if _, known := t.Script(script.SHA1Hex(r.Args[2])); t.Full() && !known {
			return resp.ErrOOM.Value(), script.Failed
		}
		if err := m.engine.Check(r.Args[2]); err != nil {
			return resp.Err(err.Error()), script.Failed
		}
	}
	return t.Exec(r), script.Done
}

// try runs a call without the log. It tells whether that was enough; if not, the call must go through the log.
func (m *machine) try(c *commands.Call, at keyspace.Stamp, sink Sink) (v resp.Value, enough bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.ks.Try(at)
	t.Trace(false, c.Track)
	t.CountLeases(true)
	switch r := c.Requests; {
	case c.Block:
		v, enough = m.tryBlock(t, c)
	case isScript(r[0].Spec):
		v, enough = m.tryScript(t, r[0])
	default:
		v = m.exec(t, r[0])
		enough = !t.Undecided()
	}
	if enough {
		report(t, c.Session, sink)
		m.locks.tally(t, c)
	}
	m.says.end(enough)
	return v, enough
}

func (m *machine) tryScript(t *keyspace.Txn, r *commands.Request) (resp.Value, bool) {
	name := habitName(r.Args[1])
	if m.habits.skip(name) {
		return resp.Value{}, false
	}
	v, out := m.step(t, r)
	enough := !t.Undecided()
	if !enough && (out == script.OverBudget || out == script.Stopped) {
		v, enough = m.rehearse(r, t.Stamp())
	}
	m.habits.note(name, enough)
	return v, enough
}

func (m *machine) tryBlock(t *keyspace.Txn, c *commands.Call) (resp.Value, bool) {
	touched := m.touched(t, c.Watched)
	switch {
	case t.Undecided():
		return resp.Value{}, false
	case touched:
		return resp.Value{Kind: resp.NullArray}, true
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

// rehearse finds out whether a script that wrote and did not end soon goes over its budget. Then it leaves nothing
// behind, so its error is the answer, and no entry makes every replay run it again. Otherwise it must go through
// the log.
func (m *machine) rehearse(r *commands.Request, at keyspace.Stamp) (resp.Value, bool) {
	m.says.cut(0)
	t := m.ks.Rehearse(at)
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

// view is the whole state at one instant.
func (m *machine) view() view {
	m.mu.Lock()
	defer m.mu.Unlock()
	return view{m.ran.copy(), m.ks.View()}
}

type view struct {
	ran  remembered
	keys *keyspace.View
}

// writeTo writes a snapshot.
func (v view) writeTo(w io.Writer) error {
	if err := v.ran.writeTo(w); err != nil {
		return err
	}
	_, err := v.keys.WriteTo(w)
	return err
}

// restore replaces the whole state by a snapshot. The caller holds m.mu.
func (m *machine) restore(r io.Reader) error {
	b := bufio.NewReader(r)
	ran, err := readRemembered(b)
	if err != nil {
		return err
	}
	if err := m.ks.Restore(b); err != nil {
		return err
	}
	m.ran = ran
	m.used.Store(m.ks.Used())
	return nil
}
