package roster

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/redfence/redfence/integration/harness"
)

const limit = 30 * time.Second

// startNodes runs three servers that are set up, as far as the roster looks.
func startNodes(t *testing.T) (nodes []*harness.Server, options []redis.Options) {
	t.Helper()
	for range 3 {
		n := harness.StartRedis(t)
		harness.Dial(t, n.Addr).Want("OK", "SET", canaryKey, "x")
		nodes, options = append(nodes, n), append(options, redis.Options{Addr: n.Addr})
	}
	return nodes, options
}

func open(t *testing.T, id string, nodes []redis.Options) *Roster {
	t.Helper()
	r := Open(Config{Nodes: nodes, ID: id, Logger: slog.New(slog.DiscardHandler)})
	r.SetCard("card of " + id)
	t.Cleanup(r.Close)
	return r
}

// leads waits until all name the same one, and returns it.
func leads(t *testing.T, all ...*Roster) (id string) {
	t.Helper()
	harness.Eventually(t, limit, func() bool {
		id, _ = all[0].Leader()
		for _, r := range all {
			if other, _ := r.Leader(); other != id {
				return false
			}
		}
		return id != ""
	})
	return id
}

func TestProxiesFindEachOther(t *testing.T) {
	nodes, options := startNodes(t)
	a, b := open(t, "a", options), open(t, "b", options)
	first := leads(t, a, b)
	harness.Eventually(t, limit, func() bool { return len(a.Peers()) == 2 && len(b.Peers()) == 2 })
	assert.Equal(t, "card of b", a.Peers()[1].Card)

	// A node that forgot everything is not told of proxies before it is set up again, and makes no difference.
	c := harness.Dial(t, nodes[0].Addr)
	c.Want("OK", "FLUSHALL")
	assert.Equal(t, first, leads(t, a, b))
	assert.Zero(t, c.Int("DBSIZE"))

	// The one that leads leaves, and another one leads at once; what has left is not on the list.
	here, other := a, b
	if first == "b" {
		here, other = b, a
	}
	here.Leave()
	harness.Eventually(t, limit, func() bool { id, _ := other.Leader(); return id == other.cfg.ID })
	harness.Eventually(t, limit, func() bool { return len(other.Peers()) == 1 })
}

func TestALeaderThatIsGoneIsReplaced(t *testing.T) {
	_, options := startNodes(t)
	a, b := open(t, "a", options), open(t, "b", options)
	gone, other := a, b
	if leads(t, a, b) == "b" {
		gone, other = b, a
	}
	gone.Close()
	harness.Eventually(t, limit, func() bool { id, _ := other.Leader(); return id == other.cfg.ID })
	assert.Len(t, other.Peers(), 2, "it may come back")
}

func TestWithoutAMajorityNobodyLeads(t *testing.T) {
	nodes, options := startNodes(t)
	a := open(t, "a", options)
	leads(t, a)
	nodes[0].Kill()
	nodes[1].Kill()
	harness.Eventually(t, limit, func() bool { id, _ := a.Leader(); return id == "" })
	assert.Len(t, a.Peers(), 1)
}
