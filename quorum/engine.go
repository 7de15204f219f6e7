package quorum

import (
	"hash/maphash"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// Config is what an engine needs.
type Config struct {
	Nodes []Node // the same ones in every proxy, in any order
	Clock Clock
	// ID names this proxy among all that have ever talked to the nodes.
	ID string
	// Wall is the wall clock in µs since the Unix epoch: what TIME answers, and the floor of tokens.
	Wall func() int64
	// Random returns a number from 0 up to n-1. It spreads retries.
	Random func(n int64) int64
	// FenceMemory is for how long FENCE.CHECK remembers; 0 is commands.FenceMemory.
	FenceMemory time.Duration
	// Timeout is how long a vote waits for a node.
	Timeout time.Duration
	// Sink takes what other parts of the process wait for.
	Sink Sink
	// MaxTTL is the longest TTL that may be given now, and false when any may.
	MaxTTL func() (time.Duration, bool)
}

// Sink takes the events that come out of won requests. Its methods never block.
type Sink interface {
	// Publish sends a publication to the subscribers of all proxies, and returns the number of receivers in this one.
	Publish(m commands.Message) int
	// Ready says that a list or sorted set came into being or grew.
	Ready(db int, key string)
	// Tracking tells whether anybody wants to be told of Accessed.
	Tracking() bool
	// Accessed takes what a session read and changed. It does not keep the list.
	Accessed(session int64, list []commands.Access)
}

// How often and for how long a request is tried again inside.
const (
	maxRefused   = 3                       // when a node says that somebody else has what is wanted
	retryBudget  = 2500 * time.Millisecond // clients wait 3 s (Redisson's default timeout)
	retrySpread  = 4 * time.Millisecond    // of the first pause; it doubles
	maxDoublings = 4
	renewalPause = 20 * time.Millisecond
)

// Engine runs requests on the nodes. It has no goroutine of its own: it acts when a call is submitted, an outcome
// arrives or a timer fires.
type Engine struct {
	cfg     Config
	need    int // a majority
	serial  atomic.Uint64
	gate    gate
	lanes   lanes
	crowds  crowds
	scripts scriptCache
	arrears []arrears    // by node
	owing   atomic.Int64 // keys in all arrears
	skew    skew

	recent recent
	rests  rests
	turns  turns
	stats  counters
}

// New returns an engine over nodes.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg, need: tally.Majority(len(cfg.Nodes)), crowds: crowds{on: map[place]*crowd{}}}
	e.scripts.texts = map[string]*runner.Text{}
	e.recent.seed = maphash.MakeSeed()
	e.arrears, e.skew = make([]arrears, len(cfg.Nodes)), make(skew, len(cfg.Nodes))
	if e.cfg.MaxTTL == nil {
		e.cfg.MaxTTL = func() (time.Duration, bool) { return 0, false }
	}
	return e
}

// nextID is a name that no other request has, of any proxy.
func (e *Engine) nextID() string { return e.nameOf(e.serial.Add(1)) }

func (e *Engine) nameOf(number uint64) string { return e.cfg.ID + "." + strconv.FormatUint(number, 36) }

// Now is the wall clock in microseconds since the Unix epoch.
func (e *Engine) Now() int64 { return e.cfg.Wall() }

// databases is how many a server has.
const databases = 16

// lanes keep the order of requests the same on the streams of all nodes: whoever sends to several streams of a
// database holds its lane.
type lanes [databases]sync.Mutex

// counters are what an engine has done since it started.
type counters struct {
	won, lost, retried, undone, copied, unknown, tooLate atomic.Uint64
}

// Stats are what an engine has done since it started.
type Stats struct {
	Won, Lost, Retried, Undone, Copied, Unknown, TooLate uint64
}

// Stats returns what the engine has done.
func (e *Engine) Stats() Stats {
	s := &e.stats
	return Stats{
		Won: s.won.Load(), Lost: s.lost.Load(), Retried: s.retried.Load(), Undone: s.undone.Load(),
		Copied: s.copied.Load(), Unknown: s.unknown.Load(), TooLate: s.tooLate.Load(),
	}
}
