// Package runner is what quorum mode executes on a node: the operations, their Lua text, how they are put into
// EVALSHA and how the node's reply is read. It does no IO.
//
// Each operation is one script call, so a node executes it as one. Beside every key that was ever written, a node
// keeps a companion, which holds the key's version and its fencing tokens and outlives the key.
package runner

import (
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/tally"
)

// Names of Redfence's own keys on the nodes. They appear in no KEYS, SCAN or DBSIZE, and clients cannot use them.
const (
	Reserved  = "__redfence__"  // prefix of all of them
	CanaryKey = "__redfence__"  // in each database: proves that the node has not forgotten (see Canary)
	Companion = "__redfence__:" // prefix of the companion of a key
)

// outliving is how long a companion outlives its key, so that versions and tokens go on growing.
const outliving = 24 * time.Hour

// Op is an operation on one database of one node: Run, Undo, Copy, Accept, Fetch, Scan, Admit, Raise or Check.
type Op interface{ op() }

// Run executes a request, or a block of requests as one (MULTI), and reports what was written. It answers a
// tally.Answer.
type Run struct {
	ID       string // of the request, unique among all proxies and attempts
	Requests []*commands.Request
	Block    bool
	Watched  []commands.Watch // nothing runs when one of them has changed
	Text     *Text            // of the script, when the one request is EVAL or one of its kin; see NewText
	Texts    []*Text          // of the scripts in a block, by the position of the request, nil for others
	Given    []*resp.Value    // replies in a block that are known already, by the position of the request, nil for others
	Wall     int64            // the proxy's wall clock in µs: what TIME answers, and the floor of tokens
	NoTokens bool             // the proxy's clock cannot be trusted: what would give a token fails with resp.ErrCannotIssue
	TTLs     []tally.Reading  // what PTTL and TTL answer, when the node's own value is within 200 ms of it
	Seen     bool             // report the keys named, also when nothing is written
	Memory   time.Duration    // for how long FENCE.CHECK remembers; 0 is commands.FenceMemory

	built built // what goes to every node alike, made by the first who asks
}

// Undo puts back what a request wrote on this node, for each key whose version is still After, the one that the write
// gave it: the value, its end, the version Before and the token of the instance before. Only the mark stays. It
// answers an Undone for each, in order.
type Undo struct{ Writes []tally.Write }

// State is a key with all that makes a copy of it.
type State struct {
	Key     string
	Version tally.Version
	Mark    fencing.Token // the largest token ever given for the key
	Token   fencing.Token // of the present instance
	Exists  bool
	Type    string   // as TYPE says: string, hash, list, set, zset
	Content []string // the value; fields and values; elements; members; members and scores
	TTL     int64    // ms left, or tally.Forever

	// Since is the moment on the engine's clock from which TTL counts, in a Copy: the key ends on the node no later
	// than TTL after it, whenever the copy arrives.
	Since time.Duration
}

// Target is what differs between the nodes that get an operation, and is known only when it is written.
type Target struct {
	Canary   string        // that the database must have; empty: do not look
	Deadline int64         // in ms of the node's clock; not executed after it; 0: none
	Now      time.Duration // the engine's clock
	Clock    int64         // the node's clock at Now, in ms, not more than it can be
}

// Copy gives a key the state of another node, if the conditions hold there. The node's mark only rises.
// It answers a Copied for each key, in order.
type Copy struct {
	Keys []Conditional
}

// Conditional is a state, and when it may be written.
type Conditional struct {
	State
	// Expect is the version that the node must still have. When it is nil the node's version must be lower than
	// State.Version instead, or be the same of a key that has gone: its end came too early, or a client that talks to
	// the nodes directly set it.
	Expect *tally.Version
	// Instance, when not 0, is the token of the hold that must still be present: a release is carried on only to it.
	Instance fencing.Token
	// Absent says that a present key must not be overwritten.
	Absent bool
	// Again says that a key of the same version is to end when the source's does, or to go if that has gone: the end that
	// the node has is from before a step of its clock. What others have set there directly stays.
	Again bool
	// At is the version at which the content must be fetched, when that is not State.Version. Nodes do not see it.
	At tally.Version
}

// Fetched is the version that a node must have for its content to be that of the state.
func (c *Conditional) Fetched() tally.Version {
	if c.At != (tally.Version{}) {
		return c.At
	}
	return c.Version
}

// Accept gives the present instance of a key, which a request made, a token that other nodes gave. The node refuses
// when its mark is as high already. It answers an Accepted.
type Accept struct {
	Key     string
	Version tally.Version // of the key, that must still be present
	Token   fencing.Token
}

// Fetch reads keys with all that makes a copy of them. It answers a []State, in order.
type Fetch struct{ Keys []string }

// Scan reads a part of all keys and companions of the database, as SCAN does
// (https://redis.io/docs/latest/commands/scan/). It answers a Scanned.
type Scan struct {
	Cursor string // "0" at first
	Count  int
}

// Admit sets the canary of the database, unless it has changed from Expect meanwhile. It answers an Admitted.
type Admit struct {
	Expect string // the canary now, "" when there is none
	Canary string
}

// Remembered is what FENCE.CHECK remembers of a resource: the largest token that it has seen.
type Remembered struct {
	Resource string
	Token    fencing.Token
	TTL      int64 // ms for which it is still remembered
}

// Raise makes the node remember what other nodes have seen. Tokens only rise, and nothing is forgotten earlier. Its outcome
// says no more than that it was done.
type Raise struct{ Resources []Remembered }

// Check compiles the text of a client's script without running it, for it may become part of a program only when it is
// good on its own. It answers a tally.Answer: OK, or the compile error as SCRIPT LOAD gives it.
type Check struct{ Text string }

// Undone says what became of a key: put back, or left because somebody else wrote it since.
type Undone struct {
	Put     bool
	Version tally.Version // of the key now
	Exists  bool          // the key is present now
}

// Copied says what became of a copy.
type Copied struct {
	Done    bool
	Gone    bool          // not done, because Instance was not there
	Version tally.Version // of the key now
}

// Accepted is the answer to Accept.
type Accepted struct {
	Held bool          // the instance has the token now
	Mark fencing.Token // the node's mark now
}

// Scanned is a part of a database.
type Scanned struct {
	Next      string // "0" at the end
	Keys      []State
	Resources []Remembered
}

// Admitted is the answer to Admit.
type Admitted struct {
	Done   bool
	Canary string // now
}

func (*Run) op()    {}
func (*Undo) op()   {}
func (*Copy) op()   {}
func (*Accept) op() {}
func (*Fetch) op()  {}
func (*Scan) op()   {}
func (*Admit) op()  {}
func (*Raise) op()  {}
func (*Check) op()  {}
