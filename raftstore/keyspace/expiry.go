package keyspace

import (
	"math"

	"github.com/redfence/redfence/commands/args"
)

// deadlineOf turns an expiry that a client gave into a store time in ms, and the absolute time to remember, 0 when
// it gave a TTL. An absolute time is made relative by the wall clock of the transaction, so no step of that clock
// changes the TTL afterwards. The deadline is at least 1, since 0 means never; it saturates instead of wrapping.
//
// It counts from the clock, which is the store time of the transaction unless that is dry: then it answers what the
// request would do now.
func (t *Txn) deadlineOf(e args.Expiry) (deadline, absolute int64) {
	left := e.Ms
	if e.Absolute() {
		left, absolute = saturatingAdd(e.Ms, -t.stamp.Wall/1000), e.Ms
	}
	return max(saturatingAdd(t.stamp.Clock, left), 1), absolute
}

// tooFar tells whether a TTL ends behind the largest time that Redis can store; it refuses such.
func (t *Txn) tooFar(e args.Expiry) bool {
	return e.Set() && !e.Absolute() && e.Ms > math.MaxInt64-t.stamp.Wall/1000
}

// over tells whether a deadline is not after the transaction, so that the key must go at once.
func (t *Txn) over(deadline int64) bool { return deadline != 0 && deadline <= t.stamp.Clock }

// sameExpiry tells whether an object would keep its expiry. An absolute time that is given again stays, though the
// wall clock by which it was made relative has moved.
func sameExpiry(o *object, deadline, absolute int64) bool {
	if absolute != 0 && o.absolute == absolute {
		return true
	}
	return o.deadline == deadline && o.absolute == absolute
}

// ttl is the remaining TTL of a present object in ms, or -1 when it has none. A key that is due and not yet removed
// by the log shows 1: never 0, and never -1, which clients read as "for ever".
func (t *Txn) ttl(o *object) int64 {
	if o.deadline == 0 {
		return -1
	}
	return max(o.deadline-t.stamp.Clock, 1)
}

// expireTime is when a present object expires in ms since the Unix epoch, or -1 when it has no TTL.
func (t *Txn) expireTime(o *object) int64 {
	switch {
	case o.deadline == 0:
		return -1
	case o.absolute != 0:
		return o.absolute
	default:
		return saturatingAdd(t.stamp.Wall/1000, t.ttl(o))
	}
}

// sum adds two numbers; ok is false when the sum does not fit.
func sum(a, b int64) (s int64, ok bool) {
	s = a + b
	return s, (s > a) == (b > 0)
}

func saturatingAdd(a, b int64) int64 {
	s, ok := sum(a, b)
	switch {
	case ok:
		return s
	case a < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}
