package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// raisedBy is by how much a recovery raises the tokens: more than the lost part of the log can have granted, unless
	// clocks differ by an hour.
	raisedBy = time.Hour
	// holdFile is in a data directory that was recovered, until the node has served nothing for the time in it.
	holdFile = "recovered-hold"
)

// Recovery is what a recovery has found and made.
type Recovery struct {
	Member    string // its server id
	Cluster   string // the new cluster
	Index     uint64 // of the last log entry
	Keys      int
	LastToken int64
	Hold      time.Duration // how long the member serves nothing when it is started
}

// Recover makes a new cluster of the one member in cfg.Dir, which must not run. It is for a majority that is lost for good:
// what only the others knew is lost. So all tokens are raised by an hour, and the member serves nothing for hold when it is
// started; 0 is the longest TTL of its keys, after which a lock that nobody knows of any more has run out.
func Recover(cfg Config, hold time.Duration) (_ Recovery, err error) {
	if cfg.Sink == nil {
		cfg.Sink = noSink{}
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, identityFile)); err != nil {
		return Recovery{}, fmt.Errorf("no data directory of a member: %w", err)
	}
	s := &Store{cfg: cfg, machine: newMachine(cfg.Scripts)}
	defer func() { err = errors.Join(err, s.release()) }()
	if s.lock, err = lockDir(cfg.Dir); err != nil {
		return Recovery{}, err
	}
	if s.id, err = loadIdentity(cfg); err != nil {
		return Recovery{}, err
	}
	s.member.cluster.Store(&s.id.Cluster)
	logger := raftLogger(cfg.Logger)
	if s.disk, err = openDisk(filepath.Join(cfg.Dir, "raft"), cfg.LogStore, logger); err != nil {
		return Recovery{}, err
	}
	return s.recoverAlone(s.raftConfig(logger), hold)
}

// recoverAlone writes a snapshot of all that the log has, with this node as the only member. The new name comes first, then
// the hold, then the snapshot: a crash in between leaves a node without a majority, which can be recovered again.
func (s *Store) recoverAlone(conf *raft.Config, hold time.Duration) (Recovery, error) {
	addr, transport := raft.NewInmemTransport(raft.ServerAddress(conf.LocalID))
	last, err := s.disk.log.LastIndex()
	if err != nil {
		return Recovery{}, err
	}
	name, err := newClusterID()
	if err != nil {
		return Recovery{}, err
	}
	s.id.Former = s.clusterID()
	if err := s.setCluster(name); err != nil {
		return Recovery{}, err
	}
	f := &recovering{fsm: fsm{s: s}, hold: hold}
	alone := raft.Configuration{Servers: []raft.Server{{ID: conf.LocalID, Address: addr}}}
	err = raft.RecoverCluster(conf, f, s.disk.log, s.disk.stable, s.disk.snapshots, transport, alone)
	if err != nil {
		return Recovery{}, fmt.Errorf("recovering: %w", err)
	}
	ks := s.machine.ks
	return Recovery{
		Member: s.id.serverID(), Cluster: name, Index: last, Keys: ks.Len(), LastToken: int64(ks.LastToken()), Hold: f.hold,
	}, nil
}

// recovering is the state machine of a recovery. The snapshot that the library asks it for, when it has applied all there
// is, has raised tokens; before that the hold is on disk.
type recovering struct {
	fsm
	hold time.Duration
}

// Snapshot implements raft.FSM.
func (r *recovering) Snapshot() (raft.FSMSnapshot, error) {
	m := r.s.machine
	if r.hold == 0 {
		r.hold = time.Duration(m.ks.LongestTTL()) * time.Millisecond
	}
	path := filepath.Join(r.s.cfg.Dir, holdFile)
	if err := writeDurably(path, []byte(r.hold.String()+"\n")); err != nil {
		return nil, err
	}
	m.ks.RaiseTokens(raisedBy.Microseconds())
	return r.fsm.Snapshot()
}

// sitOut waits, when this node leads for the first time behind a recovery, until the locks that were lost have run out. The
// wait begins anew when the node is started again. It tells false when the store closes or the leadership is lost before.
func (s *Store) sitOut(term uint64) bool {
	path := filepath.Join(s.cfg.Dir, holdFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	hold, bad := time.ParseDuration(strings.TrimSpace(string(text)))
	if err := errors.Join(err, bad); err != nil {
		s.fail(fmt.Errorf("%s: %w", path, err))
		return false
	}
	s.cfg.Logger.Warn("recovered: nothing is served until lost locks have run out", "for", hold)
	s.sitting.Store(true)
	defer s.sitting.Store(false)
	if !s.pause(hold) || s.raft.State() != raft.Leader || s.raft.CurrentTerm() != term {
		return false
	}
	if err := errors.Join(os.Remove(path), syncDir(s.cfg.Dir)); err != nil {
		s.fail(err)
		return false
	}
	return true
}
