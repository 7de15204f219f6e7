package proxy

import (
	"context"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy/hub"
	"github.com/redfence/redfence/proxy/tracking"
	"github.com/redfence/redfence/proxy/wait"
)

// Backend keeps the locks: a Raft store, or a quorum of Redis nodes. The front end knows no more of it than this.
type Backend interface {
	// Open starts the ordered stream of one client session. It never blocks and never fails; a backend that cannot
	// serve answers the calls with an error.
	Open() Stream
	// Ready is nil when calls can be served now, else the reason why not.
	Ready(ctx context.Context) error
	// Info returns the backend's own sections of INFO, each beginning with "# Name\r\n".
	Info() []InfoSection
	// Now is the wall clock in microseconds since the Unix epoch, the only source for TIME.
	Now() int64
	// Listen makes the sink hear of a topic from now on. It does not block. When what happens elsewhere is certain to
	// be heard, ready is called with nil; when that cannot be had within a few seconds, with an error for the client.
	// It is called once, from any goroutine, also before Listen returns.
	//
	// The front end calls Listen and Unlisten in turn for each topic, one call at a time, and never both at once.
	Listen(t Topic, ready func(error))
	// Unlisten ends it, also when ready was called with an error or not at all yet; then it need not be called.
	Unlisten(t Topic)
}

// Stream carries the requests of one session. Effects take place in the order of Submit, and a read submitted
// behind an unanswered write sees it.
//
// Submit is called by one goroutine at a time and does not wait for the outcome. It may call Done before it
// returns. Close abandons what has not been sent yet; calls that were sent still take effect, and Done is still
// called for each.
type Stream interface {
	Submit(c *Call)
	Close()
}

// The words that front end and backends share.
type (
	// Call is one unit of work.
	Call = commands.Call
	// Result is the outcome of a call.
	Result = commands.Result
	// InfoSection is one section of INFO.
	InfoSection = commands.InfoSection
	// Message is a publication.
	Message = commands.Message
	// Topic is something that a backend listens to while sessions want it to.
	Topic = commands.Topic
)

// Sink takes the events that come out of a backend, in the order in which they happened. Its methods never block.
type Sink interface {
	// Message delivers a publication and returns the number of local receivers.
	Message(m Message) int
	// Ready says that a list or sorted set came into being or grew, so that commands that wait for it must be tried.
	Ready(db int, key string)
	// ReadyAll says the same of any number of keys of a database.
	ReadyAll(db int)
	// Tracking tells whether anybody wants to be told of Accessed now.
	Tracking() bool
	// Accessed takes what a call of a session did to keys, in order; session 0 is nobody's. What calls read that ask
	// to be tracked must come at the moment of the read, so that no change slips in between. It does not keep list.
	Accessed(session int64, list []commands.Access)
}

// Events is the sink of a process: it hands each event to those who wait for such.
type Events struct {
	*hub.Hub
	*wait.Registry
	*tracking.Table
}

// NewEvents returns a sink for which nobody waits yet.
func NewEvents() Events { return Events{hub.New(), wait.New(), tracking.New(tracking.DefaultLimit)} }
