package keyspace

import "github.com/redfence/redfence/commands/resp"

// lookup returns the collection of a key, nil when the key is absent, WRONGTYPE when it holds something else. It must
// not be modified.
func lookup[C collection](t *Txn, key string) (C, error) {
	var c C
	o := t.find(key)
	if o == nil {
		return c, nil
	}
	c, ok := o.coll.(C)
	if !ok {
		return c, resp.ErrWrongType
	}
	return c, nil
}

// lookups is lookup for several keys. It fails when one of them holds something else.
func lookups[C collection](t *Txn, keys []string) ([]C, error) {
	all := make([]C, len(keys))
	for i, key := range keys {
		var err error
		if all[i], err = lookup[C](t, key); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// edited returns the collection of a key for the step to change; an absent key comes into being with an empty one. The
// caller has checked the type with lookup.
func edited[C collection](t *Txn, key string, empty C) C {
	o := t.edit(key)
	if o == nil {
		o = t.create(key, "", empty)
	}
	c, _ := o.coll.(C)
	return c
}

// tidy removes a key whose collection has become empty.
func (t *Txn) tidy(key string, c collection) {
	if c.empty() {
		t.replace(key, nil)
	}
}

// put makes c the value of a key in place of whatever it holds, without a TTL; an empty c deletes the key. A key that
// holds the same already is left alone.
func (t *Txn) put(key string, c collection) {
	old := t.find(key)
	switch {
	case c.empty():
		t.remove(key)
	case old == nil || old.deadline != 0 || !sameCollection(old.coll, c):
		t.written += c.bytes()
		t.create(key, "", c)
	}
}

func sameCollection(a, b collection) bool {
	switch a := a.(type) {
	case *memberSet:
		b, ok := b.(*memberSet)
		return ok && a.same(b)
	case *zset:
		b, ok := b.(*zset)
		return ok && a.same(b)
	}
	return false
}
