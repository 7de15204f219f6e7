package proxy

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// Upstream is the Redis that has the keys which are no locks. The front end passes on to it what names such keys, and passes
// its replies back as they are.
type Upstream interface {
	// Connect returns the link of one session. It does not block; the connection is made for the first request. lost is
	// called, from any goroutine, when the connection breaks while no reply is owed: what Redis kept of it (WATCH) is gone.
	Connect(lost func()) Link
	// Describe tells of a command that is not in the table, from what the Redis says of it. It does not block. The error is
	// the reply for the client.
	Describe(line []string) (Described, error)
	// Listen and Unlisten are those of Backend.
	Listen(t Topic, ready func(error))
	Unlisten(t Topic)
	// Info returns a section of INFO.
	Info() InfoSection
}

// Described is a command line as the upstream knows it.
type Described struct {
	Spec *commands.Spec // name, arity and flags only; it is no row of the table
	Keys []string
}

// Link is a session's own connection to the upstream. It is used by the reader of the session alone.
//
// Done of each passage is called once, in the order of Send, from any goroutine, also from within Send when nothing can be
// sent. It may wait until the client has read enough of what came before, and holds up the replies of the link so long.
type Link interface {
	// Send enters a passage. It does not block. What it entered goes out with Flush, or earlier.
	Send(state LinkState, p Passage)
	// Flush sends what was entered. It does not block.
	Flush()
	// Unblock ends the wait of the blocking command that was sent last, as CLIENT UNBLOCK does. Any goroutine may call it.
	Unblock(withError bool)
	// Waits tells whether the upstream has all that was sent, and has not answered it. Any goroutine may call it.
	Waits() bool
	// Close gives up what is not answered. Done is still called.
	Close()
}

// LinkState is what Redis knows of a connection. What a passage needs is set up before it is sent.
type LinkState struct {
	DB    int
	Proto resp.Protocol
	Name  string
}

// Passage is command lines that are sent one right behind the other. Only the reply to the last is passed back.
type Passage struct {
	Lines [][]string
	Done  func(Passed) // nil when nobody wants to know
}

// Passed is what became of a passage: a reply as it came, or why there is none.
type Passed struct {
	Raw    []byte
	Failed resp.Failure // when Raw is nil
	Close  bool         // the passage may have been executed, so the connection must end behind the error
}
