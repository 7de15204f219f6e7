package keyspace

import (
	"strconv"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
)

// Stamp is the time of a transaction.
type Stamp struct {
	Now   int64 // store time in ms: decides which keys are present
	Clock int64 // store time in ms that remaining TTLs are told by; equals Now in the log, may be ahead for a read
	Wall  int64 // wall clock in µs since the Unix epoch: TIME, absolute expiries, the floor of tokens

	MaxMemory   int64 // the size in bytes over which the state may not grow, see Used; 0 is no limit
	FenceMemory int64 // for how long FENCE.CHECK remembers, in ms; 0 is commands.FenceMemory
}

// Event is a publication that a transaction made.
type Event = commands.Message

// Txn is a transaction: requests that run at one instant, with a journal that can take them back.
//
// A dry transaction changes nothing. It finds out whether a request would: Undecided tells then that its replies
// must be thrown away and the request sent through the log.
type Txn struct {
	ks      *Keyspace
	stamp   Stamp
	db      int
	dry     bool
	changed bool   // dry: a change was asked for
	due     bool   // dry: a key was met whose TTL is over by the clock, but not yet by the log
	draws   uint64 // numbers that random has given
	written int64  // bytes of the strings that were stored
	journal []change
	events  []Event
	opened  []opened
	trail   trail
	full    bool // the state was over its limit when Weigh looked
	grants  grants
	leases  *leases
}

// change is what a step has replaced: a key's object, or all databases and scripts.
type change struct {
	db     int
	key    string
	old    *object
	bucket uint64 // what changes.buckets held, if the key came or went
	all    *whole
}

// whole is all that a step can replace at once.
type whole struct {
	dbs     [Databases + 1]database
	swapped [Databases]uint64
	scripts scripts
}

// Mark is a point of a transaction to which Rollback returns.
type Mark struct {
	changes, events int
	accesses        int
	leases          leaseMark
	token           fencing.Token
	number          uint64 // of the last change
}

// Begin starts a transaction that is applied from the log. Its store time is raised to that of the last one.
func (ks *Keyspace) Begin(s Stamp) *Txn {
	ks.owner++
	ks.now = max(ks.now, s.Now, 1) // 0 is no instant: a deadline of 0 means never
	s.Now, s.Clock = ks.now, ks.now
	return &Txn{ks: ks, stamp: s, leases: ks.leases.reset()}
}

// Try starts a dry transaction. Keys are present as of the last transaction of the log; s.Clock is the store time
// now, by which TTLs are told. The transaction is valid until the next Try: nothing of it is kept, and most calls are tried.
func (ks *Keyspace) Try(s Stamp) *Txn {
	s.Now, s.Clock = ks.now, max(ks.now, s.Clock)
	ks.tried = Txn{ks: ks, dry: true, leases: ks.leases.reset(), stamp: s}
	return &ks.tried
}

// Rehearse starts a transaction that finds out exactly what a request would do now. The caller must take all of it
// back: Rollback to the Mark that it takes first.
func (ks *Keyspace) Rehearse(s Stamp) *Txn {
	ks.owner++
	s.Now = max(ks.now, s.Clock, 1)
	s.Clock = s.Now
	return &Txn{ks: ks, leases: ks.leases.reset(), stamp: s}
}

// Undecided tells whether a dry transaction met something that only the log can decide: a change, or a key that is
// due.
func (t *Txn) Undecided() bool { return t.dry && (t.changed || t.due) }

// Events returns the publications made so far, in order. The slice is valid until the transaction goes on.
func (t *Txn) Events() []Event { return t.events }

// Written is the number of bytes of all strings that the transaction has stored so far, also of those that it has
// replaced since. It bounds what a loop in a script can make the keyspace copy.
func (t *Txn) Written() int64 { return t.written }

// bytesPerElement is how many bytes of a string are as much work as one element of a collection.
const bytesPerElement = 1 << 10

// Elements is the number of elements of the collections under keys, and the length of the strings in such a measure:
// what a command that goes through them has to do.
func (t *Txn) Elements(keys []string) int64 {
	var n int64
	for _, key := range keys {
		o, ok := t.ks.dbs[t.db].keys.get(key)
		switch {
		case !ok:
		case o.coll != nil:
			n += int64(o.coll.len())
		default:
			n += int64(len(o.str) / bytesPerElement)
		}
	}
	return n
}

// Stamp returns the time of the transaction.
func (t *Txn) Stamp() Stamp { return t.stamp }

// DB returns the selected database; Select changes it.
func (t *Txn) DB() int { return t.db }

// Select chooses the database of the commands that follow. The caller has checked that it exists.
func (t *Txn) Select(db int) { t.db = db }

// Mark returns the present point of the transaction and starts a new step, whose changes Rollback can take back.
func (t *Txn) Mark() Mark {
	t.ks.owner++
	return Mark{
		changes: len(t.journal), events: len(t.events), accesses: len(t.trail.list), leases: t.leases.mark(),
		token: t.ks.last, number: t.ks.changes.last,
	}
}

// ChangedSince tells whether anything was changed or published since m.
func (t *Txn) ChangedSince(m Mark) bool {
	return len(t.journal) > m.changes || len(t.events) > m.events
}

// Rollback takes back all that was done since m.
func (t *Txn) Rollback(m Mark) {
	for i := len(t.journal) - 1; i >= m.changes; i-- {
		t.ks.undo(t.journal[i])
	}
	clear(t.journal[m.changes:])
	t.journal, t.events = t.journal[:m.changes], t.events[:m.events]
	t.trail.cut(m.accesses)
	t.leases.cut(m.leases)
	t.ks.last, t.ks.changes.last = m.token, m.number
	t.ks.owner++
}

func (ks *Keyspace) undo(c change) {
	if c.all != nil {
		ks.dbs, ks.changes.swapped, ks.scripts = c.all.dbs, c.all.swapped, c.all.scripts
		return
	}
	if now := ks.dbs[c.db].install(c.key, c.old); (now == nil) != (c.old == nil) {
		ks.changes.buckets[bucketOf(c.db, c.key)] = c.bucket
	}
}

// Exec runs one request in the database that Select chose. Scripts are the caller's: it asks for their text with
// Script and runs their commands with Exec.
func (t *Txn) Exec(r *commands.Request) resp.Value {
	h := t.ks.handlers[r.Spec.ID]
	if h == nil {
		return resp.NotInStore(r.Spec.Name).Value()
	}
	if r.Spec.Flags.Has(commands.Write) && touchesReserved(r) {
		return resp.ErrReserved.Value()
	}
	var v resp.Value
	if t.full && r.Spec.Flags.Has(commands.DenyOOM) {
		v = t.execFull(h, r)
	} else {
		v = h(t, r)
		t.settle()
	}
	t.trail.read(r)
	return v
}

// find returns the object of a key that is present, else nil. The object must not be modified.
func (t *Txn) find(key string) *object {
	o, ok := t.ks.dbs[t.db].keys.get(key)
	if !ok || t.present(o) {
		return o
	}
	if !t.dry {
		t.expire(key)
	}
	return nil
}

// present tells whether a key is there at the time of the transaction: up to and with the millisecond of its deadline, for
// times are cut off to whole ones, and no lease may end a fraction early. A dry one takes note when the clock says no
// and the log has not said so yet.
func (t *Txn) present(o *object) bool {
	if o.deadline == 0 || o.deadline >= t.stamp.Clock {
		return true
	}
	if t.dry && o.deadline >= t.stamp.Now {
		t.due = true
		return true
	}
	return false
}

// edit returns a copy of a present key's object that this step may modify, or nil when the key is absent. A dry
// transaction gets one to scribble on, with an empty collection.
func (t *Txn) edit(key string) *object {
	o := t.find(key)
	if o == nil {
		return nil
	}
	return t.own(o)
}

// own is edit for an object that find returned.
func (t *Txn) own(o *object) *object {
	switch {
	case t.dry:
		t.changed = true
		return o.blank()
	case o.owner == t.ks.owner:
		t.open(o)
		t.trail.change(o.key)
		return o
	}
	c := o.cloneFor(t.ks.owner)
	t.replace(o.key, c)
	return c
}

// create makes a key that is absent, with a new token, and returns its object, whose value is a string or coll.
func (t *Txn) create(key, str string, coll collection) *object {
	o := &object{coll: coll, token: t.grant(), owner: t.ks.owner}
	o.key, o.str = cloned(key, str)
	t.replace(o.key, o)
	return o
}

// remove deletes a key and tells whether it was present.
func (t *Txn) remove(key string) bool {
	if t.find(key) == nil {
		return false
	}
	t.replace(key, nil)
	return true
}

// replace puts an object in place of what the key holds now; nil deletes. A dry transaction only takes note.
func (t *Txn) replace(key string, o *object) {
	t.changed = true
	if t.dry {
		return
	}
	if o != nil {
		t.written += int64(len(o.str))
		t.open(o)
	}
	old := t.ks.dbs[t.db].install(key, o)
	if old != nil && old.owner == t.ks.owner {
		old.owner = 0
	}
	if t.db != resources {
		t.trail.change(key)
		t.leases.replaced(old, o, t.stamp.Now)
		t.grants.replaced(t.db, old, o)
	}
	bucket := t.ks.changes.stamp(t.db, key, o, old != nil)
	t.journal = append(t.journal, change{db: t.db, key: key, old: old, bucket: bucket})
}

// keepAll notes the present databases and scripts in the journal, for a step that is about to replace them as a
// whole. It tells whether the step may go on: a dry one only takes note.
func (t *Txn) keepAll() bool {
	t.changed = true
	if t.dry {
		return false
	}
	t.journal = append(t.journal, change{all: &whole{t.ks.dbs, t.ks.changes.swapped, t.ks.scripts.clone()}})
	t.ks.owner++ // what this step has changed so far counts in the sums that were noted
	return true
}

// setDeadline gives an object that this step owns another expiry: a store time in ms, 0 for never, with the
// absolute time that the client gave, 0 for none.
func (t *Txn) setDeadline(o *object, deadline, absolute int64) {
	t.changed = true
	if t.dry {
		return
	}
	db := t.ks.dbs[t.db]
	db.dequeue(o)
	o.deadline, o.absolute = deadline, absolute
	db.enqueue(o)
}

// grant returns the next fencing token.
func (t *Txn) grant() int64 {
	t.changed = true
	if t.dry {
		return 0
	}
	t.ks.last = fencing.Next(t.ks.last, fencing.Token(t.stamp.Wall))
	return int64(t.ks.last)
}

// publish sends a message to the subscribers of a channel once the transaction is applied.
func (t *Txn) publish(e Event) {
	t.changed = true
	if !t.dry {
		t.events = append(t.events, e)
	}
}

// expire removes a key whose TTL is over and publishes the event that Redis publishes for it
// (https://redis.io/docs/latest/develop/pubsub/keyspace-notifications/).
func (t *Txn) expire(key string) {
	t.replace(key, nil)
	if t.db == resources {
		return
	}
	t.publish(Event{Channel: expiredChannels[t.db], Payload: key})
}

// ExpireDue removes up to limit keys whose TTL is over at the stamp of the transaction.
func (t *Txn) ExpireDue(limit int) {
	for range limit {
		db, first, ok := t.ks.nextDue(len(t.ks.dbs))
		if !ok || first.deadline >= t.stamp.Now {
			return
		}
		t.db = db
		t.expire(first.key)
	}
}

// expiredChannels are the names of the expiry events, by database.
var expiredChannels = func() (names [Databases]string) {
	for db := range names {
		names[db] = "__keyevent@" + strconv.Itoa(db) + "__:expired"
	}
	return names
}()
