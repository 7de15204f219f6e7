// Package tally holds the arithmetic of quorum mode: what one node answered, when a majority agrees, what its answer
// is, and what must be put back or carried over after that. It does no IO and reads no clock.
package tally

import (
	"crypto/sha1" //nolint:gosec // see Version.Next
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
)

// Version names the write that made the present state of a key on one node: its number, which each write raises by
// one, and the id of its request, which is unique among all proxies. The zero Version is that of a key of which the
// node knows nothing. Two nodes with equal versions hold equal states.
type Version struct {
	Number  uint64
	Request string
}

// Next is the version that a write of the request id makes of v. It depends on all of v, and so on all writes before:
// were it only the number and the id, two nodes that one request found in different versions of equal number would be
// taken for equal after it.
func (v Version) Next(id string) Version {
	if v.Request == "" {
		return Version{v.Number + 1, id}
	}
	sum := sha1.Sum([]byte(v.Request)) //nolint:gosec // tells histories apart, safeguards nothing; nodes have no other hash
	return Version{v.Number + 1, id + "~" + hex.EncodeToString(sum[:])[:chained]}
}

// Follows tells whether v is what some write made of w.
func (v Version) Follows(w Version) bool {
	id, _, _ := strings.Cut(v.Request, "~")
	return v == w.Next(id)
}

// chained is how many digits of the hash of an id stand in the next one.
const chained = 10

// Before tells whether v is lower than w: its number is, for ids have no order.
func (v Version) Before(w Version) bool { return v.Number < w.Number }

// Forever is the TTL of a key that has none, in the place of milliseconds (https://redis.io/docs/latest/commands/pttl/).
const Forever int64 = -1

// Write is what a request did to one key on one node.
type Write struct {
	Key           string
	Before, After Version // of the key, before and after the request
	Existed       bool    // the key was present before
	Exists        bool    // it is present after
	State         string  // names the content after, without TTL: equal contents have equal names; "" when absent
	TTL           int64   // after the request, in ms; Forever when there is none; meaningless when absent

	// Token is the fencing token of the instance that is present after, 0 when there is none. Fresh says that this
	// request gave it: the key came into being, or SET overwrote it with another value.
	Token fencing.Token
	Fresh bool

	Ended   bool // the request ended or shortened a hold: the key, a field or a count of it went
	Renewal bool // nothing but the TTL changed, and not to less
	// Unchanged says that it is a renewal to the very instant at which the key ended anyway.
	Unchanged bool
	// Shortened says that nothing but the TTL changed, to less. The hold goes on, so it is repeated like a renewal, not
	// carried on like what ended one: the node that lacks it is not without it as it should be.
	Shortened bool

	// The state before, for an undo on the same node: the value as package runner packs it, and when it ends, in ms of
	// the node's own clock, or Forever. The lean forms leave out the value of what they end, which is never undone.
	Image    string
	ImageEnd int64
	OldToken fencing.Token // of the instance before, 0 when there was none
}

// Seen is a key that a request named, as a node knew it then.
type Seen struct {
	Key     string
	Version Version
	Exists  bool
}

// Reading is a TTL that a script read, in ms. It differs between nodes by what a message takes, so a script that
// computes with it is run again with a reading that all nodes share.
type Reading struct {
	DB  int
	Key string
	TTL int64
}

// Reason is why a node did not answer, in words for the client's error, such as "connection refused". It is empty
// when the node did answer.
type Reason string

// Answer is what one node answered to a request.
type Answer struct {
	Reason Reason // not empty: there is no answer, and only Ran means something
	Ran    bool   // without an answer: the node may have executed the request, or may still do so

	Reply   resp.Value
	IsTTL   bool    // Reply is what PTTL or TTL answered
	IsToken bool    // Reply is the token of the first of Writes, which may still change
	Checks  bool    // FENCE.CHECK was asked, so it matters what the node remembers
	Writes  []Write // in the order of their first write; empty when nothing was written
	Seen    []Seen  // keys named by the request, when that was asked for
	TTLs    []Reading

	Messages []commands.Message // what PUBLISH would have sent
	Ready    []string           // lists and sorted sets that grew: blocked commands look at them again

	// Quarantined says that the node may have forgotten something when it answered: its "absent" does not count.
	Quarantined bool
	Time        time.Duration // the node's clock when it executed, since the Unix epoch; 0 when unknown
}

// Answered tells whether there is an answer.
func (a *Answer) Answered() bool { return a.Reason == "" }

// Wrote tells whether the request changed something on the node.
func (a *Answer) Wrote() bool { return len(a.Writes) > 0 }

// wroteTo tells whether the request changed a key on the node.
func (a *Answer) wroteTo(key string) bool {
	return slices.ContainsFunc(a.Writes, func(w Write) bool { return w.Key == key })
}
