//go:build !tokenless

package fencing

// Next returns the token after last. It is at least floor, the wall clock in microseconds since the Unix epoch, so
// tokens do not fall back even when all state is lost, and tell when a lock was taken.
func Next(last, floor Token) Token { return min(max(last+1, floor), Max) }
