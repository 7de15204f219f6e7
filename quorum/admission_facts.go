package quorum

import (
	"time"

	"github.com/redfence/redfence/quorum/tally"
)

// Member is a Node as its admission sees it. All methods are safe for concurrent use.
type Member interface {
	Node
	// Facts are what the latest look at the node found.
	Facts() Facts
	// Look asks for a look soon, rather than at the next poll.
	Look()
	// Watch has f called after every look. Only one f is kept.
	Watch(f func())
	// Claim says which servers this proxy counts, for other proxies to find in their looks.
	Claim(text string)
	// Judge says what the node's votes are worth from now on. A suspicion that came up after the look that the verdict
	// is based on outlives it.
	Judge(v Verdict)
}

// Facts are what a look at a node found.
type Facts struct {
	Look   int           // how many looks there were; 0: none yet, and nothing else is known
	Reason tally.Reason  // not empty: the node could not be asked; what follows is what it said last
	Began  time.Duration // the engine's clock when the look began

	RunID     string // of the server process (https://redis.io/docs/latest/commands/info/)
	Version   string
	Role      string // master or slave
	Policy    string // maxmemory-policy
	MaxMemory int64  // bytes, 0 when unlimited
	Always    bool   // appendonly with appendfsync always: a restart forgets nothing

	Canaries []string // of each database, "" where there is none
	Others   []string // what other proxies said by Claim in the last seconds
	Keys     int64    // without canaries
	Immortal int64    // of these, how many have no TTL

	Latency time.Duration // of a small command
	Offset  time.Duration // the node's wall clock less the engine's clock
	Steps   int           // how often the node's clock was seen to step
	Step    time.Duration // the last of them
}

// Verdict is what a node's votes are worth.
type Verdict struct {
	Standing Standing // Quarantined, Counted or Refused
	Reason   tally.Reason
	Look     int    // of the Facts that it is based on
	RunID    string // votes of another server process at this address do not count
	Steps    int    // nor do votes after a further step of the clock
	Canary   string // nor those that do not find this canary
}
