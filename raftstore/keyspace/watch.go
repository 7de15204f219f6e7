package keyspace

import (
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// changes is what WATCH and EXEC need (https://redis.io/docs/latest/develop/interact/transactions/): every change of
// a key has a number, and each key knows the number of its last one. A key that is absent cannot, so what has come or
// gone leaves its number in one of a fixed number of buckets. A key that shares the bucket of a watched absent one
// may abort an EXEC for nothing, which is always allowed to happen; to miss a change is not.
type changes struct {
	last    uint64            // the number of the last change
	swapped [Databases]uint64 // the change that last gave the database other keys by SWAPDB
	buckets [watchBuckets]uint64
}

// watchBuckets is the number of buckets. With a thousand locks taken and released between a WATCH and its EXEC, one
// in eight transactions that watch an absent key is repeated for nothing; with ten, one in eight hundred. They take
// 128 KiB of memory, and in a snapshot what is used of them.
const watchBuckets = 1 << 14

// bucketOf spreads the keys of all databases. It is part of the snapshot's meaning, so it must never change.
func bucketOf(db int, key string) int {
	return int((xxhash.Sum64String(key) + uint64(db)*0x9e3779b97f4a7c15) % watchBuckets)
}

// next numbers a change.
func (c *changes) next() uint64 {
	c.last++
	return c.last
}

// stamp numbers the change by which o, nil for none, takes the place of what was there before, and returns what
// the bucket held if the key came or went.
func (c *changes) stamp(db int, key string, o *object, present bool) (bucket uint64) {
	n := c.next()
	if o != nil {
		o.version = n
	}
	if present == (o != nil) {
		return 0
	}
	b := &c.buckets[bucketOf(db, key)]
	bucket, *b = *b, n
	return bucket
}

// exchange numbers the change by which two databases give each other their keys.
func (c *changes) exchange(a, b int) {
	n := c.next()
	c.swapped[a], c.swapped[b] = n, n
}

func transactionHandlers() map[string]handler { return map[string]handler{"watch": watch} }

// watch answers for the front end: see commands.WatchReply.
func watch(t *Txn, r *commands.Request) resp.Value {
	keys := r.Keys()
	present := make([]bool, len(keys))
	for i, key := range keys {
		present[i] = t.find(key) != nil
	}
	return commands.WatchReply(t.ks.changes.last, present)
}

// Touched tells whether a watched key has changed, or was exchanged with its database. Whether the change made a
// difference does not matter, and a TTL that is over is a change as well. A key that FLUSHALL took away and that is
// back has changed; one that was absent before and after has not.
func (t *Txn) Touched(w commands.Watch) bool {
	t.Select(w.DB)
	o, c := t.find(w.Key), &t.ks.changes
	switch {
	case (o != nil) != w.Present:
		return true
	case o != nil:
		return o.version > w.Since || c.swapped[w.DB] > w.Since
	}
	return c.buckets[bucketOf(w.DB, w.Key)] > w.Since
}

// changes writes the numbers that are not in the keys: the buckets in use with their positions.
func (e *encoder) changes(c *changes) {
	e.uint(c.last)
	for _, n := range c.swapped {
		e.uint(n)
	}
	used := 0
	for _, n := range c.buckets {
		if n != 0 {
			used++
		}
	}
	e.uint(uint64(used))
	for i, n := range c.buckets {
		if n != 0 {
			e.uint(uint64(i))
			e.uint(n)
			e.flush(block)
		}
	}
}

func (d *decoder) changes(c *changes) {
	c.last = d.uint()
	for i := range c.swapped {
		c.swapped[i] = d.uint()
	}
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		at, number := d.uint(), d.uint()
		if d.err == nil && (at >= watchBuckets || number == 0 || number > c.last || c.buckets[at] != 0) {
			d.fail(fmt.Errorf("a wrong bucket %d", at))
			return
		}
		if d.err == nil {
			c.buckets[at] = number
		}
	}
}
