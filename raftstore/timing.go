package raftstore

import (
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// aloneTimeout is how long a node without others waits before it elects itself. Nobody competes with it, so it is
// only a part of the start-up time.
const aloneTimeout = 50 * time.Millisecond

func (s *Store) raftConfig(logger hclog.Logger) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(s.id.serverID())
	c.Logger = logger
	c.BatchApplyCh = true // so that proposals do not wait for a disk that hangs
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = aloneTimeout, aloneTimeout, aloneTimeout
	c.SnapshotThreshold = s.cfg.SnapshotEntries
	c.SnapshotInterval = s.cfg.SnapshotInterval
	c.TrailingLogs = s.cfg.TrailingEntries
	return c
}
