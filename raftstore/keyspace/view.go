package keyspace

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/redfence/redfence/fencing"
)

// View is the state at one instant. Taking one costs the same for any number of keys; it may be written while the
// keyspace goes on.
type View struct {
	keys    [Databases + 1]dict[*object] // the last are the resources
	scripts scripts
	now     int64
	last    fencing.Token
	changes changes
}

// ErrSnapshot is returned when a snapshot is damaged or of a format that this build does not know.
var ErrSnapshot = errors.New("snapshot is damaged or of an unknown format")

// The versions of a snapshot. A state that remembers no resources is still written in version 1, which has none.
const (
	snapshotMagic   = "RFKS"
	snapshotVersion = 1
	withResources   = 2
)

// View captures the present state.
func (ks *Keyspace) View() *View {
	v := &View{now: ks.now, last: ks.last, changes: ks.changes, scripts: ks.scripts.clone()}
	for i, db := range ks.dbs {
		v.keys[i] = db.keys.copy()
	}
	return v
}

// WriteTo writes the view as a snapshot: a header, the scripts, the keys of each database in order, a checksum.
// Equal states give equal bytes.
func (v *View) WriteTo(w io.Writer) (int64, error) {
	e := newEncoder(w)
	e.raw(snapshotMagic)
	seen := v.keys[resources]
	if seen.len() == 0 {
		e.uint(snapshotVersion)
	} else {
		e.uint(withResources)
	}
	e.int(v.now)
	e.int(int64(v.last))
	e.changes(&v.changes)
	e.scripts(v.scripts)
	for _, keys := range v.keys[:Databases] {
		e.uint(uint64(keys.len()))
		keys.each(func(_ string, o *object) bool {
			e.object(o)
			e.flush(block)
			return e.err == nil
		})
	}
	if seen.len() > 0 {
		e.resources(seen)
	}
	return e.close()
}

func (e *encoder) scripts(s scripts) {
	byEval := make(map[string]bool, len(s.byEval))
	e.uint(uint64(len(s.byEval)))
	for _, sha := range s.byEval {
		byEval[sha] = true
		text, _ := s.bySHA.Get(sha)
		e.str(text)
	}
	e.uint(uint64(s.bySHA.Len() - len(s.byEval)))
	s.bySHA.Scan(func(sha, text string) bool {
		if !byEval[sha] {
			e.str(text)
		}
		return e.err == nil
	})
}

// Restore replaces the whole state by a snapshot. On an error the state is as it was before.
func (ks *Keyspace) Restore(r io.Reader) error {
	d := newDecoder(r)
	fresh := &Keyspace{}
	fresh.clear()
	fresh.read(d)
	if err := d.close(); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	fresh.owner, fresh.handlers = ks.owner+1, ks.handlers
	*ks = *fresh
	return nil
}

func (ks *Keyspace) read(d *decoder) {
	d.expect(snapshotMagic)
	version := d.uint()
	if d.err == nil && version != snapshotVersion && version != withResources {
		d.fail(fmt.Errorf("version %d, this build knows %d and %d", version, snapshotVersion, withResources))
	}
	ks.now, ks.last = d.int(), fencing.Token(d.int())
	d.changes(&ks.changes)
	ks.scripts.byEval = d.scripts(&ks.scripts)
	d.scripts(&ks.scripts)
	for i := range Databases {
		ks.dbs[i].read(d, d.object)
	}
	if version == withResources {
		ks.dbs[resources].read(d, d.resource)
	}
}

// read reads the keys of a database, which is empty, by one that reads one. Both trees are filled in their order, which is
// faster.
func (db *database) read(d *decoder, one func() *object) {
	var due []dueKey
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		o := one()
		if d.err != nil {
			return
		}
		o.counted = o.bytes()
		db.used += o.counted
		if _, twice := db.keys.load(o.key, o); twice {
			d.fail(fmt.Errorf("key %q comes twice", o.key))
		}
		if o.deadline != 0 {
			due = append(due, dueKey{o.deadline, o.key})
		}
	}
	slices.SortFunc(due, dueOrder)
	for _, k := range due {
		db.due.Load(k)
	}
}

// scripts reads texts into s and returns their SHA1s.
func (d *decoder) scripts(s *scripts) (shas []string) {
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		text := d.str()
		sha := SHA1(text)
		if s.add(sha, text) {
			d.fail(fmt.Errorf("script %s comes twice", sha))
		}
		shas = append(shas, sha)
	}
	return shas
}

// Type marks of objects in a snapshot. They are part of the format: append only.
const (
	markString    = 0
	markHash      = 1
	markLargeHash = 2
	markList      = 3
	markIntSet    = 4
	markSet       = 5
	markLargeSet  = 6
	markZSet      = 7
	markLargeZSet = 8
)

// object writes one key.
func (e *encoder) object(o *object) {
	e.str(o.key)
	e.int(o.deadline)
	e.int(o.absolute)
	e.int(o.token)
	e.uint(o.version)
	switch c := o.coll.(type) {
	case nil:
		e.uint(markString)
		e.str(o.str)
	case *hash:
		e.hash(c)
	case *list:
		e.list(c)
	case *memberSet:
		e.set(c)
	case *zset:
		e.zset(c)
	default:
		e.fail(fmt.Errorf("no snapshot form for a %s", o.typeName()))
	}
}

func (e *encoder) hash(h *hash) {
	if h.large != nil {
		e.uint(markLargeHash)
	} else {
		e.uint(markHash)
	}
	e.uint(uint64(h.len()))
	h.each(func(field, value string) bool {
		e.str(field)
		e.str(value)
		return true
	})
}

func (d *decoder) object() *object {
	o := &object{key: d.str(), deadline: d.int(), absolute: d.int(), token: d.int(), version: d.uint()}
	if mark := d.uint(); mark == markString {
		o.str = d.str()
	} else {
		o.coll = d.collection(mark)
	}
	return o
}

func (d *decoder) collection(mark uint64) collection {
	switch mark {
	case markHash:
		return d.hash(&hash{})
	case markLargeHash:
		large := newDict[string]()
		return d.hash(&hash{large: &large})
	case markList:
		return d.list()
	case markIntSet:
		return d.intSet()
	case markSet:
		return d.set(&memberSet{members: []string{}})
	case markLargeSet:
		large := newDict[struct{}]()
		return d.set(&memberSet{large: &large})
	case markZSet:
		return d.zset(&zset{})
	case markLargeZSet:
		z := &zset{}
		z.grow()
		return d.zset(z)
	}
	d.fail(fmt.Errorf("unknown type mark %d", mark))
	return nil
}

func (d *decoder) hash(h *hash) *hash {
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		field := d.str()
		if value := d.str(); d.err == nil && !h.set(field, value) {
			d.fail(fmt.Errorf("field %q comes twice", field))
		}
	}
	d.some(h)
	return h
}
