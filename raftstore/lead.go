package raftstore

import (
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands/resp"
)

// leadership is one term in which this node leads, from the moment on when it has applied all entries of earlier
// terms. It is the clock of the store: store time goes on from where the log left it, with the monotonic clock. So
// it never runs faster than real time, never goes back, and no step of the wall clock moves it.
type leadership struct {
	term   uint64
	anchor int64       // store time in ms at the moment start
	start  time.Time   // with its monotonic reading
	alone  atomic.Bool // no other node has a vote
}

// follow watches for changes of leadership.
func (s *Store) follow() {
	defer s.done.Done()
	for {
		select {
		case <-s.closing:
			return
		case leader := <-s.raft.LeaderCh():
			s.lead.Store(nil)
			s.peers.hangUp()
			if leader {
				s.takeOver()
			}
			s.origin.kick()
		}
	}
}

// takeOver waits until all entries of earlier terms are applied. Only then is the store time known, so only then
// may this node stamp entries or judge a TTL.
func (s *Store) takeOver() {
	term := s.raft.CurrentTerm()
	if err := s.raft.Barrier(0).Error(); err != nil {
		s.cfg.Logger.Warn("lost the leadership before it began", "term", term, "error", err)
		return
	}
	if !s.sitOut(term) {
		return
	}
	now, _, _ := s.machine.times()
	lead := &leadership{term: term, anchor: now, start: time.Now()}
	lead.alone.Store(s.soleVoter())
	s.lead.Store(lead)
	s.onceLed.Do(func() { close(s.led) })
	s.cfg.Logger.Info("leading", "term", term, "applied", s.raft.AppliedIndex())
	s.wakeExpirer()
}

// soleVoter tells whether this node is the only one with a vote. Then no other node can lead, so what it has
// applied is what there is, and a read needs no round to the others (Raft dissertation, section 6.4).
func (s *Store) soleVoter() bool { return voters(s.servers()) == 1 }

// leadsOthers tells whether this node sends its entries to other voters.
func (s *Store) leadsOthers() bool {
	lead := s.lead.Load()
	return lead != nil && !lead.alone.Load() && s.raft.State() == raft.Leader
}

// voters is how many members have a vote.
func voters(servers []raft.Server) int {
	n := 0
	for _, server := range servers {
		if server.Suffrage == raft.Voter {
			n++
		}
	}
	return n
}

// leaderAddr is who leads, as far as this node knows: the address of its cluster port and its server id, both empty when
// nobody is known to lead. self tells that it is this node, which need not be ready to serve yet.
func (s *Store) leaderAddr() (addr, id string, self bool) {
	at, who := s.raft.LeaderWithID()
	return string(at), string(who), string(who) == s.id.serverID()
}

// noLeader is why this node cannot serve.
func (s *Store) noLeader() resp.Failure {
	if fault := s.disk.log.fault.Load(); fault != nil {
		return resp.LogFailed(*fault)
	}
	if s.sitting.Load() {
		return resp.ErrRecovering
	}
	if s.raft.State() == raft.Leader {
		return resp.ErrTryAgainLeader
	}
	return resp.ErrNoLeader
}
