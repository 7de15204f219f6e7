package commands

import "github.com/redfence/redfence/commands/resp"

// Call is one unit of work that the front end hands to a backend: a request, or a block of requests that runs as
// one (MULTI).
type Call struct {
	Requests []*Request
	Block    bool // the reply is an array of all replies
	// Done is called exactly once, from any goroutine, and must not block: state machines call it.
	Done func(Result)
}

// Result is the outcome of a call.
type Result struct {
	Reply resp.Value
	Close bool // the outcome is unknown, so the connection must end behind this reply
}

// InfoSection is one section of the INFO reply (https://redis.io/docs/latest/commands/info/).
type InfoSection struct {
	Name  string   // as in "# Name"
	Lines []string // "field:value", without line ends
}

// Message is a publication on its way to subscribers.
type Message struct {
	Channel string
	Payload string
	Shard   bool // made by SPUBLISH
}
