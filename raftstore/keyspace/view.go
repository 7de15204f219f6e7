package keyspace

import (
	"errors"
	"fmt"
	"io"

	"github.com/tidwall/btree"

	"github.com/redfence/redfence/fencing"
)

// View is the state at one instant. Taking one costs the same for any number of keys; it may be written while the
// keyspace goes on.
type View struct {
	dbs    [Databases]*btree.Map[string, *object]
	bySHA  *btree.Map[string, string]
	byEval []string
	now    int64
	last   fencing.Token
}

// ErrSnapshot is returned when a snapshot is damaged or of a format that this build does not know.
var ErrSnapshot = errors.New("snapshot is damaged or of an unknown format")

const (
	snapshotMagic   = "RFKS"
	snapshotVersion = 1
)

// View captures the present state.
func (ks *Keyspace) View() *View {
	v := &View{now: ks.now, last: ks.last, bySHA: ks.scripts.bySHA.Copy(), byEval: append([]string(nil), ks.scripts.byEval...)}
	for i, db := range ks.dbs {
		v.dbs[i] = db.Copy()
	}
	return v
}

// WriteTo writes the view as a snapshot: a header, the scripts, the keys of each database in order, a checksum.
// Equal states give equal bytes.
func (v *View) WriteTo(w io.Writer) (int64, error) {
	e := newEncoder(w)
	e.raw(snapshotMagic)
	e.uint(snapshotVersion)
	e.int(v.now)
	e.int(int64(v.last))
	v.writeScripts(e)
	for _, db := range v.dbs {
		e.uint(uint64(db.Len()))
		db.Scan(func(_ string, o *object) bool {
			e.object(o)
			return e.err == nil
		})
	}
	return e.close()
}

func (v *View) writeScripts(e *encoder) {
	byEval := make(map[string]bool, len(v.byEval))
	e.uint(uint64(len(v.byEval)))
	for _, sha := range v.byEval {
		byEval[sha] = true
		text, _ := v.bySHA.Get(sha)
		e.str(text)
	}
	e.uint(uint64(v.bySHA.Len() - len(v.byEval)))
	v.bySHA.Scan(func(sha, text string) bool {
		if !byEval[sha] {
			e.str(text)
		}
		return true
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
	if version := d.uint(); d.err == nil && version != snapshotVersion {
		d.fail(fmt.Errorf("version %d, this build knows %d", version, snapshotVersion))
	}
	ks.now, ks.last = d.int(), fencing.Token(d.int())
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		text := d.str()
		ks.scripts.bySHA.Set(SHA1(text), text)
		ks.scripts.byEval = append(ks.scripts.byEval, SHA1(text))
	}
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		text := d.str()
		ks.scripts.bySHA.Set(SHA1(text), text)
	}
	for db := range ks.dbs {
		for n := d.uint(); n > 0 && d.err == nil; n-- {
			if o := d.object(); d.err == nil {
				ks.install(db, o.key, o)
			}
		}
	}
}

// Type marks of objects in a snapshot. They are part of the format: append only.
const (
	markString = 0
	markHash   = 1
)

// object writes one key.
func (e *encoder) object(o *object) {
	e.str(o.key)
	e.int(o.deadline)
	e.int(o.absolute)
	e.int(o.token)
	switch c := o.coll.(type) {
	case nil:
		e.uint(markString)
		e.str(o.str)
	case *hash:
		e.uint(markHash)
		e.hash(c)
	default:
		e.fail(fmt.Errorf("no snapshot form for a %s", o.typeName()))
	}
}

func (e *encoder) hash(h *hash) {
	e.uint(uint64(h.len()))
	h.each(func(field, value string) bool {
		e.str(field)
		e.str(value)
		return true
	})
}

func (d *decoder) object() *object {
	o := &object{key: d.str(), deadline: d.int(), absolute: d.int(), token: d.int()}
	switch mark := d.uint(); mark {
	case markString:
		o.str = d.str()
	case markHash:
		o.coll = d.hash()
	default:
		d.fail(fmt.Errorf("unknown type mark %d", mark))
	}
	return o
}

func (d *decoder) hash() *hash {
	h := &hash{}
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		field := d.str()
		h.set(field, d.str())
	}
	return h
}
