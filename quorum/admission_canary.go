package quorum

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// canary is the key in each database of a node that proves that the node has not forgotten, and says to which cluster
// it belongs. Every operation on a counted node checks it, so that a FLUSHALL voids the very next vote. The facts of an
// admission live there, on the node, so all proxies agree on them.
type canary struct {
	Cluster string // random, the same on all nodes
	Nodes   int    // how many nodes the cluster has
	RunID   string // of the server process that was admitted
	At      int64  // the node's wall clock when it was admitted, ms since the Unix epoch
	MaxTTL  int64  // ms; not 0: admitted by waiting so long, so longer TTLs must not be given
	Attempt string // not empty: the node is quarantined, and this attempt to admit it has begun last
}

// canaryForm is the first word of a canary, and its version.
const canaryForm = "redfence1"

// errCanary is returned for a text that no canary of this version has.
var errCanary = errors.New("not a canary")

func (c canary) String() string {
	return fmt.Sprintf("%s %s %d %s %d %d %s", canaryForm, c.Cluster, c.Nodes, dash(c.RunID), c.At, c.MaxTTL, dash(c.Attempt))
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func parseCanary(text string) (canary, error) {
	f := strings.Split(text, " ")
	if len(f) != 7 || f[0] != canaryForm {
		return canary{}, errCanary
	}
	nodes, errNodes := strconv.Atoi(f[2])
	at, errAt := strconv.ParseInt(f[4], 10, 64)
	limit, errLimit := strconv.ParseInt(f[5], 10, 64)
	if errors.Join(errNodes, errAt, errLimit) != nil {
		return canary{}, errCanary
	}
	c := canary{Cluster: f[1], Nodes: nodes, RunID: f[3], At: at, MaxTTL: limit, Attempt: f[6]}
	c.RunID, c.Attempt = strings.TrimPrefix(c.RunID, "-"), strings.TrimPrefix(c.Attempt, "-")
	return c, nil
}
