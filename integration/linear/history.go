// Package linear judges what the clients of locks were told: whether there is an order of all their operations, each at a
// moment between its call and its answer, in which one lock service that never fails would have answered the same
// (linearizability; Herlihy and Wing 1990). The order is searched for by porcupine, for each lock by itself.
package linear

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// Kind is what a client asked for.
type Kind uint8

// The kinds of operations on a lock.
const (
	Acquire Kind = iota // SET key owner NX PX ttl FENCE
	Release             // compare and delete
	Renew               // compare and PEXPIRE
	Holder              // GET key
	Token               // FENCE key owner
)

var kinds = [...]string{"acquire", "release", "renew", "holder", "token"}

func (k Kind) String() string { return kinds[k] }

// Op is one operation of a client.
type Op struct {
	Key    string
	Client int
	Kind   Kind
	Owner  string        // who acquires, releases, renews, or is asked about; each Acquire has one of its own
	TTL    time.Duration // of Acquire and Renew

	// Call and Return are when the client sent it and had the answer, by its monotonic clock, since the start of the run.
	Call, Return time.Duration
	// Known is false when the client does not know what became of it: then it may be executed at any time behind Call.
	Known bool

	// The answer. Done tells that the lock was granted, released or renewed, or that Owner holds it (Token).
	Done   bool
	Holder string // of Holder; empty when nobody holds it
	Token  int64  // of Acquire and Token; 0 when not Done
}

// end is until when it was executed, if it was.
func (o *Op) end() time.Duration {
	if !o.Known {
		return math.MaxInt64
	}
	return o.Return
}

// String says it in one line.
func (o *Op) String() string {
	s := fmt.Sprintf("%v..%v client %d: %v", o.Call.Round(time.Microsecond), o.Return.Round(time.Microsecond), o.Client, o.Kind)
	if o.Owner != "" {
		s += " " + o.Owner
	}
	if o.TTL > 0 {
		s += " for " + o.TTL.String()
	}
	switch {
	case !o.Known:
		return s + ": outcome unknown"
	case o.Kind == Holder:
		return s + fmt.Sprintf(": %q", o.Holder)
	case o.Token > 0:
		return s + fmt.Sprintf(": %d", o.Token)
	default:
		return s + fmt.Sprintf(": %v", o.Done)
	}
}

// Log collects operations. It may be used on any goroutine.
type Log struct {
	began time.Time
	mu    sync.Mutex
	ops   []Op
}

// NewLog returns a log whose times count from now.
func NewLog() *Log { return &Log{began: time.Now()} }

// Now is the time since the start of the log.
func (l *Log) Now() time.Duration { return time.Since(l.began) }

// Add takes down an operation that is over.
func (l *Log) Add(o Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = append(l.ops, o)
}

// Ops are the operations so far. The caller does not change them.
func (l *Log) Ops() []Op {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ops
}

// Count is for how many operations is holds.
func (l *Log) Count(is func(*Op) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.ops {
		if is(&l.ops[i]) {
			n++
		}
	}
	return n
}
