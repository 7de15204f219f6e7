package keyspace

// ReadyKey is a list or sorted set that those who wait for elements must look at again.
type ReadyKey struct {
	DB  int
	Key string
	All bool // every key of the database, which was exchanged as a whole
}

// Ready returns the lists and sorted sets that came into being or grew since m, each once, in the order of the first
// change. It reads them off the journal, so it costs nothing unless it is called, and a rollback takes them back.
func (t *Txn) Ready(m Mark) []ReadyKey {
	var ready []ReadyKey
	var seen map[ReadyKey]bool
	note := func(k ReadyKey) {
		if seen == nil {
			seen = map[ReadyKey]bool{}
		}
		if !seen[k] {
			seen[k] = true
			ready = append(ready, k)
		}
	}
	for i := m.changes; i < len(t.journal); i++ {
		c := t.journal[i]
		if c.all != nil {
			t.exchanged(c.all, note)
		} else if now, _ := t.ks.dbs[c.db].keys.get(c.key); grew(c.old, now) {
			note(ReadyKey{DB: c.db, Key: c.key})
		}
	}
	return ready
}

// exchanged notes the databases that are others than before a step and have keys.
func (t *Txn) exchanged(before *whole, note func(ReadyKey)) {
	for i, db := range t.ks.dbs {
		if db.keys.tree != before.dbs[i].keys.tree && db.keys.len() > 0 {
			note(ReadyKey{DB: i, All: true})
		}
	}
}

// grew tells whether an object is one that clients wait for, and old was another kind or had fewer elements.
func grew(old, now *object) bool {
	if now == nil || now == old {
		return false
	}
	switch c := now.coll.(type) {
	case *list:
		if old != nil {
			was, _ := old.coll.(*list)
			return was.len() < c.len()
		}
		return true
	case *zset:
		if old != nil {
			was, _ := old.coll.(*zset)
			return was.len() < c.len()
		}
		return true
	}
	return false
}
