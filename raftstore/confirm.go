package raftstore

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/forward"
)

// trial is a call that was run without the log on this node, which led then as far as it knew. Its reply is true if no
// other led: that is asked afterwards, once for all that came before the question.
type trial struct {
	waiting
	reply resp.Value
}

// trials are those that wait to be confirmed.
type trials struct {
	mu   sync.Mutex
	list []trial
	busy bool // somebody asks
}

// confirm answers a trial when it is certain that this node led when it was run. Else the log decides.
func (s *Store) confirm(t trial) {
	s.trials.mu.Lock()
	defer s.trials.mu.Unlock()
	s.trials.list = append(s.trials.list, t)
	if !s.trials.busy {
		s.trials.busy = true
		go s.confirmAll()
	}
}

// confirmAll asks until nothing waits.
func (s *Store) confirmAll() {
	for {
		s.trials.mu.Lock()
		list := s.trials.list
		s.trials.list = nil
		s.trials.busy = len(list) > 0
		s.trials.mu.Unlock()
		if len(list) == 0 {
			return
		}
		s.settle(list)
	}
}

func (s *Store) settle(list []trial) {
	lead := s.lead.Load()
	leads := lead != nil && s.mayAnswer(lead)
	for _, t := range list {
		if leads && t.ticket.lead == lead {
			s.stats.Tried.Add(1)
			t.more = true
			t.tell(forward.Done, commands.Result{Reply: t.reply})
			continue
		}
		t.stream.pending.Add(1)
		s.enqueue(t.waiting)
	}
	s.peers.flush()
	s.propose()
}

// peers are the members that are connected to this node as the leader.
type peers struct {
	mu     sync.Mutex
	conns  map[string]*inbound // by server id
	last   uint64              // the newest question
	votes  *votes              // that are asked for now
	enough atomic.Bool         // a majority of the voters is connected, this node among them
}

// votes is a question to the peers.
type votes struct {
	term    uint64
	need    int
	from    map[string]bool // true for a voter that has not answered
	decided chan bool
}

// stillLeads asks the other voters for their terms. When a majority, this node among it, has not gone on to a later term,
// nobody else led when they were asked: to be elected, one needs the vote of a node of any majority, and to give it a node
// goes on to the later term first (Raft dissertation, section 6.4). The library's VerifyLeader counts answers to
// heartbeats that were sent earlier, so a process that was stopped for long could take old answers for new ones.
func (s *Store) stillLeads(lead *leadership) bool {
	v := s.peers.ask(lead.term, s.servers(), s.id.serverID())
	if v == nil {
		return false
	}
	patience := time.NewTimer(s.cfg.Cluster.Heartbeat)
	defer patience.Stop()
	select {
	case yes := <-v.decided:
		return yes && s.lead.Load() == lead && s.raft.CurrentTerm() == lead.term
	case <-patience.C:
		return false
	}
}

// ask sends the question to all voters that are connected; nil when these are too few.
func (p *peers) ask(term uint64, servers []raft.Server, self string) *votes {
	p.mu.Lock()
	defer p.mu.Unlock()
	voters, from := 0, map[string]bool{}
	selfVotes := 0
	for _, server := range servers {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		if id := string(server.ID); id == self {
			selfVotes = 1
		} else if p.conns[id] != nil {
			from[id] = true
		}
	}
	need := voters/2 + 1 - selfVotes
	if len(from) < need {
		return nil
	}
	p.last++
	p.votes = &votes{term: term, need: need, from: from, decided: make(chan bool, 1)}
	if need == 0 {
		p.votes.decided <- true
	}
	for id := range from {
		p.conns[id].out.Put(forward.Frame{Kind: forward.Ping, Seq: p.last})
	}
	return p.votes
}

// pong takes the answer of a member.
func (p *peers) pong(server string, seq, term uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.votes
	if v == nil || seq != p.last || !v.from[server] {
		return
	}
	v.from[server] = false
	if term > v.term {
		v.need = -1 // never
	} else {
		v.need--
	}
	if v.need <= 0 {
		v.decided <- v.need == 0
		p.votes = nil
	}
}

// add takes in the connection of a member, in place of an older one.
func (p *peers) add(in *inbound, servers []raft.Server) {
	p.mu.Lock()
	if p.conns == nil {
		p.conns = map[string]*inbound{}
	}
	if old := p.conns[in.server]; old != nil {
		old.out.Close()
	}
	p.conns[in.server] = in
	p.mu.Unlock()
	p.count(servers)
}

func (p *peers) remove(in *inbound) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns[in.server] == in {
		delete(p.conns, in.server)
	}
}

// flush sends the answers that are piled up.
func (p *peers) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.conns {
		in.out.Flush()
	}
}

// hangUp ends all connections, since this node does not lead any more.
func (p *peers) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.conns {
		in.out.Close()
	}
}

// count finds out whether a majority of the voters is connected.
func (p *peers) count(servers []raft.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	voters, connected := 0, 1
	for _, server := range servers {
		if server.Suffrage == raft.Voter {
			voters++
			if p.conns[string(server.ID)] != nil {
				connected++
			}
		}
	}
	p.enough.Store(connected > voters/2)
}
