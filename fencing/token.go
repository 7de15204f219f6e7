// Package fencing holds the fencing tokens that Redfence gives to locks. A token grows with every grant, so a
// resource that remembers the largest one it has seen can refuse a client that was paused past its TTL
// (Kleppmann, "How to do distributed locking", 2016).
package fencing

// Token is a fencing token: larger means granted later. Zero means none.
//
// A token stays below 2^53, so it is exact in JavaScript and Lua numbers and fits a BIGINT column.
type Token int64

// Max is the largest token, 2^53-1.
const Max Token = 1<<53 - 1

// Next returns the token after last. It is at least floor, the wall clock in microseconds since the Unix epoch, so
// tokens do not fall back even when all state is lost, and tell when a lock was taken.
func Next(last, floor Token) Token { return min(max(last+1, floor), Max) }

// Valid tells whether t is a token that could have been granted.
func (t Token) Valid() bool { return t > 0 && t <= Max }
