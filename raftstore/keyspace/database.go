package keyspace

import (
	"cmp"

	"github.com/tidwall/btree"
)

// database is one of the numbered databases: its keys, and the queue of those that have a TTL. It is two
// pointers and a sum, so to exchange or empty a database costs the same for any number of keys.
type database struct {
	keys dict[*object]
	due  *btree.BTreeG[dueKey]
	used int64 // what the objects count for, see Keyspace.Used
}

func newDatabase() database {
	return database{keys: newDict[*object](), due: btree.NewBTreeGOptions(dueBefore, btree.Options{NoLocks: true})}
}

// dueKey is an entry of the expiry queue.
type dueKey struct {
	deadline int64
	key      string
}

func dueBefore(a, b dueKey) bool {
	if a.deadline != b.deadline {
		return a.deadline < b.deadline
	}
	return a.key < b.key
}

func dueOrder(a, b dueKey) int {
	if a.deadline != b.deadline {
		return cmp.Compare(a.deadline, b.deadline)
	}
	return cmp.Compare(a.key, b.key)
}

// install puts an object under a key, or removes the key when o is nil, and keeps the expiry queue in step. It
// returns the object before.
func (d *database) install(key string, o *object) *object {
	if o == nil {
		old, _ := d.keys.del(key)
		if old != nil {
			d.used -= old.counted
			d.dequeue(old)
		}
		return old
	}
	old, _ := d.keys.set(o.key, o)
	d.used += o.counted
	if old != nil {
		d.used -= old.counted
	}
	if old != nil && old.deadline == o.deadline {
		return old
	}
	if old != nil {
		d.dequeue(old)
	}
	d.enqueue(o)
	return old
}

func (d database) enqueue(o *object) {
	if o.deadline != 0 {
		d.due.Set(dueKey{o.deadline, o.key})
	}
}

func (d database) dequeue(o *object) {
	if o.deadline != 0 {
		d.due.Delete(dueKey{o.deadline, o.key})
	}
}

// nextDue returns which of the first n databases has the key that is due first, and that key.
func (ks *Keyspace) nextDue(n int) (db int, first dueKey, ok bool) {
	for i := range n {
		k, some := ks.dbs[i].due.Min()
		if some && (!ok || k.deadline < first.deadline) {
			db, first, ok = i, k, true
		}
	}
	return db, first, ok
}

// NextDeadline is the store time in ms from which on the next key is gone, if any key has a TTL. What FENCE.CHECK remembers
// is none: no entry is needed to forget it in time.
func (ks *Keyspace) NextDeadline() (int64, bool) {
	_, first, ok := ks.nextDue(Databases)
	return saturatingAdd(first.deadline, 1), ok
}
