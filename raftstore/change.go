package raftstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/cluster"
)

var errAlone = errors.New("this node is alone and has no cluster port; start it with --join or --bootstrap-expect")

// Status is the cluster as one member sees it.
type Status struct {
	Cluster string         `json:"cluster"`
	Leader  string         `json:"leader"` // server id; empty when none is known
	Asked   string         `json:"asked"`  // server id of the member that tells
	Members []MemberStatus `json:"members"`
}

// MemberStatus is a member as it tells of itself. Of one that does not answer only the first lines are known.
type MemberStatus struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Addr  string `json:"addr"`
	Voter bool   `json:"voter"`
	Error string `json:"error,omitempty"` // why it does not answer

	State       string `json:"state,omitempty"` // leader, follower or candidate
	Term        uint64 `json:"term,omitempty"`
	Applied     uint64 `json:"applied,omitempty"`
	Lag         uint64 `json:"lag"`             // entries behind what the cluster has committed
	LastContact int64  `json:"last_contact_ms"` // since it has heard of the leader; -1 is never
	StoreTime   int64  `json:"store_time_ms"`
}

// Administer is part of proxy.Administrator.
func (s *Store) Administer(ctx context.Context, r *commands.Request) resp.Value {
	change, isChange := r.Opts.(args.MemberChange)
	if !isChange || change.Do == "list" {
		text, err := json.Marshal(s.Status(ctx))
		if err != nil {
			return resp.ReplyFor(err)
		}
		return resp.Str(string(text))
	}
	ctx, cancel := context.WithTimeout(ctx, 4*changeWait)
	defer cancel()
	q := question{Ask: change.Do, ID: change.Member, Addr: change.Member, Force: change.Force}
	if err := s.change(ctx, q); err != nil {
		return resp.NotChanged(err).Value()
	}
	return resp.OK()
}

// Status asks all members how they are.
func (s *Store) Status(ctx context.Context) Status {
	servers := s.servers()
	st := Status{Cluster: s.clusterID(), Asked: s.id.serverID(), Members: make([]MemberStatus, len(servers))}
	_, st.Leader, _ = s.leaderAddr()
	commits := make([]uint64, len(servers))
	var group sync.WaitGroup
	for i, server := range servers {
		group.Go(func() { st.Members[i], commits[i] = s.inspect(ctx, server) })
	}
	group.Wait()
	for i, m := range st.Members {
		if m.Error == "" {
			st.Members[i].Lag = max(slices.Max(commits), m.Applied) - m.Applied
		}
	}
	slices.SortFunc(st.Members, func(a, b MemberStatus) int { return strings.Compare(a.ID, b.ID) })
	return st
}

// inspect asks one member, and returns what it knows to be committed.
func (s *Store) inspect(ctx context.Context, server raft.Server) (MemberStatus, uint64) {
	m := MemberStatus{
		ID: string(server.ID), Name: nameOf(server.ID), Addr: string(server.Address), Voter: server.Suffrage == raft.Voter,
		LastContact: -1,
	}
	i, err := s.introduction(ctx, server)
	if err != nil {
		m.Error = err.Error()
		return m, 0
	}
	m.State, m.Term, m.Applied = i.State, i.Term, i.Applied
	m.LastContact, m.StoreTime = i.LastContact, i.StoreTime
	return m, i.Commit
}

// introduction is what a member says of itself. One whose address somebody else has does not answer.
func (s *Store) introduction(ctx context.Context, server raft.Server) (introduction, error) {
	if string(server.ID) == s.id.serverID() {
		return s.introduce(), nil
	}
	i, err := s.who(ctx, string(server.Address))
	if err == nil && i.ID != string(server.ID) {
		err = fmt.Errorf("%s is at its address", i.ID)
	}
	return i, err
}

// change changes the members, or has the leader do it.
func (s *Store) change(ctx context.Context, q question) error {
	if s.port == nil {
		return errAlone
	}
	leader, _, self := s.leaderAddr()
	if !self {
		return s.pass(ctx, leader, q, &question{})
	}
	switch q.Ask {
	case "add":
		return s.invite(ctx, q.Addr)
	case "remove":
		return s.remove(ctx, q)
	default:
		return s.transfer(q.ID)
	}
}

// invite adds an empty node that waits at addr.
func (s *Store) invite(ctx context.Context, addr string) error {
	i, err := s.who(ctx, addr)
	switch {
	case err != nil:
		return err
	case i.Cluster != "" && i.Cluster != s.clusterID():
		return fmt.Errorf("%w: %s belongs to cluster %s; start it with an empty --data-dir", errAlien, i.ID, i.Cluster)
	}
	if err := s.add(ctx, question{ID: i.ID, Name: i.Name, Addr: i.Addr, Empty: i.Empty}); err != nil {
		return err
	}
	return cluster.Ask(ctx, s.port, i.Addr, question{Ask: "come", Cluster: s.clusterID()}, &question{})
}

// find is the member that an operator calls by its server id, name or address.
func (s *Store) find(member string) (raft.Server, error) {
	for _, server := range s.servers() {
		if string(server.ID) == member || nameOf(server.ID) == member || string(server.Address) == member {
			return server, nil
		}
	}
	return raft.Server{}, fmt.Errorf("there is no member %s", member)
}

// remove takes a member out. Without force it is refused when the rest would have no majority that runs.
func (s *Store) remove(ctx context.Context, q question) error {
	s.member.changes.Lock()
	defer s.member.changes.Unlock()
	server, err := s.find(q.ID)
	if err != nil {
		return err
	}
	if server.Suffrage == raft.Voter && !q.Force {
		if err := s.majorityWithout(ctx, server); err != nil {
			return fmt.Errorf("%w; to remove it all the same ask with --force", err)
		}
	}
	s.cfg.Logger.Info("a member is removed", "id", string(server.ID), "addr", string(server.Address))
	if err := s.raft.RemoveServer(server.ID, 0, changeWait).Error(); err != nil {
		return err
	}
	if lead := s.lead.Load(); lead != nil {
		lead.alone.Store(s.soleVoter())
	}
	return nil
}

// transfer hands the leadership to a member, or to the one that is most up to date.
func (s *Store) transfer(member string) error {
	if member == "" {
		return s.raft.LeadershipTransfer().Error()
	}
	server, err := s.find(member)
	switch {
	case err != nil:
		return err
	case server.Suffrage != raft.Voter:
		return fmt.Errorf("%s has no vote yet", server.ID)
	case string(server.ID) == s.id.serverID():
		return nil
	}
	return s.raft.LeadershipTransferToServer(server.ID, server.Address).Error()
}
