package raftstore

import (
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/keyspace"
)

// grows tells whether a block would make the state larger, by running it and taking it back. Redis refuses a block
// that holds any command with the flag denyoom; this refuses no block that gives locks back.
func (m *machine) grows(t *keyspace.Txn, c *commands.Call) bool {
	used, mark, said := m.ks.Used(), t.Mark(), len(m.says.lines)
	t.AllowGrowth()
	for _, r := range c.Requests {
		m.exec(t, r)
	}
	grown := m.ks.Used() > used
	t.Rollback(mark)
	m.says.cut(said)
	return grown
}

// refuses finds out whether a state that is over its limit refuses a call, by running the call and taking it back. Then
// the error is the answer, and no entry is needed: clients that go on asking fill no disk. What is not refused must go
// through the log.
func (m *machine) refuses(c *commands.Call, s keyspace.Stamp) (resp.Value, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.ks.Rehearse(s)
	start := t.Mark()
	defer t.Rollback(start)
	t.ExpireDue(expiredPerEntry)
	before := t.Mark()
	t.Weigh()
	var v resp.Value
	if c.Block {
		v, _ = m.block(t, c, 0, noSink{})
	} else {
		v = m.exec(t, c.Requests[0])
	}
	refused := isOOM(v) && !t.ChangedSince(before)
	m.says.end(refused)
	return v, refused
}

// isOOM tells whether a reply is the error of a full state; that of a script has more behind it.
func isOOM(v resp.Value) bool {
	return v.IsErr() && (strings.HasPrefix(v.Str, string(resp.ErrOOM)) || v.Str == string(resp.ErrExecOOM))
}

// ration bounds what a script does to a state that is over its limit. As in Redis, a command that would make the state
// grow fails while the script has not written anything, and later ones do not, since a script cannot be stopped in
// the middle. Unlike in Redis the whole is taken back when the state is larger in the end, or a few such scripts would
// fill the memory.
type ration struct {
	t     *keyspace.Txn
	start keyspace.Mark
	used  int64 // before the script
	full  bool
}

func (m *machine) ration(t *keyspace.Txn, start keyspace.Mark, allowOOM bool) ration {
	if allowOOM {
		t.AllowGrowth()
	}
	return ration{t: t, start: start, used: m.ks.Used(), full: t.Full()}
}

// after is called behind each command of the script.
func (r ration) after() {
	if r.full && r.t.Full() && r.t.ChangedSince(r.start) {
		r.t.AllowGrowth()
	}
}

// exceeded tells whether the script must be taken back.
func (r ration) exceeded(used int64) bool { return r.full && used > r.used }
