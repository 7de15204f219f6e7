package raftstore

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// cardsEvery is how often the other members are asked for their cards.
const cardsEvery = time.Second

// Peer is a member as the others see it.
type Peer struct {
	ID     string        // server id
	Card   string        // what it tells about itself; empty when that is not known
	Silent time.Duration // since it has answered; 0 for this node
}

// Leadership is who leads.
type Leadership struct {
	ID   string // server id; empty when nobody is known to lead
	Term uint64
	For  time.Duration // since it has led, as far as this node knows
}

// cards are what the members tell each other about themselves for others than the store, which does not read it: at which
// addresses they serve. They go along with the answer to "who", each with those of all others, so that a node which starts
// learns of those that do not run.
type cards struct {
	mu     sync.Mutex
	own    string
	texts  map[string]string // by server id
	heard  map[string]time.Time
	leader raft.ServerID
	term   uint64
	since  time.Time // when that leadership began, as far as is known here
}

func newCards() *cards { return &cards{texts: map[string]string{}, heard: map[string]time.Time{}} }

// SetCard says what the other members shall be told.
func (s *Store) SetCard(text string) {
	s.member.cards.mu.Lock()
	defer s.member.cards.mu.Unlock()
	s.member.cards.own = text
}

// ID is the server id of this node.
func (s *Store) ID() string { return s.id.serverID() }

// Peers returns the members, in the order of their ids.
func (s *Store) Peers() []Peer {
	servers, self := s.servers(), s.id.serverID()
	s.member.cards.mu.Lock()
	defer s.member.cards.mu.Unlock()
	var peers []Peer
	for _, server := range servers {
		p := Peer{ID: string(server.ID), Card: s.member.cards.texts[string(server.ID)], Silent: time.Hour}
		if at, ok := s.member.cards.heard[p.ID]; ok {
			p.Silent = time.Since(at)
		}
		if p.ID == self {
			p.Card, p.Silent = s.member.cards.own, 0
		}
		peers = append(peers, p)
	}
	slices.SortFunc(peers, func(a, b Peer) int { return cmp.Compare(a.ID, b.ID) })
	return peers
}

// Leadership returns who leads, and since when. A follower knows nobody any more when it has heard nothing for an election
// timeout.
func (s *Store) Leadership() Leadership {
	_, id := s.raft.LeaderWithID()
	l := Leadership{ID: string(id), Term: s.raft.CurrentTerm()}
	switch {
	case s.port == nil:
		l.For = math.MaxInt64 // there is nobody else
	case id != "":
		l.For = s.member.cards.ledFor(id, l.Term)
	}
	return l
}

// ledFor is for how long this node has known that leadership, which it may have been told of.
func (c *cards) ledFor(id raft.ServerID, term uint64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leader != id || c.term != term {
		c.leader, c.term, c.since = id, term, time.Now()
	}
	return time.Since(c.since)
}

// told takes what another member says of itself and of the others.
func (c *cards) told(i introduction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, text := range i.Cards {
		if c.texts[id] == "" {
			c.texts[id] = text
		}
	}
	c.texts[i.ID], c.heard[i.ID] = i.Cards[i.ID], time.Now()
	began := time.Now().Add(-time.Duration(i.Led) * time.Millisecond)
	if i.Led > 0 && string(c.leader) == i.ID && c.term == i.Term && began.Before(c.since) {
		c.since = began
	}
}

// all are the cards that this node knows, with its own.
func (c *cards) all(self string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := maps.Clone(c.texts)
	known[self] = c.own
	return known
}

// ledMs is for how many ms this node has led, 0 when it does not.
func (s *Store) ledMs() int64 {
	if lead := s.lead.Load(); lead != nil && s.raft.State() == raft.Leader {
		return time.Since(lead.start).Milliseconds()
	}
	return 0
}

// exchange asks the other members for their cards until the store closes.
func (s *Store) exchange() {
	for s.pause(cardsEvery) {
		var asked sync.WaitGroup
		for _, server := range s.servers() {
			if string(server.ID) == s.id.serverID() {
				continue
			}
			asked.Go(func() {
				if i, err := s.introduction(s.member.ctx, server); err == nil {
					s.member.cards.told(i)
				}
			})
		}
		asked.Wait()
	}
}
