package proxy

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
)

const (
	// takeBackFor is how long it is tried to take an acquire back of which nobody knows. Raft's state machine remembers for
	// longer what it has run, and most leases are over by then.
	takeBackFor = 30 * time.Second
	// takeBackPause is the time from one try to the next.
	takeBackPause = 100 * time.Millisecond
)

// takeBackScript ends one hold, in the present instance of its lock only.
//
//go:embed takeback.lua
var takeBackScript string

// takeBacks ends the holds of acquires whose answer nobody can have received. Whether the client sends such an acquire again,
// and through whom, does not matter: a resend that ran before found one hold and left two, one that runs later finds none.
type takeBacks struct {
	open  func() Stream
	began atomic.Int64 // how many

	mu     sync.Mutex // held while the stream is called
	stream Stream     // nil until first needed
	closed bool
}

// begin takes back an acquire that was given these tokens. Without them nothing is done: what is there then may be another's.
// The caller is not kept.
func (t *takeBacks) begin(db int, a commands.Acquire, granted []commands.Grant) {
	line := takeBackLine(a, granted)
	if line == nil {
		return
	}
	r, err := commands.Bind(line, db)
	if err != nil {
		return
	}
	t.began.Add(1)
	until := time.Now().Add(takeBackFor)
	go t.run(r, until)
}

// run does it, and again when it was surely not executed. A second time is one too many, so an unknown outcome ends it.
func (t *takeBacks) run(r *commands.Request, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if t.stream == nil {
		t.stream = t.open()
	}
	t.stream.Submit(&Call{Requests: []*commands.Request{r}, Abandoned: always, Done: func(res Result) {
		if notExecuted(res) && time.Now().Before(until) {
			time.AfterFunc(takeBackPause, func() { t.run(r, until) })
		}
	}})
}

func (t *takeBacks) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.stream != nil {
		t.stream.Close()
	}
}

func always() bool { return true }

// notExecuted knows the errors that say so, by the words that clients go by.
func notExecuted(r Result) bool {
	return r.Reply.IsErr() && !r.Close && (strings.HasPrefix(r.Reply.Str, "TRYAGAIN ") || strings.HasPrefix(r.Reply.Str, "CLUSTERDOWN "))
}

// takeBackLine is the request that takes an acquire back; nil when its tokens do not tell in which instance of the lock, and
// of the key of a read lock's hold, it counted.
func takeBackLine(a commands.Acquire, granted []commands.Grant) []string {
	keys, tokens := []string{}, []string{}
	want := func(is func(key string) bool) bool {
		for _, g := range granted {
			if is(g.Key) && g.Token > 0 {
				keys, tokens = append(keys, g.Key), append(tokens, strconv.FormatInt(g.Token, 10))
				return true
			}
		}
		return false
	}
	if !want(func(key string) bool { return key == a.Lock }) {
		return nil
	}
	if a.Holds != "" && !want(func(key string) bool { return strings.HasPrefix(key, a.Holds) }) {
		return nil
	}
	line := append([]string{"EVAL", takeBackScript, strconv.Itoa(len(keys))}, keys...)
	return append(append(line, a.Field, a.Holds), tokens...)
}
