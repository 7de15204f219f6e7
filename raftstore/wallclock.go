//go:build !clockskew

package raftstore

import "time"

// wallMicros is the wall clock in µs since the Unix epoch. It is the only place in Redfence that reads it for the
// state: no TTL depends on it.
func wallMicros() int64 { return time.Now().UnixMicro() }
