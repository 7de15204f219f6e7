package harness

import "testing"

// Quorum is a redfence process in quorum mode, with the redis-servers that it takes its locks on. Its own methods are
// those of the process.
type Quorum struct {
	*Server
	Nodes []*Server
}

// StartQuorum runs n redis-servers and a redfence process over them, and returns when that is ready.
func StartQuorum(t testing.TB, n int, args ...string) *Quorum {
	t.Helper()
	nodes := make([]*Server, n)
	for i := range nodes {
		nodes[i] = StartRedis(t)
	}
	return StartProxy(t, nodes, args...)
}

// nodeTimeout is how long a vote waits for a node in tests that are about something else: so long that a busy machine
// makes no difference.
const nodeTimeout = "2s"

// StartProxy runs one more redfence process over nodes that are there.
func StartProxy(t testing.TB, nodes []*Server, args ...string) *Quorum {
	t.Helper()
	flags := []string{"--node-timeout", nodeTimeout}
	for _, node := range nodes {
		flags = append(flags, "--node", "redis://"+node.Addr)
	}
	return &Quorum{Server: StartRedfence(t, append(flags, args...)...), Nodes: nodes}
}
