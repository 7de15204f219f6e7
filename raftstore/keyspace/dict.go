package keyspace

import (
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/tidwall/btree"
)

// hashBits is the width of the hash that orders a dict: it stays below 2^53, so that a cursor is exact in the
// clients that read it into a double.
const hashBits = 52

// dict is an ordered dictionary: a B-tree over (hash of the name, name). The order of the hash makes look-ups compare
// numbers instead of strings, and gives SCAN a sound cursor (see DESIGN.md). It is the same on every node, since the
// hash has no seed.
type dict[V any] struct {
	tree *btree.BTreeG[entry[V]]
}

type entry[V any] struct {
	hash  uint64
	name  string
	value V
}

func newDict[V any]() dict[V] {
	return dict[V]{btree.NewBTreeGOptions(entryBefore[V], btree.Options{NoLocks: true})}
}

func entryBefore[V any](a, b entry[V]) bool {
	if a.hash != b.hash {
		return a.hash < b.hash
	}
	return a.name < b.name
}

func hashOf(name string) uint64 { return xxhash.Sum64String(name) >> (64 - hashBits) }

func (d dict[V]) len() int { return d.tree.Len() }

func (d dict[V]) get(name string) (V, bool) {
	e, ok := d.tree.Get(entry[V]{hash: hashOf(name), name: name})
	return e.value, ok
}

// set puts a value under a name, which is kept as it is, and returns the value before.
func (d dict[V]) set(name string, value V) (V, bool) {
	old, had := d.tree.Set(entry[V]{hashOf(name), name, value})
	return old.value, had
}

// load is set, faster when the names come in order.
func (d dict[V]) load(name string, value V) (V, bool) {
	old, had := d.tree.Load(entry[V]{hashOf(name), name, value})
	return old.value, had
}

// del removes a name and returns the value that it had.
func (d dict[V]) del(name string) (V, bool) {
	old, had := d.tree.Delete(entry[V]{hash: hashOf(name), name: name})
	return old.value, had
}

// at returns the entry at a position of the order, which must exist.
func (d dict[V]) at(i int) (string, V) {
	e, _ := d.tree.GetAt(i)
	return e.name, e.value
}

// each calls f for every entry in order until it returns false. The dict must not change meanwhile.
func (d dict[V]) each(f func(name string, value V) bool) {
	d.tree.Scan(func(e entry[V]) bool { return f(e.name, e.value) })
}

// scan calls f for the entries whose hash is at or above cursor: at least limit of them, and then those that share
// the last one's hash, so that the cursor it returns loses none. It returns 0 behind the last entry.
func (d dict[V]) scan(cursor uint64, limit int, f func(name string, value V)) (next uint64) {
	var last uint64
	d.tree.Ascend(entry[V]{hash: cursor}, func(e entry[V]) bool {
		if limit <= 0 && e.hash != last {
			next = e.hash
			return false
		}
		f(e.name, e.value)
		last = e.hash
		limit--
		return true
	})
	return next
}

// copy returns a dict whose changes do not show in d, nor the other way round. It costs the same for any size.
// It touches d, so it must not run together with another copy or change of d; reading a copy is safe at any time.
func (d dict[V]) copy() dict[V] { return dict[V]{d.tree.Copy()} }

// shortValue is the length up to which a value shares one piece of memory with its name.
const shortValue = 64

// cloned copies a name and a value out of the buffer of the request, into one piece of memory when the value is short.
func cloned(name, value string) (string, string) {
	if len(value) > shortValue || value == "" {
		return strings.Clone(name), strings.Clone(value)
	}
	both := name + value
	return both[:len(name)], both[len(name):]
}
