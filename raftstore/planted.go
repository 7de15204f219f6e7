//go:build planted

package raftstore

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands/resp"
)

// Builds with the tag planted have the bug that REDFENCE_PLANTED names, and behave as others without it. Tests run them to
// show that the bug would be found.
const (
	unconfirmedReads = "unconfirmed reads"
	wallClockExpiry  = "expiry by wall clock"
	noDedup          = "no dedup"
	amnesiacVotes    = "amnesiac votes"
	ackBeforeSync    = "ack before fsync"
	effectsAhead     = "effects before own fsync"
)

func planted(bug string) bool { return os.Getenv("REDFENCE_PLANTED") == bug }

// mayAnswer tells whether what was run without the log on this node may be answered: it has led all the time.
func (s *Store) mayAnswer(lead *leadership) bool {
	return planted(unconfirmedReads) || s.stillLeads(lead)
}

// now is the store time in ms.
func (l *leadership) now() int64 {
	if planted(wallClockExpiry) {
		return wallMicros() / 1000
	}
	return l.anchor + time.Since(l.start).Milliseconds()
}

// again returns the answer to a call that must not be run, since it was run before or nobody waits for it any more.
func (c *calls) again(seq uint64) (resp.Value, bool) {
	if planted(noDedup) {
		return resp.Value{}, false
	}
	if seq <= c.acked {
		return resp.ErrUnknownOutcome.Value(), true
	}
	v, known := c.replies[seq]
	return v, known
}

// newIncarnation tells a node that begins with an empty disk from all that came before it.
func newIncarnation() string {
	if planted(amnesiacVotes) {
		return "same"
	}
	var random [6]byte
	_, _ = rand.Read(random[:]) // it never fails, see there
	return hex.EncodeToString(random[:])
}

// onDisk is the log in the data directory dir that the library writes to. What that has taken is synced. It hangs while there
// is a file held-disk in dir.
func onDisk(dir string) func(raft.LogStore) raft.LogStore {
	return func(log raft.LogStore) raft.LogStore {
		log = &heldLog{log, filepath.Join(dir, "held-disk")}
		if !planted(ackBeforeSync) {
			return log
		}
		last, err := log.LastIndex()
		if err != nil {
			panic(err)
		}
		return &unsynced{LogStore: log, synced: last, tail: map[uint64]*raft.Log{}}
	}
}

// synced waits until this node's disk has all entries up to index: those that it leads may be committed before.
func (s *Store) synced(index uint64) error {
	if planted(effectsAhead) {
		return nil
	}
	return s.disk.ahead.wait(index)
}
