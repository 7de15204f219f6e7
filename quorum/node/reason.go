package node

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/quorum/tally"
)

// The reasons for no answer, in words for people: they stand in the client's CLUSTERDOWN and in INFO quorum.
const (
	reasonFull      tally.Reason = "queue full"
	reasonWithdrawn tally.Reason = "withdrawn"
	reasonLate      tally.Reason = "too late to send"
	reasonTimeout   tally.Reason = "timeout"
	reasonStalled   tally.Reason = "it owes an answer"
	reasonRefused   tally.Reason = "connection refused"
	reasonLost      tally.Reason = "connection lost"
	reasonFailed    tally.Reason = "connection failed"
	reasonConnect   tally.Reason = "connecting"
	reasonClosed    tally.Reason = "closed"
	reasonFlushed   tally.Reason = "scripts were flushed"
	reasonForgot    tally.Reason = "it has lost its data"
	reasonRestarted tally.Reason = "it was restarted"
	reasonReply     tally.Reason = "unexpected reply"
)

// reasonOfError names what went wrong with a connection. It never repeats the error's text, which may hold anything.
func reasonOfError(err error) tally.Reason {
	var (
		dns       *net.DNSError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		reply     redis.Error
		timeout   net.Error
	)
	switch {
	case errors.As(err, &reply):
		reason, _ := reasonOfReply(reply.Error())
		return reason
	case errors.Is(err, syscall.ECONNREFUSED):
		return reasonRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route"
	case errors.As(err, &dns):
		return "unknown host"
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid):
		return "certificate not accepted"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return reasonTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return reasonLost
	default:
		return reasonFailed
	}
}

// refusals are the error replies of a server that did not execute a command, by their code: its state, not the
// client's mistake (https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors).
var refusals = map[string]tally.Reason{
	"LOADING":     "loading",
	"BUSY":        "busy with a script",
	"OOM":         "out of memory",
	"READONLY":    "read-only replica",
	"MISCONF":     "cannot persist",
	"NOREPLICAS":  "not enough replicas",
	"MASTERDOWN":  "its master is down",
	"CLUSTERDOWN": "its cluster is down",
	"MOVED":       "part of a Redis Cluster",
	"ASK":         "part of a Redis Cluster",
	"NOAUTH":      "password needed",
	"WRONGPASS":   "password not accepted",
	"NOPERM":      "no permission",
	"NOSCRIPT":    reasonFlushed,
	"UNKILLABLE":  "busy with a script that has written",
}

// reasonOfReply names an error reply, and tells whether it says that nothing was executed.
func reasonOfReply(text string) (reason tally.Reason, refused bool) {
	code, _, _ := strings.Cut(text, " ")
	if reason, ok := refusals[code]; ok {
		return reason, true
	}
	return reasonReply, false
}
