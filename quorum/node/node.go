package node

import (
	"crypto/tls"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// maxDatabases is how many databases a client can select (https://redis.io/docs/latest/commands/select/).
const maxDatabases = 16

// Options say which server a Node is and how patient it is.
type Options struct {
	Proxy  string // names this proxy among all that use the node
	URL    string // redis:// or rediss://, without a database
	Clock  quorum.Clock
	Logger *slog.Logger

	TLS *tls.Config // for rediss://, in the place of the system's certificates; its ServerName is set to the URL's host

	Queue       int           // operations that may wait in a stream; 8192 when 0
	DialTimeout time.Duration // for a connection and its first answer; 1 s when 0
	ReadTimeout time.Duration // how long a stream waits for answers before it cuts the connection; 5 s when 0
	StallAfter  time.Duration // how long an answer may be owed until no more operations are taken; 1 s when 0
	LookEvery   time.Duration // how often the node is looked at; 1 s when 0
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Queue == 0 {
		o.Queue = 8192
	}
	o.DialTimeout = orElse(o.DialTimeout, time.Second)
	o.ReadTimeout = orElse(o.ReadTimeout, 5*time.Second)
	o.StallAfter = orElse(o.StallAfter, time.Second)
	o.LookEvery = orElse(o.LookEvery, time.Second)
	return o
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// Node is one upstream server. It implements quorum.Member.
type Node struct {
	o       Options
	address address
	codec   codec
	clock   nodeClock
	log     *slog.Logger
	judged  atomic.Pointer[judged]
	timeout atomic.Int64 // o.Clock's time of the last read timeout of a stream, 0 when there was none

	mu      sync.Mutex // guards what follows, and changes of judged
	streams [maxDatabases]*stream
	facts   quorum.Facts
	began   int // looks
	watch   func()
	claims  string
	closed  bool

	poke    chan struct{} // a look is wanted
	stop    chan struct{} // closed by Close
	running sync.WaitGroup
}

var _ quorum.Member = (*Node)(nil)

// judged is what the node's answers are worth, and how that was found out.
type judged struct {
	quorum.Verdict
	down      tally.Reason // not empty: the last look failed
	suspicion tally.Reason // not empty: something happened after look number since, so the verdict is void
	since     int
}

func (j *judged) standing() (quorum.Standing, tally.Reason) {
	switch {
	case j.Standing == quorum.Refused:
		return quorum.Refused, j.Reason
	case j.down != "":
		return quorum.Down, j.down
	case j.suspicion != "" && j.Standing == quorum.Counted:
		return quorum.Quarantined, j.suspicion
	default:
		return j.Standing, j.Reason
	}
}

// Open starts to look at the server of o.URL; it does not wait for an answer. The Node must be closed.
func Open(o Options) (*Node, error) {
	return open(o, codec{program: runner.Script, args: runner.Args, joins: runner.Joins, decode: runner.Decode})
}

func open(o Options, c codec) (*Node, error) {
	a, err := parseAddress(o.URL)
	if err != nil {
		return nil, err
	}
	if a.options.TLSConfig != nil && o.TLS != nil {
		own := o.TLS.Clone()
		own.ServerName = a.options.TLSConfig.ServerName
		a.options.TLSConfig = own
	}
	o = o.withDefaults()
	n := &Node{
		o: o, address: a, codec: c, log: o.Logger.With("node", a.name), watch: func() {},
		poke: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	n.clock.asleep, n.clock.slept = asleep, asleep()
	n.judged.Store(&judged{down: reasonConnect, Verdict: quorum.Verdict{
		Standing: quorum.Quarantined, Reason: "not admitted yet",
	}})
	n.running.Go(n.lookOn)
	return n, nil
}

// Close answers what waits, with a reason, and cuts the connections.
func (n *Node) Close() {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.stop)
	}
	streams := n.streams
	n.mu.Unlock()
	for _, s := range streams {
		if s != nil {
			s.close()
		}
	}
	n.running.Wait()
}

// Name implements quorum.Node: host and port.
func (n *Node) Name() string { return n.address.name }

// Send implements quorum.Node.
func (n *Node) Send(s quorum.Sending) {
	if stream := n.stream(s.DB); stream != nil {
		stream.send(s)
		return
	}
	s.Done(quorum.Outcome{Reason: reasonClosed})
}

// stream is that of a database, opened when first used; nil when the node is closed.
func (n *Node) stream(db int) *stream {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || db < 0 || db >= maxDatabases {
		return nil
	}
	if n.streams[db] == nil {
		s := newStream(n, db)
		n.streams[db] = s
		n.running.Go(s.run)
	}
	return n.streams[db]
}

// Standing implements quorum.Node.
func (n *Node) Standing() (quorum.Standing, tally.Reason) { return n.judged.Load().standing() }

// Facts implements quorum.Member.
func (n *Node) Facts() quorum.Facts {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.facts
}

// Watch implements quorum.Member.
func (n *Node) Watch(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.watch = f
}

// Look implements quorum.Member.
func (n *Node) Look() {
	select {
	case n.poke <- struct{}{}:
	default:
	}
}

// Judge implements quorum.Member.
func (n *Node) Judge(v quorum.Verdict) {
	n.mu.Lock()
	defer n.mu.Unlock()
	next := *n.judged.Load()
	next.Verdict = v
	if v.Look > next.since {
		next.suspicion = ""
	}
	n.judged.Store(&next)
}

// suspect voids the verdict until a later look has been judged, and asks for that look.
func (n *Node) suspect(reason tally.Reason) {
	n.mu.Lock()
	next := *n.judged.Load()
	next.suspicion, next.since = reason, n.began
	n.judged.Store(&next)
	n.mu.Unlock()
	n.log.Warn("node may have forgotten, its absent keys do not count", "reason", string(reason))
	n.Look()
}

// canary is what an operation on a connection to the server process runID must find to take place, for its answer to
// count. It is empty when the node is not counted: then all takes place and the answers are marked.
func (n *Node) canary(runID string) string {
	j := n.judged.Load()
	if j.Standing != quorum.Counted || j.suspicion != "" || j.RunID != runID {
		return ""
	}
	return j.Canary
}

// met is called when a connection reached the server process runID, before anything is sent to it.
func (n *Node) met(runID string) {
	if j := n.judged.Load(); j.Standing == quorum.Counted && j.suspicion == "" && j.RunID != runID {
		n.suspect(reasonRestarted)
	}
}

// forgot is called when an operation did not find the canary on the server process runID. Once for each is enough.
func (n *Node) forgot(runID, canary string) {
	if n.canary(runID) == canary {
		n.suspect(reasonForgot)
	}
}

// observe takes a reading of the node's clock.
func (n *Node) observe(sent, received, node time.Duration) {
	if n.clock.observe(sent, received, node) {
		_, step := n.clock.stepsSeen()
		n.suspect(tally.Reason("its clock stepped by " + step.Round(time.Millisecond).String()))
	}
}
