package proxy

import (
	"strings"
	"time"

	"github.com/redfence/redfence/commands/resp"
)

// Metrics counts what the front end does. It is called from many goroutines, also from those of the backend, so its
// methods must be cheap and must not block.
type Metrics interface {
	ConnOpened()
	ConnClosed()
	// CommandDone counts an answered command: its name as in the command table, empty for an unknown one, its
	// outcome, and the time since the command was read.
	CommandDone(name, outcome string, took time.Duration)
}

// The outcomes of a command that CommandDone tells apart.
const (
	outcomeOK          = "ok"
	outcomeError       = "error"       // the client's own error, such as WRONGTYPE
	outcomeUnavailable = "unavailable" // surely not executed: CLUSTERDOWN, TRYAGAIN
	outcomeUnknown     = "unknown"     // may have been executed
)

// outcome tells which of them a reply stands for.
func outcome(reply resp.Value) string {
	switch {
	case !reply.IsErr():
		return outcomeOK
	case strings.HasPrefix(reply.Str, "CLUSTERDOWN "), strings.HasPrefix(reply.Str, "TRYAGAIN "):
		return outcomeUnavailable
	case strings.HasPrefix(reply.Str, "ERR UNKNOWN "):
		return outcomeUnknown
	}
	return outcomeError
}
