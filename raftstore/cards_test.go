package raftstore

import (
	"maps"
	"math"
	"testing"
	"time"
)

// cardsOf are the cards that a store knows, by the names of the members.
func cardsOf(s *Store) map[string]string {
	known := map[string]string{}
	for _, p := range s.Peers() {
		known[p.ID[:1]] = p.Card
	}
	return known
}

func TestMembersKnowEachOthersCards(t *testing.T) {
	c := startNodes(t)
	want := map[string]string{"a": "card a", "b": "card b", "c": "card c"}
	c.stores[0].SetCard("card a")
	c.stores[1].SetCard("card b")
	c.stores[2].SetCard("card c")
	for _, s := range c.stores {
		eventually(t, "all cards", func() bool { return maps.Equal(cardsOf(s), want) })
	}

	// Who starts later learns of those that do not run, and for how long the leader has led.
	lead := c.index(c.leader())
	gone, again := (lead+1)%3, (lead+2)%3
	c.stop(gone)
	eventually(t, "a while of leadership", func() bool { return c.stores[lead].Leadership().For > time.Second })
	c.stop(again)
	c.start(again)
	s := c.stores[again]
	want[string(rune('a'+again))] = ""
	eventually(t, "cards of members that do not run", func() bool { return maps.Equal(cardsOf(s), want) })
	eventually(t, "how long the leader has led", func() bool { // another one than before, if the start took long
		its := c.leader().Leadership()
		l := s.Leadership()
		return l.ID == its.ID && its.For > time.Second && l.For > its.For-time.Second/2
	})
	for _, p := range s.Peers() {
		if p.ID[:1] == string(rune('a'+gone)) && p.Silent < time.Minute {
			t.Errorf("%s has been silent for %v", p.ID, p.Silent)
		}
	}
}

func TestLeadershipOfOneNode(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	s.SetCard("mine")
	l := s.Leadership()
	if l.ID != s.ID() || l.For != math.MaxInt64 {
		t.Errorf("%+v", l)
	}
	if peers := s.Peers(); len(peers) != 1 || peers[0] != (Peer{ID: s.ID(), Card: "mine"}) {
		t.Errorf("%+v", peers)
	}
}
