package raftstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/raftstore/cluster"
)

const (
	formEvery  = 200 * time.Millisecond // how often a node that is not a member yet asks around
	catchEvery = 50 * time.Millisecond  // how often a member looks whether it has caught up
)

// errAlien is returned when the addresses to join lead to another cluster than this node's.
var errAlien = errors.New("another cluster")

// form makes this node a member of its cluster, or makes the cluster, and sees to it that it catches up.
func (s *Store) form() {
	if !s.enter() || !s.checkJoin() {
		return
	}
	for !s.caughtUp() {
		if !s.pause(catchEvery) {
			return
		}
	}
	s.member.near.Store(true)
	s.onceLed.Do(func() { close(s.led) })
}

// enter asks around until this node is a member under its present address. It tells false when the store closes.
func (s *Store) enter() bool {
	if err := s.ownCluster(); err != nil {
		s.fail(err)
		return false
	}
	said := ""
	for !s.settled() {
		if err := s.ask(s.member.ctx); err != nil && err.Error() != said && s.member.ctx.Err() == nil {
			said = err.Error()
			s.cfg.Logger.Info("not a member of a cluster yet", "waiting", said)
		}
		if !s.settled() && !s.pause(formEvery) {
			return false
		}
	}
	return true
}

// ownCluster gives a node that has members already, but no name for them, a cluster of its own: one that was alone until now,
// or one that was killed while it made the cluster.
func (s *Store) ownCluster() error {
	if s.empty() || s.clusterID() != "" {
		return nil
	}
	id, err := newClusterID()
	if err != nil {
		return err
	}
	return s.setCluster(id)
}

// settled tells whether nothing is to be asked for: this node is a member under its address, or was removed.
func (s *Store) settled() bool {
	if s.empty() {
		return false
	}
	self, found := s.self()
	return !found || string(self.Address) == s.port.Addr() || s.raft.State() == raft.Leader
}

// contacts are the addresses at which members may be.
func (s *Store) contacts() []string {
	list := slices.Clone(s.cfg.Cluster.Join)
	for _, server := range s.servers() {
		list = append(list, string(server.Address))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(addr string) bool { return addr == s.port.Addr() })
}

// ask is one round of asking: to be admitted where there is a cluster, else to make one.
func (s *Store) ask(ctx context.Context) error {
	others, err := s.meet(ctx)
	for _, o := range others {
		if o.Cluster != "" {
			return s.askAdmission(ctx, o)
		}
	}
	if !s.empty() || s.clusterID() != "" {
		return errors.Join(errors.New("no member of the cluster answers"), err)
	}
	return s.bootstrap(others, err)
}

// meet asks all contacts who they are. It returns each other node once, by server id, and why others do not answer.
func (s *Store) meet(ctx context.Context) ([]introduction, error) {
	contacts := s.contacts()
	met, errs := make([]introduction, len(contacts)), make([]error, len(contacts))
	var group sync.WaitGroup
	for i, addr := range contacts {
		group.Go(func() { met[i], errs[i] = s.who(ctx, addr) })
	}
	group.Wait()
	slices.SortFunc(met, func(a, b introduction) int { return strings.Compare(a.ID, b.ID) })
	met = slices.CompactFunc(met, func(a, b introduction) bool { return a.ID == b.ID })
	met = slices.DeleteFunc(met, func(i introduction) bool { return i.ID == "" || i.ID == s.id.serverID() })
	return met, errors.Join(errs...)
}

// askAdmission asks a member to let this node in, and makes it belong to the cluster.
func (s *Store) askAdmission(ctx context.Context, o introduction) error {
	ctx, cancel := context.WithTimeout(ctx, 10*askTimeout)
	defer cancel()
	var in admission
	err := cluster.Ask(ctx, s.port, o.Addr, question{
		Ask: "admit", ID: s.id.serverID(), Name: s.id.NodeID, Addr: s.port.Addr(), Cluster: s.clusterID(), Empty: s.empty(),
	}, &in)
	if err != nil {
		return fmt.Errorf("asking %s to be admitted to cluster %s: %w", o.ID, o.Cluster, err)
	}
	if s.clusterID() != "" {
		return nil
	}
	s.cfg.Logger.Info("admitted to a cluster", "cluster", in.Cluster, "by", o.ID)
	return s.setCluster(in.Cluster)
}

// bootstrap makes a new cluster of as many empty nodes as are expected, if each of them sees just the same ones. Only the
// one with the smallest server id makes it, and the others are admitted by it. So two nodes never make two of them: each
// would need the agreement of a node that has agreed to the other.
func (s *Store) bootstrap(others []introduction, unanswered error) error {
	expect := s.cfg.Cluster.Expect
	members := slices.DeleteFunc(others, func(i introduction) bool { return !i.Empty || i.Expect != expect })
	members = append(members, s.introduce())
	slices.SortFunc(members, func(a, b introduction) int { return strings.Compare(a.ID, b.ID) })
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = m.ID
	}
	s.member.seen.Store(&ids)
	if expect < 2 || len(members) != expect {
		return errors.Join(fmt.Errorf("%d of %d empty nodes answer that expect so many", len(members), expect), unanswered)
	}
	for _, m := range members {
		if m.ID != s.id.serverID() && !slices.Equal(m.Seen, ids) {
			return fmt.Errorf("%s does not see the same nodes yet", m.ID)
		}
	}
	if err := distinct(members); err != nil {
		return err
	}
	if ids[0] != s.id.serverID() {
		return fmt.Errorf("%s makes the cluster", ids[0])
	}
	return s.makeCluster(members)
}

// distinct is an error when two nodes have the same name or address.
func distinct(members []introduction) error {
	names, addrs := map[string]bool{}, map[string]bool{}
	for _, m := range members {
		if names[m.Name] || addrs[m.Addr] {
			return fmt.Errorf("two nodes are called %s at %s; give each its own --node-id and --raft-advertise", m.Name, m.Addr)
		}
		names[m.Name], addrs[m.Addr] = true, true
	}
	return nil
}

// makeCluster writes the first entry of the log, and then gives the cluster its name. Before that nobody else belongs to it.
func (s *Store) makeCluster(members []introduction) error {
	var c raft.Configuration
	for _, m := range members {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(m.ID), Address: raft.ServerAddress(m.Addr)})
	}
	if err := s.raft.BootstrapCluster(c).Error(); err != nil {
		return fmt.Errorf("making a new cluster: %w", err)
	}
	s.cfg.Logger.Info("made a new cluster", "members", len(members))
	return s.ownCluster()
}

// checkJoin looks once whether the addresses to join belong to this node's cluster. A data directory of another cluster is
// a mistake that nobody would notice otherwise: the node would go on with what it has. It tells false when it is one.
func (s *Store) checkJoin() bool {
	others, _ := s.meet(s.member.ctx)
	mine, alien := false, introduction{}
	for _, o := range others {
		switch o.Cluster {
		case s.clusterID():
			mine = mine || slices.Contains(s.cfg.Cluster.Join, o.Addr)
		case "", s.id.Former:
		default:
			alien = o
		}
	}
	if alien.ID == "" {
		return true
	}
	err := fmt.Errorf("%w: %s at %s belongs to cluster %s, this data directory (%s) to cluster %s; start with an empty "+
		"--data-dir to join that cluster, or correct --join", errAlien, alien.ID, alien.Addr, alien.Cluster, s.cfg.Dir, s.clusterID())
	refused := s.askAdmission(s.member.ctx, alien) // so that it says so as well
	if mine {
		s.cfg.Logger.Error("a node that is no member is among the addresses to join", "error", err, "answer", refused)
		return true
	}
	s.fail(err)
	return false
}

// caughtUp tells whether this node leads, or has applied what was committed when it asked its leader.
func (s *Store) caughtUp() bool {
	addr, id, self := s.leaderAddr()
	if self {
		return s.lead.Load() != nil
	}
	if addr == "" {
		return false
	}
	leader, err := s.who(s.member.ctx, addr)
	if err != nil || leader.ID != id {
		return false
	}
	for s.raft.AppliedIndex() < leader.Commit {
		if _, now, _ := s.leaderAddr(); now != id || !s.pause(catchEvery) {
			return false
		}
	}
	return true
}
