package raftstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/raftstore/cluster"
)

const (
	stewardEvery = 250 * time.Millisecond // how often the leader looks after the members
	promotionLag = 256                    // entries by which a node that gets a vote may be behind
	changeWait   = 5 * time.Second        // how long a change of the members waits for its turn in the log
	resignTries  = 3                      // each takes an election timeout at most
)

var (
	errNoLeaderKnown = errors.New("no leader is known: a majority of the voters must run before members can change")
	errRemoved       = errors.New("it was removed from the cluster; start it with an empty --data-dir to join again")
	errNameTaken     = errors.New("the name is taken")
)

// admit lets a node in, or passes the question on to the leader. One that is a member already needs no leader: so the
// members of a new cluster get to know that there is one.
func (s *Store) admit(ctx context.Context, q question) (admission, error) {
	mine := s.clusterID()
	switch {
	case mine == "":
		return admission{}, errors.New("this node belongs to no cluster yet")
	case q.Cluster != "" && q.Cluster != mine:
		s.cfg.Logger.Warn("a node of another cluster was refused", "id", q.ID, "addr", q.Addr, "cluster", q.Cluster)
		return admission{}, fmt.Errorf("%s belongs to cluster %s, not to cluster %s", q.ID, q.Cluster, mine)
	}
	if known, found := serverOf(s.servers(), q.ID); found && string(known.Address) == q.Addr {
		return admission{mine}, nil
	}
	leader, _, self := s.leaderAddr()
	if self {
		return admission{mine}, s.add(ctx, q)
	}
	var in admission
	return in, s.pass(ctx, leader, q, &in)
}

// pass asks the leader what only it can do, once.
func (s *Store) pass(ctx context.Context, leader string, q question, answer any) error {
	if leader == "" || q.Passed {
		return errNoLeaderKnown
	}
	q.Passed = true
	err := cluster.Ask(ctx, s.port, leader, q, answer)
	if err != nil && !errors.As(err, new(*cluster.AnsweredError)) {
		return fmt.Errorf("the leader does not answer: %w", err)
	}
	return err
}

// add makes a node a member without a vote. This node leads.
func (s *Store) add(ctx context.Context, q question) error {
	s.member.changes.Lock()
	defer s.member.changes.Unlock()
	known, found := serverOf(s.servers(), q.ID)
	if found {
		return s.readdress(known, q.Addr)
	}
	if !q.Empty {
		return errRemoved
	}
	if err := s.makeRoom(ctx, q); err != nil {
		return err
	}
	s.cfg.Logger.Info("a node joins", "id", q.ID, "addr", q.Addr)
	return s.raft.AddNonvoter(raft.ServerID(q.ID), raft.ServerAddress(q.Addr), 0, changeWait).Error()
}

// readdress takes note that a member has another address.
func (s *Store) readdress(known raft.Server, addr string) error {
	s.cfg.Logger.Info("a member has another address", "id", string(known.ID), "was", string(known.Address), "addr", addr)
	if known.Suffrage == raft.Voter {
		return s.raft.AddVoter(known.ID, raft.ServerAddress(addr), 0, changeWait).Error()
	}
	return s.raft.AddNonvoter(known.ID, raft.ServerAddress(addr), 0, changeWait).Error()
}

// makeRoom removes an old self of a node: a member of the same name that is no more, since its disk was lost. A member that
// only does not answer may come back, but then the new one has taken its name, so it is removed as well; what it has
// acknowledged is not lost, since the removal needs a majority of those that remain.
func (s *Store) makeRoom(ctx context.Context, q question) error {
	for _, old := range s.servers() {
		sameName, sameAddr := nameOf(old.ID) == q.Name, string(old.Address) == q.Addr
		if !sameName && !sameAddr {
			continue
		}
		if i, err := s.who(ctx, string(old.Address)); err == nil && i.ID == string(old.ID) {
			return fmt.Errorf("%w: %s runs at %s; choose another --node-id, or stop it and remove it with "+
				"redfence member remove %s", errNameTaken, old.ID, old.Address, old.ID)
		}
		if !sameName {
			return fmt.Errorf("%w: %s had the address %s; if it is gone for good, redfence member remove %s",
				errNameTaken, old.ID, old.Address, old.ID)
		}
		if err := s.majorityWithout(ctx, old); err != nil {
			return err
		}
		s.cfg.Logger.Warn("a member has lost its disk: its old self is removed", "id", string(old.ID), "new", q.ID)
		if err := s.raft.RemoveServer(old.ID, 0, changeWait).Error(); err != nil {
			return err
		}
	}
	return nil
}

// nameOf is the name in a server id.
func nameOf(id raft.ServerID) string {
	name := string(id)
	return name[:max(0, strings.LastIndexByte(name, '-'))]
}

// majorityWithout is an error when the voters that answer are no majority once gone is not one of them.
func (s *Store) majorityWithout(ctx context.Context, gone raft.Server) error {
	voters, up := 0, 0
	for _, server := range s.servers() {
		if server.ID == gone.ID || server.Suffrage != raft.Voter {
			continue
		}
		voters++
		if _, err := s.introduction(ctx, server); err == nil {
			up++
		}
	}
	if up <= voters/2 {
		return fmt.Errorf("without %s only %d of %d voters would run, which is no majority", gone.ID, up, voters)
	}
	return nil
}

// steward looks after the members while this node leads.
func (s *Store) steward() {
	for s.pause(stewardEvery) {
		lead := s.lead.Load()
		if lead == nil {
			continue
		}
		if err := s.tend(lead); err != nil {
			s.cfg.Logger.Warn("changing the members", "error", err)
		}
	}
}

func (s *Store) tend(lead *leadership) error {
	s.member.changes.Lock()
	defer s.member.changes.Unlock()
	if !s.soleVoter() {
		lead.alone.Store(false)
	}
	if self, found := s.self(); found && string(self.Address) != s.port.Addr() {
		return s.readdress(self, s.port.Addr())
	}
	for _, server := range s.servers() {
		if server.Suffrage == raft.Voter {
			continue
		}
		if err := s.promote(lead, server); err != nil {
			return err
		}
	}
	return nil
}

// promote gives a member a vote when it has caught up. From just before that on this node is not alone.
func (s *Store) promote(lead *leadership, server raft.Server) error {
	i, err := s.introduction(s.member.ctx, server)
	if err != nil || i.Cluster != s.clusterID() || i.Applied+promotionLag < s.raft.CommitIndex() {
		return nil //nolint:nilerr // it is asked again
	}
	lead.alone.Store(false)
	if err := s.raft.AddVoter(server.ID, server.Address, 0, changeWait).Error(); err != nil {
		return err
	}
	s.cfg.Logger.Info("a member has caught up and has a vote", "id", i.ID, "applied", i.Applied)
	return nil
}

// Resign hands the leadership over before this node stops, if it leads and there is somebody to take it. Who is to take it may
// be just behind, so it is tried more than once.
func (s *Store) Resign() {
	var err error
	for range resignTries {
		if s.port == nil || s.raft.State() != raft.Leader || s.soleVoter() {
			return
		}
		if err = s.raft.LeadershipTransfer().Error(); err == nil {
			return
		}
	}
	s.cfg.Logger.Warn("the leadership could not be handed over", "error", err)
}
