package keyspace

// leases is what a transaction did to locks, for statistics. A lock is seen from outside, whatever client and script
// it is of: a key that has a TTL. It is granted when the key gets a token, and ends when it goes or gets another one.
type leases struct {
	counted bool // else nothing is taken down
	fresh   []*object
	held    []int64
	refused int
}

// CountLeases says whether grants, ends and refusals of locks are taken down from now on.
func (t *Txn) CountLeases(yes bool) { t.leases.counted = yes }

// Leases returns how many locks were granted since it was last called, for how long those had been held that ended,
// in ms of store time, and how many attempts to set an absent key found it present. The slice is valid until the
// transaction goes on. A lock whose grant lies before the snapshot that this process began with, or that ended with a
// whole database, is not among those that ended.
func (t *Txn) Leases() (granted int, held []int64, refused int) {
	l := t.leases
	for _, o := range l.fresh {
		if t.leased(o) {
			granted++
		}
	}
	held, refused = l.held, l.refused
	clear(l.fresh)
	l.fresh, l.held, l.refused = l.fresh[:0], l.held[:0], 0
	return granted, held, refused
}

// leased tells whether an instance of a key has a TTL. One without may have got it with a later copy.
func (t *Txn) leased(o *object) bool {
	if o.deadline != 0 {
		return true
	}
	for _, db := range t.ks.dbs[:Databases] {
		if now, ok := db.keys.get(o.key); ok && now.token == o.token {
			return now.deadline != 0
		}
	}
	return false
}

// replaced takes down that o takes the place of old; both may be nil. It dates o, counted or not.
func (l *leases) replaced(old, o *object, now int64) {
	if old != nil && o != nil && old.token == o.token {
		o.since = old.since
		return
	}
	if o != nil {
		o.since = now
	}
	if !l.counted {
		return
	}
	if old != nil && old.deadline != 0 && old.since != 0 {
		l.held = append(l.held, now-old.since)
	}
	if o != nil {
		l.fresh = append(l.fresh, o)
	}
}

// reset empties the list for another transaction, which uses its memory again.
func (l *leases) reset() *leases {
	*l = leases{fresh: l.fresh[:0], held: l.held[:0]}
	return l
}

func (l *leases) refuse() {
	if l.counted {
		l.refused++
	}
}

// leaseMark is a point to which cut returns.
type leaseMark struct{ fresh, held, refused int }

func (l *leases) mark() leaseMark { return leaseMark{len(l.fresh), len(l.held), l.refused} }

func (l *leases) cut(m leaseMark) {
	l.fresh, l.held, l.refused = l.fresh[:m.fresh], l.held[:m.held], m.refused
}
