package resp

import (
	"strconv"
	"strings"
)

// Failure is an error reply as it stands on the wire, code first. Clients parse these texts, so they are the exact
// ones of Redis 7; those that begin with "ERR redfence:" are ours.
type Failure string

// Error implements error.
func (e Failure) Error() string { return string(e) }

// Value is the reply that carries the error.
func (e Failure) Value() Value { return Err(string(e)) }

// The error texts of the wire.
const (
	ErrSyntax          Failure = "ERR syntax error"
	ErrNotInteger      Failure = "ERR value is not an integer or out of range"
	ErrNotFloat        Failure = "ERR value is not a valid float"
	ErrNanOrInf        Failure = "ERR increment would produce NaN or Infinity"
	ErrOverflow        Failure = "ERR increment or decrement would overflow"
	ErrDecrOverflow    Failure = "ERR decrement would overflow"
	ErrOOM             Failure = "OOM command not allowed when used memory > 'maxmemory'."
	ErrExecOOM         Failure = "EXECABORT Transaction discarded because of: " + ErrOOM
	ErrWrongType       Failure = "WRONGTYPE Operation against a key holding the wrong kind of value"
	ErrNoSuchKey       Failure = "ERR no such key"
	ErrOutOfRange      Failure = "ERR index out of range"
	ErrValueRange      Failure = "ERR value is out of range"
	ErrOffset          Failure = "ERR offset is out of range"
	ErrTooLong         Failure = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	ErrHashNotInteger  Failure = "ERR hash value is not an integer"
	ErrHashNotFloat    Failure = "ERR hash value is not a float"
	ErrDBIndex         Failure = "ERR DB index is out of range"
	ErrSameObject      Failure = "ERR source and destination objects are the same"
	ErrNoScript        Failure = "NOSCRIPT No matching script. Please use EVAL."
	ErrNumKeys         Failure = "ERR Number of keys can't be greater than number of args"
	ErrNegativeKeys    Failure = "ERR Number of keys can't be negative"
	ErrScriptReadOnly  Failure = "ERR Write commands are not allowed from read-only scripts."
	ErrScriptMayWrite  Failure = "ERR Can not execute a script with write flag using *_ro command."
	ErrScriptForbidden Failure = "ERR This Redis command is not allowed from script"
	ErrScriptUnknown   Failure = "ERR Unknown Redis command called from script"
	ErrScriptArity     Failure = "ERR Wrong number of args calling Redis command from script"
	ErrNoAuth          Failure = "NOAUTH Authentication required."
	ErrHelloNoAuth     Failure = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	ErrWrongPass       Failure = "WRONGPASS invalid username-password pair or user is disabled."
	ErrNoPassword      Failure = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	ErrNoProto         Failure = "NOPROTO unsupported protocol version"
	ErrNotProto        Failure = "ERR Protocol version is not an integer or out of range"
	ErrNoCluster       Failure = "ERR This instance has cluster support disabled"
	ErrClientName      Failure = "ERR Client names cannot contain spaces, newlines or special characters."
	ErrTryAgainLeader  Failure = "TRYAGAIN the leader is not ready yet; nothing was executed"
	ErrNoLeader        Failure = "CLUSTERDOWN no leader: this node cannot commit right now; nothing was executed"
	ErrRecovering      Failure = "CLUSTERDOWN this node was recovered and serves nothing until lost locks have run out; nothing was executed"
	ErrTryAgainLate    Failure = "TRYAGAIN the request waited too long to be sent to the log; nothing was executed"
	ErrTryAgainBusy    Failure = "TRYAGAIN too many requests are waiting; nothing was executed"
	ErrAbandoned       Failure = "TRYAGAIN the client hung up before its request was sent to the log; nothing was executed"
	ErrShuttingDown    Failure = "CLUSTERDOWN this node is shutting down; nothing was executed"
	ErrUnknownOutcome  Failure = "ERR UNKNOWN outcome: the request was sent to the log and its answer was lost; it may have been executed"
	ErrCallTooLarge    Failure = "ERR redfence: the request is larger than a log entry can be (48 MiB); nothing was executed; send less at once"
	ErrScriptVisits    Failure = "ERR redfence: script made its commands go through more elements than its instruction budget has steps, nothing of it was kept; split the work over several scripts"
	ErrScriptWrites    Failure = "ERR redfence: script wrote more bytes than its memory budget, nothing of it was kept; split the work over several scripts"
	ErrToken           Failure = "ERR redfence: token must be an integer from 1 to 9007199254740991"
	ErrFenceWithGet    Failure = "ERR redfence: SET does not take FENCE together with GET"
	ErrLaterVersion    Failure = "ERR redfence: the log holds a command that this version does not know"
	ErrReserved        Failure = "ERR redfence: keys that begin with __fence__: show tokens and can only be read with GET"
)

// WrongArity is the error for a wrong number of arguments; name is lower case.
func WrongArity(name string) Failure {
	return Failure("ERR wrong number of arguments for '" + name + "' command")
}

// InvalidExpire is the error for a TTL that is not positive or does not fit; name is lower case.
func InvalidExpire(name string) Failure {
	return Failure("ERR invalid expire time in '" + name + "' command")
}

// Redis cuts the names and arguments that it repeats in an error at this many bytes (server.c, commandCheckExistence).
const echoedBytes = 128

// UnknownCommand is the error for a name that is not in the table.
func UnknownCommand(line []string) Failure {
	var args strings.Builder
	for _, arg := range line[1:] {
		if args.Len() >= echoedBytes {
			break
		}
		args.WriteString("'" + clip(arg, echoedBytes-args.Len()) + "' ")
	}
	return Failure("ERR unknown command '" + clip(line[0], echoedBytes) + "', with args beginning with: " + args.String())
}

// NotInStore is the error for a command that the table has and the store does not run; name is lower case.
func NotInStore(name string) Failure {
	return Failure("ERR redfence: '" + name + "' is not served by the store")
}

// UnknownSubcommand is the error for a subcommand that its container lacks; container is lower case.
func UnknownSubcommand(container, sub string) Failure {
	return Failure("ERR unknown subcommand '" + clip(sub, echoedBytes) + "'. Try " + strings.ToUpper(container) + " HELP.")
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// ReplyFor turns an error of this package into its reply; any other error becomes a plain ERR.
func ReplyFor(err error) Value {
	if e, ok := err.(Failure); ok { //nolint:errorlint // wire errors are never wrapped
		return e.Value()
	}
	return Err("ERR " + err.Error())
}

// UnknownOption is the error for an option that HELLO does not know.
func UnknownOption(option string) Failure {
	return Failure("ERR Syntax error in HELLO option '" + clip(option, echoedBytes) + "'")
}

// TooMany is the error for a bound that a client went over.
func TooMany(what string, limit int) Failure {
	return Failure("ERR redfence: more than " + strconv.Itoa(limit) + " " + what + "; raise the limit or send less")
}

// UnknownOutcome is the error of a request that was sent to the log and whose fate the cause leaves open.
func UnknownOutcome(cause error) Failure {
	return ErrUnknownOutcome + Failure(" ("+cause.Error()+")")
}

// LogFailed is the error of a node that cannot write its log. Only when the disk was full is it tried again by itself.
func LogFailed(cause error) Failure {
	return Failure("CLUSTERDOWN no leader: this node cannot write its log (" + cause.Error() +
		"); nothing was executed; make room on a full disk, or repair it and restart the node")
}
