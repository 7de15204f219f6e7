package resp

import (
	"fmt"
	"strings"
)

// The errors of quorum mode.
const (
	ErrTryAgainVote Failure = "TRYAGAIN no majority of the nodes agreed, others were at the same keys; nothing was executed"
	// ErrTryAgainRenewal is for renewals, of which some nodes may have made one: what they did is not put back.
	ErrTryAgainRenewal Failure = "TRYAGAIN no majority of the nodes agreed, others were at the same keys; nothing was executed but that a TTL may be longer now"
	ErrTryAgainRead    Failure = "TRYAGAIN the nodes do not agree on the answer yet; nothing was executed"
	ErrTryAgainToken   Failure = "TRYAGAIN no majority of the nodes agreed on a fencing token; nothing was executed"
	ErrTryAgainTTL     Failure = "TRYAGAIN the TTL was over, or nearly, before a majority had answered; nothing was executed"
	ErrTryAgainFull    Failure = "TRYAGAIN too many requests wait for the nodes; nothing was executed"
	ErrUnknownVote     Failure = "ERR UNKNOWN outcome: the request was sent to the nodes and their answers were lost; it may have been executed"
	ErrRedfenceKeys    Failure = "ERR redfence: keys that begin with __redfence__ belong to Redfence and cannot be used"
)

// QuorumLost is the error when too few nodes answered. Reasons are those of the others, each beginning with the name
// of the node.
func QuorumLost(answered, nodes int, reasons []string) Failure {
	return Failure(fmt.Sprintf("CLUSTERDOWN quorum lost: %d of %d nodes answered (%s); nothing was executed",
		answered, nodes, strings.Join(reasons, ", ")))
}

// CheckLost is QuorumLost for FENCE.CHECK, once a node may have remembered the token: that is not put back.
func CheckLost(answered, nodes int, reasons []string) Failure {
	return QuorumLost(answered, nodes, reasons) + " but that the token may be remembered: send it again"
}

// RenewalLost is QuorumLost for a renewal, which some nodes may have made: that is not put back.
func RenewalLost(answered, nodes int, reasons []string) Failure {
	return QuorumLost(answered, nodes, reasons) + " but that a TTL may be longer now"
}

// UnknownVote is the error of a request that nodes may have executed whose answers were lost. Reasons are those of the
// nodes that did not answer, each beginning with the name of the node.
func UnknownVote(reasons []string) Failure {
	if len(reasons) == 0 {
		return ErrUnknownVote
	}
	return ErrUnknownVote + Failure(" ("+strings.Join(reasons, ", ")+")")
}

// IsUnknownVote tells whether a reply is that error.
func IsUnknownVote(v Value) bool {
	return v.Kind == Error && strings.HasPrefix(v.Str, string(ErrUnknownVote))
}

// NotInQuorum is the error for what quorum mode cannot serve; name is lower case.
func NotInQuorum(name, why string) Failure {
	return Failure("ERR redfence: " + name + " is not served in quorum mode: " + why)
}

// TTLTooLong is the error while nodes that forgot count again only because no lock may be longer than most.
func TTLTooLong(most fmt.Stringer) Failure {
	return Failure("ERR redfence: the TTL is longer than " + most.String() +
		" (--max-lock-ttl), and a node was counted again because no lock is; nothing was executed")
}

// NotSubscribed is the error of a subscription that too few of the nodes have confirmed; reasons say why, by node.
func NotSubscribed(confirmed, nodes int, reasons string) Failure {
	return Failure(fmt.Sprintf("CLUSTERDOWN quorum lost: %d of %d nodes confirmed the subscription (%s); "+
		"nothing was subscribed; subscribe again when a majority of the nodes can be reached", confirmed, nodes, reasons))
}
