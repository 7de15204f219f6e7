package harness

import (
	"slices"
	"strings"
	"testing"
)

// Network is what the members of a cluster reach each other by: a relay in front of the cluster port of each. It can stop
// what flows from one member to another, in that direction only.
type Network struct{ relays []*Relay }

// StartApartCluster is StartCluster with a Network between the members.
func StartApartCluster(t testing.TB, n int, args ...string) (*Cluster, *Network) {
	t.Helper()
	c, network := NewApartCluster(t, n, Options{Args: args})
	c.Start()
	return c, network
}

// NewApartCluster prepares a cluster with a Network between its members, and starts none. Of o, Args, Env and Tags count.
func NewApartCluster(t testing.TB, n int, o Options) (*Cluster, *Network) {
	t.Helper()
	ports, network := freePorts(t, n), &Network{}
	var known []string
	for _, port := range ports {
		r := startRelay(t, port, greeted)
		network.relays, known = append(network.relays, r), append(known, r.Addr)
	}
	return newCluster(t, ports, known, o), network
}

// greeted names the member that opens a connection, by the greeting of the cluster port: kind, version, and three words,
// each behind its length, the second of which is the server id, a name and an incarnation.
func greeted(first []byte) string {
	rest, word := first[min(2, len(first)):], ""
	for range 2 {
		if len(rest) == 0 || len(rest) <= int(rest[0]) {
			return ""
		}
		word, rest = string(rest[1:1+int(rest[0])]), rest[1+int(rest[0]):]
	}
	name, _, _ := strings.Cut(word, "-")
	return name
}

// Cut stops what flows from one member to another, whichever of them has opened the connection, until Heal. It is kept, as
// a network that comes back delivers what is sent again.
func (n *Network) Cut(from, to int) {
	n.relays[to].HoldApart(memberName(from), ToServer)
	n.relays[from].HoldApart(memberName(to), ToClient)
}

// CutAnswers stops what a member answers on connections that another has opened, until Heal; what it sends on its own does
// arrive.
func (n *Network) CutAnswers(from, to int) { n.relays[from].HoldApart(memberName(to), ToClient) }

// Isolate cuts members off from all others, both ways.
func (n *Network) Isolate(members ...int) {
	for other := range n.relays {
		if slices.Contains(members, other) {
			continue
		}
		for _, m := range members {
			n.Cut(m, other)
			n.Cut(other, m)
		}
	}
}

// Break ends all connections between members, and what is on its way is lost. New ones can be opened.
func (n *Network) Break() {
	for _, r := range n.relays {
		r.Cut()
	}
}

// Heal ends all cuts.
func (n *Network) Heal() {
	for _, r := range n.relays {
		r.ReleaseApart()
	}
}
