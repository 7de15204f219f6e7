package raftstore

import (
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// aloneTimeout is how long a node without others waits before it elects itself. Nobody competes with it, so it is
// only a part of the start-up time.
const aloneTimeout = 50 * time.Millisecond

// defaultHeartbeat lets a new leader be there well within 1.5 s after the old one was killed: both followers have to miss it
// before one of them gets the vote of the other (pre-vote), which takes at most twice that.
const defaultHeartbeat = 500 * time.Millisecond

// commitTimeout is after how long without a new entry the followers are told what is committed, at random up to twice that.
// Publications and wake-ups wait for it on a quiet follower.
const commitTimeout = 5 * time.Millisecond

func (s *Store) raftConfig(logger hclog.Logger) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(s.id.serverID())
	c.Logger = logger
	c.BatchApplyCh = true      // so that proposals do not wait for a disk that hangs
	c.ShutdownOnRemove = false // it may be added again
	beat := aloneTimeout
	if s.port != nil {
		beat = s.cfg.Cluster.Heartbeat
		c.CommitTimeout = commitTimeout
	}
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = beat, beat, beat
	c.SnapshotThreshold = s.cfg.SnapshotEntries
	c.SnapshotInterval = s.cfg.SnapshotInterval
	c.TrailingLogs = s.cfg.TrailingEntries
	return c
}
