package keyspace

import (
	"math"

	"github.com/redfence/redfence/commands/args"
)

// deadlineOf turns an expiry that a client gave into a store time in ms, and the absolute time to remember, 0 when
// it gave a TTL. An absolute time is made relative by the wall clock of the transaction, so no step of that clock
// changes the TTL afterwards. The deadline is at least 1, since 0 means never; it saturates instead of wrapping.
func (t *Txn) deadlineOf(e args.Expiry) (deadline, absolute int64) {
	ttl := e.Ms
	if e.Absolute() {
		ttl, absolute = saturatingSub(e.Ms, t.stamp.Wall/1000), e.Ms
	}
	if ttl > math.MaxInt64-t.stamp.Now {
		return math.MaxInt64, absolute
	}
	return max(t.stamp.Now+ttl, 1), absolute
}

// over tells whether a deadline is not after the transaction, so that the key must go at once.
func (t *Txn) over(deadline int64) bool { return deadline != 0 && deadline <= t.stamp.Now }

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
		return t.stamp.Wall/1000 + t.ttl(o)
	}
}

func saturatingSub(a, b int64) int64 {
	d := a - b
	if (a < 0) != (b < 0) && (d < 0) != (a < 0) {
		if a < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	return d
}
