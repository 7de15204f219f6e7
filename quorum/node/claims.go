package node

import (
	"context"
	_ "embed"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/quorum/runner"
)

//go:embed claims.lua
var claimsScript string

const claimsKey = runner.Reserved + "claims"

// How long claims of other proxies are believed, and kept. A proxy repeats its own with each look.
const (
	believed   = 3 * time.Second
	remembered = time.Minute
)

// Claim implements quorum.Member.
func (n *Node) Claim(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.claims = text
}

// exchangeClaims is the command that leaves what this proxy counts on the node, and reads what others do.
func (n *Node) exchangeClaims() *redis.StringSliceCmd {
	n.mu.Lock()
	defer n.mu.Unlock()
	return redis.NewStringSliceCmd(context.Background(), "eval", claimsScript, 2, runner.CanaryKey, claimsKey,
		n.o.Proxy, n.claims, believed.Milliseconds(), remembered.Milliseconds())
}
