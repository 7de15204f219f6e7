package quorum

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/tally"
)

// hold is a grant as its holder sees it: from the reply until the holder lets go, or its time is over.
type hold struct {
	key, owner string
	shared     bool
	until      time.Duration // by the holder's clock; 0: without end
	token      fencing.Token
	leaving    bool // the holder has asked for its release
	unclear    bool // and does not know what became of it
	released   bool // and has been told that it is
}

func (h *hold) valid(now time.Duration) bool { return !h.leaving && (h.until == 0 || now < h.until) }

func (h *hold) String() string { return fmt.Sprintf("%s by %s until %v", h.key, h.owner, h.until) }

// granted enters a hold and checks it against those that are valid now.
func (b *book) granted(h *hold) {
	now := b.w.now
	valid := slices.DeleteFunc(slices.Clone(b.holds[h.key]), func(o *hold) bool { return !o.valid(now) })
	permits := 1
	if strings.HasPrefix(h.key, "sem") {
		permits = simPermits
	} else if h.shared {
		valid = slices.DeleteFunc(valid, func(o *hold) bool { return o.shared })
	}
	if h.valid(now) && len(valid) >= permits {
		if strings.HasPrefix(h.key, "sem") && b.w.forgotten {
			b.oversold = true // see book
			b.w.logf("OVERSOLD %v while %v holds", h, valid)
		} else {
			b.w.fail("%v is granted while %v holds", h, valid)
		}
	}
	if h.token != 0 && h.token <= b.tokens[h.key] {
		b.w.fail("%v has token %d, not above %d", h, h.token, b.tokens[h.key])
	}
	b.tokens[h.key] = max(b.tokens[h.key], h.token)
	b.holds[h.key] = append(b.holds[h.key], h)
	b.w.logf("GRANTED %v token %d", h, h.token)
}

// settled checks the nodes when all clients have let go and nothing is under way any more: in a schedule without
// faults nothing is left of what was released, lost or put back, and no permit is missing.
func (b *book) settled() {
	for _, n := range b.w.nodes {
		for _, key := range n.known() {
			e := n.entry(key)
			if e.value == nil {
				continue
			}
			if !strings.HasPrefix(key, "sem") {
				b.traces(n, key, e)
			}
		}
	}
	for _, key := range b.w.semaphores {
		b.permits(key)
	}
}

// traces looks for holders of a key that hold it no more.
func (b *book) traces(n *simNode, key string, e *simEntry) {
	owners := e.value.items[:1]
	if e.value.kind == "hash" {
		owners = nil
		for i := 0; i < len(e.value.items); i += 2 {
			owners = append(owners, e.value.items[i])
		}
	}
	for _, owner := range owners {
		is := func(h *hold) bool { return h.owner == owner && !h.released }
		switch {
		case slices.ContainsFunc(b.holds[key], is) || b.doubtful[owner]:
		case e.value.kind == "hash" && b.holders(key, owner) < b.w.majority():
			// Others have built on what a lost request wrote to a minority, so it could not be put back.
		default:
			b.w.fail("%s still has %s of %s, who holds it no more", n.name, key, owner)
		}
	}
}

// permits checks that no majority says that more or fewer permits of a semaphore are free than are. Calls whose outcome
// is unknown leave some room. It notes when no majority agrees: several proxies at one counter can come to that, and then
// it answers TRYAGAIN from then on.
func (b *book) permits(key string) {
	least, most := simPermits, simPermits
	for _, h := range b.holds[key] {
		if !h.released {
			least--
		}
		if !h.released && !h.unclear {
			most--
		}
	}
	least -= b.unknown[key]
	have := map[tally.Version]int{}
	for _, n := range b.w.nodes {
		have[n.entry(key).version]++
	}
	b.stuck = true
	for _, n := range b.w.nodes {
		e := n.entry(key)
		free, _ := strconv.Atoi(e.value.items[0])
		nodes := have[e.version]
		if nodes < b.w.majority() {
			continue
		}
		b.stuck = false
		if free < least || free > most {
			b.w.fail("%s: %d nodes say that %d permits are free, want %d to %d", key, nodes, free, least, most)
		}
	}
}

// compare notes whether the nodes have the same version of each key that is present on one of them.
func (b *book) compare() {
	present := map[string]bool{}
	for _, n := range b.w.nodes {
		for _, key := range n.known() {
			present[key] = present[key] || n.entry(key).value != nil
		}
	}
	for key, is := range present {
		if !is {
			continue
		}
		nodes, most := map[tally.Version]int{}, 0
		for _, n := range b.w.nodes {
			v := n.entry(key).version
			nodes[v]++
			most = max(most, nodes[v])
		}
		b.apart = b.apart || most < b.w.majority()
		b.lame = b.lame || most < len(b.w.nodes)
	}
}
