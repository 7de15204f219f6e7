package quorum

import (
	"sync/atomic"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// partsAtOnce is how many parts of one request are on their way at a time, so that those of others find room.
const partsAtOnce = 256

// each runs the parts of a request side by side, each with a vote of its own, and calls done with their replies in order.
func (e *Engine) each(r *request, parts []*commands.Request, done func([]resp.Value)) {
	e.eachFrom(r, parts, make([]resp.Value, len(parts)), 0, done)
}

// eachFrom runs the parts from first on.
func (e *Engine) eachFrom(r *request, parts []*commands.Request, replies []resp.Value, first int, done func([]resp.Value)) {
	end := min(first+partsAtOnce, len(parts))
	var open atomic.Int64
	open.Store(int64(end-first) + 1)
	over := func() {
		switch {
		case open.Add(-1) > 0:
		case end == len(parts):
			done(replies)
		default:
			e.eachFrom(r, parts, replies, end, done)
		}
	}
	for i := first; i < end; i++ {
		e.part(r, parts[i], func(v resp.Value) {
			replies[i] = v
			over()
		})
	}
	over()
}

func (e *Engine) part(r *request, q *commands.Request, done func(resp.Value)) {
	part := newRequest(e, nil, &commands.Call{
		Requests: []*commands.Request{q}, Session: r.call.Session,
		Done: func(res commands.Result) { done(res.Reply) },
	})
	if part.began = e.cfg.Clock.Now(); isScript(q) {
		part.text = r.text
	}
	e.try(part)
}
