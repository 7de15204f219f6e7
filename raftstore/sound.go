//go:build !planted

package raftstore

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands/resp"
)

// These functions are what locks of a cluster stand on. Test builds with the tag planted have wrong ones instead
// (planted.go), which shows that the tests would find out.

// mayAnswer tells whether what was run without the log on this node may be answered: it has led all the time.
func (s *Store) mayAnswer(lead *leadership) bool { return s.stillLeads(lead) }

// now is the store time in ms.
func (l *leadership) now() int64 { return l.anchor + time.Since(l.start).Milliseconds() }

// again returns the answer to a call that must not be run, since it was run before or nobody waits for it any more.
func (c *calls) again(seq uint64) (resp.Value, bool) {
	if seq <= c.acked {
		return resp.ErrUnknownOutcome.Value(), true
	}
	v, known := c.replies[seq]
	return v, known
}

// newIncarnation tells a node that begins with an empty disk from all that came before it.
func newIncarnation() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // it never fails, see there
	return hex.EncodeToString(random[:])
}

// onDisk is the log in a data directory that the library writes to. What that has taken is synced.
func onDisk(string) func(raft.LogStore) raft.LogStore {
	return func(log raft.LogStore) raft.LogStore { return log }
}

// synced waits until this node's disk has all entries up to index: those that it leads may be committed before.
func (s *Store) synced(index uint64) error { return s.disk.ahead.wait(index) }
