package keyspace

import (
	"github.com/redfence/redfence/fencing"
)

// RaiseTokens makes all further tokens larger than any that can have been granted within micros µs behind the last one.
// It is for a state that may lack its newest part: tokens tell the wall clock in µs.
func (ks *Keyspace) RaiseTokens(micros int64) { ks.last += fencing.Token(micros) }

// LongestTTL is how many ms of store time the last key that has a TTL has left, 0 when none has one.
func (ks *Keyspace) LongestTTL() int64 {
	longest := int64(0)
	for i := range Databases {
		if k, some := ks.dbs[i].due.Max(); some {
			longest = max(longest, k.deadline-ks.now)
		}
	}
	return longest
}
