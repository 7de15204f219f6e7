package quorum

import (
	"time"

	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// Node is one upstream server as the engine sees it. Its methods are safe for concurrent use and never block.
type Node interface {
	// Name is the node's address for people, without credentials.
	Name() string
	// Send puts an operation at the end of the ordered stream of its database. Operations of one database take place
	// in the order of Send, except those that go ahead. Done is called exactly once, from any goroutine, also when the
	// node is down, and perhaps before Send returns.
	Send(s Sending)
	// Standing is what the node's answers are worth now, and why.
	Standing() (Standing, tally.Reason)
}

// Sending is an operation on its way to one node.
type Sending struct {
	DB int
	Op runner.Op
	// Deadline is the moment, on the engine's clock, after which the node must not execute it any more.
	Deadline time.Duration
	// Ahead puts it in front of what waits in the stream: undo, convergence.
	Ahead bool
	// More says that another operation follows at once, with which this one may be written.
	More bool
	// Withdrawn is asked just before the operation is written to the socket; true keeps it from being sent.
	Withdrawn func() bool
	Done      func(Outcome)
}

// Outcome is what became of an operation. Of the results that the node has for the kind of operation, one is set.
type Outcome struct {
	Reason tally.Reason // not empty: no answer, for this reason
	Ran    bool         // without an answer: the node may have executed it, or may still do so

	Answer   *tally.Answer // Run, Check
	Undone   []runner.Undone
	Copied   []runner.Copied
	Accepted runner.Accepted
	States   []runner.State
	Scanned  runner.Scanned
	Admitted runner.Admitted
}

// Standing says what a node's answers are worth.
type Standing uint8

// The standings.
const (
	Down        Standing = iota // no connection
	Quarantined                 // it may have forgotten: it gets everything, and its "absent" does not count
	Counted                     // a full vote
	Refused                     // not a node for this quorum: a replica, of another cluster, listed twice
)
