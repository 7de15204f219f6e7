package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// What things count for beside their texts, in bytes: about what they take on a 64-bit machine, pinned here so that a
// count is the same in every build. Changing one changes which requests are refused, and so needs a new version of
// the entries.
const (
	keyBytes     = 192 // a key with its object and its places in the trees
	elementBytes = 64  // a field, member or element
)

// Used is the size of the state in bytes: the lengths of all names, values and scripts, and a fixed sum for each key and
// element. It follows from the content alone, so it is the same on every node, after a replay and after a restore;
// the memory of the process is not.
func (ks *Keyspace) Used() int64 {
	used := ks.scripts.bytes
	for i := range ks.dbs {
		used += ks.dbs[i].used
	}
	return used
}

// bytes is what an object counts for.
func (o *object) bytes() int64 {
	n := int64(keyBytes + len(o.key) + len(o.str))
	if o.coll != nil {
		n += o.coll.bytes()
	}
	return n
}

// opened is an object that the command at hand may still modify in place.
type opened struct {
	db int
	o  *object
}

func (t *Txn) open(o *object) { t.opened = append(t.opened, opened{t.db, o}) }

// settle counts what the command that has ended changed in place. An object that it has displaced again counts for
// nothing, and has no owner.
func (t *Txn) settle() {
	for _, c := range t.opened {
		if c.o.owner != t.ks.owner {
			continue
		}
		grown := c.o.bytes() - c.o.counted
		c.o.counted += grown
		t.ks.dbs[c.db].used += grown
	}
	clear(t.opened)
	t.opened = t.opened[:0]
}

// Weigh looks whether the state is larger than the stamp allows. Until it is asked again, Exec then refuses what makes
// the state grow. A dry transaction refuses nothing: what it cannot answer goes through the log.
func (t *Txn) Weigh() {
	t.full = !t.dry && t.stamp.MaxMemory > 0 && t.ks.Used() > t.stamp.MaxMemory
}

// Full tells what Weigh found.
func (t *Txn) Full() bool { return t.full }

// AllowGrowth makes Exec refuse nothing until Weigh is asked again.
func (t *Txn) AllowGrowth() { t.full = false }

// execFull runs a request in a state that is over its limit. It is taken back when the state is larger afterwards, so
// an overwrite by something shorter, a release by HINCRBY or a SET NX on a held lock are answered as ever. Redis
// refuses every command with the flag denyoom; but a lock must always be given back.
func (t *Txn) execFull(h handler, r *commands.Request) resp.Value {
	used, mark := t.ks.Used(), t.Mark()
	v := h(t, r)
	t.settle()
	if t.ks.Used() > used {
		t.Rollback(mark)
		return resp.ErrOOM.Value()
	}
	return v
}
