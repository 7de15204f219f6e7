// Package raftstore keeps locks in a replicated log: every change is committed by Raft and synced to disk before it
// is answered. See DESIGN.md for the path of a request and for what the store guarantees.
package raftstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/raftstore/cluster"
)

// Store is one node of the replicated store. All its methods may be called from any goroutine.
type Store struct {
	cfg     Config
	id      identity
	lock    *flock.Flock
	disk    *disk
	port    *cluster.TCP // nil when this node is alone
	raft    *raft.Raft
	machine *machine

	lead    atomic.Pointer[leadership] // nil while this node may not answer
	sitting atomic.Bool                // see sitOut
	led     chan struct{}              // closed when this node can serve for the first time
	queue   *queue
	pen     pen

	armed   atomic.Int64  // store time that the expirer waits for
	rearm   chan struct{} // wakes the expirer
	ticking atomic.Bool   // an empty entry is on its way

	member   member
	origin   *origin // of this node's calls; nil when it has no cluster port
	peers    peers   // followers that are connected to this node
	trials   trials
	handOver handOver
	stats    Counters
	closing  chan struct{}
	once     sync.Once
	onceLed  sync.Once
	done     sync.WaitGroup
}

// Open opens the store in cfg.Dir, or makes one. The store serves once Ready returns nil.
func Open(cfg Config) (_ *Store, err error) {
	s := &Store{
		cfg: cfg, machine: newMachine(cfg.Scripts), queue: newQueue(cfg.MaxQueue),
		handOver: cfg.newHandOver(),
		pen:      pen{slow: time.NewTimer(time.Hour)},
		member:   newMember(),
		rearm:    make(chan struct{}, 1), led: make(chan struct{}), closing: make(chan struct{}),
	}
	s.pen.gather.back, s.pen.gather.late = 1, time.AfterFunc(time.Hour, s.gathered)
	s.armed.Store(math.MaxInt64)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	if s.lock, err = lockDir(cfg.Dir); err != nil {
		return nil, err
	}
	if s.id, err = loadIdentity(cfg); err != nil {
		return nil, err
	}
	if err = s.openPort(); err != nil {
		return nil, err
	}
	if s.port != nil {
		s.origin = newOrigin(s)
	}
	logger := raftLogger(cfg.Logger)
	if s.disk, err = openDisk(filepath.Join(cfg.Dir, "raft"), cfg.LogStore, logger); err != nil {
		return nil, err
	}
	s.disk.log.LogStore = cfg.disk(s.disk.log.LogStore)
	s.disk.ahead.leads, s.disk.ahead.failed = s.leadsOthers, s.unwritten
	if err = s.startRaft(s.raftConfig(logger)); err != nil {
		return nil, err
	}
	s.done.Add(4)
	s.startMember()
	s.startForwarding()
	go s.follow()
	go s.attend()
	go s.expire()
	go s.writeScriptLog()
	return s, nil
}

// startRaft starts the library. A node that is to be alone makes a cluster of itself in a new data directory.
func (s *Store) startRaft(conf *raft.Config) error {
	if s.port != nil {
		return s.newRaft(conf, newTransport(s.port, s.disk.ahead, conf.Logger))
	}
	addr, transport := raft.NewInmemTransport(raft.ServerAddress(conf.LocalID))
	known, err := raft.HasExistingState(s.disk.log, s.disk.stable, s.disk.snapshots)
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	if !known {
		alone := raft.Configuration{Servers: []raft.Server{{ID: conf.LocalID, Address: addr}}}
		err := raft.BootstrapCluster(conf, s.disk.log, s.disk.stable, s.disk.snapshots, transport, alone)
		if err != nil {
			return fmt.Errorf("making a new cluster: %w", err)
		}
	}
	return s.newRaft(conf, transport)
}

func (s *Store) newRaft(conf *raft.Config, transport raft.Transport) (err error) {
	s.raft, err = raft.NewRaft(conf, &fsm{s: s}, s.disk.ahead, s.disk.stable, s.disk.snapshots, transport)
	if err != nil {
		return fmt.Errorf("starting raft: %w", err)
	}
	return nil
}

// Ready is nil when calls can be served now.
func (s *Store) Ready(context.Context) error {
	if s.lead.Load() == nil && !s.follows() {
		return s.noLeader()
	}
	return nil
}

// Wait returns when calls can be served for the first time, or when ctx ends.
func (s *Store) Wait(ctx context.Context) error {
	select {
	case <-s.led:
		return nil
	case err := <-s.member.failed:
		s.member.failed <- err // for others who ask
		return err
	case <-ctx.Done():
		return fmt.Errorf("the store is not ready: %w", context.Cause(ctx))
	}
}

// Now is the wall clock in µs since the Unix epoch.
func (s *Store) Now() int64 { return s.cfg.Wall() }

// Close stops the store. A leader hands over first, and calls that were forwarded, or are in the log, are still answered;
// those that wait are refused.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		s.Resign()
		s.origin.drain()
		s.member.stop()
		close(s.closing)
		s.disk.ahead.leave()
		s.done.Wait()
		s.lead.Store(nil)
		s.origin.close()
		err = errors.Join(s.raft.Shutdown().Error(), s.release())
	})
	return err
}

// release gives back what Open took.
func (s *Store) release() error {
	var errs []error
	if s.port != nil {
		errs = append(errs, s.port.Close())
	}
	if s.disk != nil {
		errs = append(errs, s.disk.close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Unlock())
	}
	return errors.Join(errs...)
}

// applied takes note of an entry of n calls that the state machine has run.
func (s *Store) applied(n int) {
	s.stats.Entries.Add(1)
	s.stats.Calls.Add(int64(n))
	if _, next, found := s.machine.times(); found && next < s.armed.Load() {
		s.wakeExpirer()
	}
}
