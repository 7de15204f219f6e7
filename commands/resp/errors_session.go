package resp

import "strconv"

// MaxInput is the error of a client whose unfinished request does not fit beside those of the others.
func MaxInput(limit int) Failure {
	return Failure("ERR redfence: unfinished requests of all clients have more than " + strconv.Itoa(limit) +
		" bytes (--max-input); nothing was executed; send less at once or raise the limit")
}

// The error texts of connections and sessions. Those of the first block end the connection (networking.c,
// processMultibulkBuffer and processInlineBuffer).
const (
	ErrTooManyArgs   Failure = "ERR Protocol error: invalid multibulk length"
	ErrBulkLength    Failure = "ERR Protocol error: invalid bulk length"
	ErrLongCount     Failure = "ERR Protocol error: too big mbulk count string"
	ErrLongBulkCount Failure = "ERR Protocol error: too big bulk count string"
	ErrLongInline    Failure = "ERR Protocol error: too big inline request"
	ErrQuotes        Failure = "ERR Protocol error: unbalanced quotes in request"
	ErrAnonymousArgs Failure = "ERR Protocol error: unauthenticated multibulk length"
	ErrAnonymousBulk Failure = "ERR Protocol error: unauthenticated bulk length"
	ErrMaxClients    Failure = "ERR max number of clients reached"

	ErrFencingRESP2    Failure = "ERR redfence: CLIENT FENCING needs RESP3, which has messages beside replies; send HELLO 3 first"
	ErrNoClient        Failure = "ERR No such client"
	ErrClientID        Failure = "ERR Invalid client ID"
	ErrBadTimeout      Failure = "ERR timeout is not an integer or out of range"
	ErrNotPositive     Failure = "ERR value is out of range, must be positive"
	ErrNegativeTimeout Failure = "ERR timeout is negative"
	ErrNotBusy         Failure = "NOTBUSY No scripts in execution right now."
	ErrDebugMode       Failure = "ERR Use SCRIPT DEBUG YES/SYNC/NO"
	ErrDebugPipeline   Failure = "ERR SCRIPT DEBUG must be called outside a pipeline"
	ErrNoDebugger      Failure = "ERR redfence: SCRIPT DEBUG is not served: a script is one step of the replicated log"
	ErrNoKeys          Failure = "ERR The command has no key arguments"
	ErrBadCommand      Failure = "ERR Invalid command specified"
	ErrBadArgCount     Failure = "ERR Invalid number of arguments specified for command"
)

// ExpectedDollar is the protocol error for an argument that does not begin with its length.
func ExpectedDollar(got byte) Failure {
	return Failure("ERR Protocol error: expected '$', got '" + string([]byte{got}) + "'")
}

// SubscribeMode is the error for a command that a RESP2 connection in subscribe mode may not run; name is lower case.
func SubscribeMode(name string) Failure {
	return Failure("ERR Can't execute '" + name +
		"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
}

// UnknownClientType is the error for a TYPE that CLIENT LIST does not know.
func UnknownClientType(name string) Failure {
	return Failure("ERR Unknown client type '" + clip(name, echoedBytes) + "'")
}

// UnknownLibraryField is the error for an attribute that CLIENT SETINFO does not know.
func UnknownLibraryField(name string) Failure {
	return Failure("ERR Unrecognized option '" + clip(name, echoedBytes) + "'")
}

// BadLibraryField is the error for a value that CLIENT SETINFO does not take; name is lower case.
func BadLibraryField(name string) Failure {
	return Failure("ERR " + name + " cannot contain spaces, newlines or special characters.")
}

// WrongUse is the error of containers that check the arguments of a subcommand themselves; container is upper case.
func WrongUse(container, sub string) Failure {
	return Failure("ERR unknown subcommand or wrong number of arguments for '" + clip(sub, echoedBytes) + "'. Try " +
		container + " HELP.")
}
