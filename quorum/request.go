package quorum

import (
	"slices"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// request is a call on its way. It is tried once or several times; each try is an attempt.
type request struct {
	engine  *Engine
	stream  *Stream // nil for the engine's own
	call    *commands.Call
	db      int
	keys    []string
	alone   bool // its keys are not known, so nothing of the session runs beside it
	started bool // guarded by stream.mu
	began   time.Duration
	text    *runner.Text // of the script, when it is one
	block   block
	tries   int
	noted   bool            // a node may have remembered the token of this FENCE.CHECK
	ttls    []tally.Reading // to be shared by the nodes in the next attempt
	debts   []*attempt      // by node: the attempt whose answer it may still owe; nil when there are none
	past    []*attempt      // that were lost, and put back as far as could be
	renewed map[int]bool    // nodes on which an attempt found the hold already there
	ended   *tally.Answer   // of a node on which an earlier attempt ended a hold
	granted []commands.Grant
	crowd   *crowd // of those that want the same absent key
	turn    *turn  // nil when it has none
}

// newRequest is a call of a session, or of the engine's own when there is no stream.
func newRequest(e *Engine, s *Stream, c *commands.Call) *request {
	r := &request{engine: e, stream: s, call: c}
	if len(c.Requests) > 0 {
		r.db = c.Requests[0].DB
	} else if len(c.Watched) > 0 {
		r.db = c.Watched[0].DB
	}
	for _, q := range c.Requests {
		keys := q.Keys()
		r.keys = append(r.keys, keys...)
		r.alone = r.alone || len(keys) == 0
	}
	for _, w := range c.Watched {
		r.keys = append(r.keys, w.Key)
	}
	return r
}

// start runs the request, now that it is its turn.
func (r *request) start() {
	e := r.engine
	r.began = e.cfg.Clock.Now()
	r.track()
	if e.special(r) {
		return
	}
	if e.crowds.join(r) {
		return
	}
	e.try(r)
}

// track notes the keys that the session is about to read, if it keeps copies. That is before they are read, so that no
// change slips in between.
func (r *request) track() {
	if list := r.reads(); len(list) > 0 {
		r.engine.cfg.Sink.Accessed(r.call.Session, list)
	}
}

// reads are the keys that the request reads, if its session keeps copies. Of a script all keys count that its call
// names, as in Redis 7.0, for it may read them.
func (r *request) reads() (list []commands.Access) {
	if !r.call.Track {
		return nil
	}
	for _, q := range r.call.Requests {
		if q.Spec.Flags.Has(commands.ReadOnly) || q.Spec.Group == commands.Scripting {
			for _, key := range q.Keys() {
				list = append(list, commands.Access{Kind: commands.ReadKey, Key: key})
			}
		}
	}
	return list
}

// readBack are the keys that the request changed and may have read after that. A session that is not told of its own
// changes goes on tracking these (rueidislock takes a lock with SET and GET in one script, so that it hears of its end).
func (r *request) readBack(changed []commands.Access) []commands.Access {
	return slices.DeleteFunc(r.reads(), func(read commands.Access) bool {
		return !slices.ContainsFunc(changed, func(c commands.Access) bool { return c.Key == read.Key })
	})
}

// onlyReads tells whether no part of the request can change anything.
func (r *request) onlyReads() bool {
	for _, q := range r.call.Requests {
		if q.Spec.Raft != commands.Read && !q.Spec.Flags.Has(commands.ReadOnly) {
			return false
		}
	}
	return true
}

// answer ends the request.
func (r *request) answer(v resp.Value) {
	if r.crowd != nil {
		r.crowd.over(v)
	}
	r.end(v)
}

// end answers the client and lets the session go on. An unknown outcome ends the connection.
func (r *request) end(v resp.Value) {
	unknown := resp.IsUnknownVote(v)
	if unknown {
		r.engine.stats.unknown.Add(1)
	}
	r.call.Done(commands.Result{Reply: v, Close: unknown, Granted: r.granted})
	r.passTurn()
	if r.stream != nil {
		r.stream.over(r)
	}
}

// owed tells whether a node still owes the answer to an earlier attempt. A new one would make it unclear which of them
// an answer, or what it left behind, belongs to.
func (r *request) owed(node int) bool {
	if r.debts == nil || r.debts[node] == nil {
		return false
	}
	debtor := r.debts[node]
	debtor.mu.Lock()
	defer debtor.mu.Unlock()
	return debtor.late[node]
}

// left tells whether an earlier attempt may still have an effect on a node.
func (r *request) left(node int) bool {
	return slices.ContainsFunc(r.past, func(a *attempt) bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.left[node] || a.late[node]
	})
}

// remember notes a lost attempt, and the nodes that owe an answer to it; the attempt is locked.
func (r *request) remember(a *attempt) {
	r.past = append(r.past, a)
	for node, late := range a.late {
		if late && r.debts == nil {
			r.debts = make([]*attempt, len(a.late))
		}
		if late {
			r.debts[node] = a
		}
	}
}

// age is how long the request has been tried.
func (r *request) age() time.Duration { return r.engine.cfg.Clock.Now() - r.began }

// again tries the request once more, after a random pause.
func (r *request) again(pause time.Duration) {
	e := r.engine
	r.tries++
	e.stats.retried.Add(1)
	pause += time.Duration(e.cfg.Random(int64(retrySpread << min(r.tries-1, maxDoublings))))
	e.cfg.Clock.AfterFunc(pause, func() { e.level(r, r.resources(), func() { e.try(r) }) })
}
