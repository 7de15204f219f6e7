package raftstore

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/raftstore/keyspace"
)

// grows tells whether a block would make the state larger, by running it and taking it back. Redis refuses a block
// that holds any command with the flag denyoom; this refuses no block that gives locks back.
func (m *machine) grows(t *keyspace.Txn, c *commands.Call) bool {
	used, mark := m.ks.Used(), t.Mark()
	t.AllowGrowth()
	for _, r := range c.Requests {
		m.exec(t, r)
	}
	grown := m.ks.Used() > used
	t.Rollback(mark)
	return grown
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
