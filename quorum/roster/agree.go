package roster

import (
	"cmp"
	"slices"
	"time"
)

// Peer is a proxy that uses the same nodes.
type Peer struct {
	ID     string
	Card   string        // what it tells about itself
	Silent time.Duration // since a node has heard of it
}

// answer is what one node knows.
type answer struct {
	leader string // empty when nobody has the lease there
	peers  []Peer
}

// majority is who has the lease on a majority of n nodes; empty when nobody has.
func majority(answers []answer, n int) string {
	for id, times := range leases(answers) {
		if times > n/2 {
			return id
		}
	}
	return ""
}

// leases counts the nodes on which each has the lease.
func leases(answers []answer) map[string]int {
	count := map[string]int{}
	for _, a := range answers {
		if a.leader != "" {
			count[a.leader]++
		}
	}
	return count
}

// What a proxy wants with the lease.
const (
	look  = "look"
	take  = "take"
	leave = "leave"
)

// wish is what the proxy of an id does in the next look, after the answers of n nodes. Where several have the lease on some
// nodes and none on a majority, one of them goes on, the same in the eyes of all, and the others let go.
func wish(id string, answers []answer, n int) string {
	if len(answers) <= n/2 {
		return look
	}
	held := leases(answers)
	if lead := majority(answers, n); lead != "" && lead != id {
		if held[id] > 0 {
			return leave
		}
		return look
	}
	for other, times := range held {
		if other != id && (times > held[id] || times == held[id] && other < id) {
			return leave
		}
	}
	return take
}

// merge is what the nodes know together: of each proxy the latest news.
func merge(answers []answer) []Peer {
	latest := map[string]Peer{}
	for _, a := range answers {
		for _, p := range a.peers {
			if known, ok := latest[p.ID]; !ok || p.Silent < known.Silent {
				latest[p.ID] = p
			}
		}
	}
	var peers []Peer
	for _, p := range latest {
		peers = append(peers, p)
	}
	slices.SortFunc(peers, func(a, b Peer) int { return cmp.Compare(a.ID, b.ID) })
	return peers
}
