package raftstore

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
)

// Counters count what the store has done since it was opened.
type Counters struct {
	Entries atomic.Int64 // log entries applied
	Calls   atomic.Int64 // calls in them
	Tried   atomic.Int64 // calls that were answered without the log
}

// Stats is the state of the store at one moment.
type Stats struct {
	State        string // leader, follower or candidate
	Leader       string
	Term         uint64
	CommitIndex  uint64
	AppliedIndex uint64
	Voters       int           // members with a vote, as far as this node knows
	LastContact  time.Duration // since this node has heard of its leader: 0 when it leads, negative when never
	Entries      int64         // log entries applied since the start
	Calls        int64         // calls in those entries
	Tried        int64         // calls answered without the log
	Locks        LockStats
	Keys         int
	Memory       int64 // size of the state in bytes, which MaxMemory bounds
	MaxMemory    int64 // 0 is no limit
	StoreTime    int64 // ms
}

// Stats returns the present state.
func (s *Store) Stats() Stats {
	leader, _ := s.raft.LeaderWithID()
	s.machine.mu.Lock()
	keys, now, used := s.machine.ks.Len(), s.machine.ks.Now(), s.machine.ks.Used()
	s.machine.mu.Unlock()
	return Stats{
		State: s.state(), Leader: string(leader), Term: s.raft.CurrentTerm(),
		CommitIndex: s.raft.CommitIndex(), AppliedIndex: s.raft.AppliedIndex(),
		Voters: voters(s.servers()), LastContact: s.lastContact(),
		Entries: s.stats.Entries.Load(), Calls: s.stats.Calls.Load(), Tried: s.stats.Tried.Load(),
		Locks: s.machine.locks.snapshot(), Keys: keys, Memory: used, MaxMemory: s.cfg.MaxMemory, StoreTime: now,
	}
}

// state is leader, follower or candidate.
func (s *Store) state() string { return strings.ToLower(s.raft.State().String()) }

// Info returns the sections of INFO that tell of the store.
func (s *Store) Info() []commands.InfoSection {
	st := s.Stats()
	return []commands.InfoSection{{Name: "Raft", Lines: append([]string{
		"raft_state:" + st.State,
		"raft_leader:" + st.Leader,
		fmt.Sprintf("raft_term:%d", st.Term),
		fmt.Sprintf("raft_commit_index:%d", st.CommitIndex),
		fmt.Sprintf("raft_applied_index:%d", st.AppliedIndex),
		fmt.Sprintf("raft_store_time_ms:%d", st.StoreTime),
		fmt.Sprintf("raft_entries:%d", st.Entries),
		fmt.Sprintf("raft_calls:%d", st.Calls),
		fmt.Sprintf("raft_answered_without_log:%d", st.Tried),
	}, s.peerLines(st)...)}, {Name: "Locks", Lines: []string{
		fmt.Sprintf("locks_granted:%d", st.Locks.Granted),
		fmt.Sprintf("locks_contended:%d", st.Locks.Contended),
		fmt.Sprintf("locks_failed:%d", st.Locks.Failed),
	}}, {Name: "Memory", Lines: s.memoryLines()}, {Name: "Keyspace", Lines: s.keyspaceLines()}}
}

// peerLines tell of the cluster, if there is one, as this node knows it without asking: REDFENCE STATUS asks.
func (s *Store) peerLines(st Stats) []string {
	if s.port == nil {
		return nil
	}
	lines := []string{
		"raft_id:" + s.id.serverID(),
		"raft_cluster:" + s.clusterID(),
		fmt.Sprintf("raft_voters:%d", st.Voters),
		fmt.Sprintf("raft_last_contact_ms:%d", st.LastContact.Milliseconds()),
	}
	for i, server := range s.servers() {
		vote := "no"
		if server.Suffrage == raft.Voter {
			vote = "yes"
		}
		lines = append(lines, fmt.Sprintf("raft_peer%d:id=%s,addr=%s,vote=%s", i, server.ID, server.Address, vote))
	}
	return lines
}

// memoryLines are those that clients look for. What is used is what the limit is about: see Keyspace.Used.
func (s *Store) memoryLines() []string {
	s.machine.mu.Lock()
	defer s.machine.mu.Unlock()
	return []string{
		fmt.Sprintf("used_memory:%d", s.machine.ks.Used()),
		fmt.Sprintf("maxmemory:%d", s.cfg.MaxMemory),
		fmt.Sprintf("number_of_cached_scripts:%d", s.machine.ks.Scripts()),
	}
}

func (s *Store) keyspaceLines() []string {
	s.machine.mu.Lock()
	defer s.machine.mu.Unlock()
	return s.machine.ks.InfoLines()
}
