package quorum

import (
	"slices"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
)

// block is what a transaction (MULTI) needs beside its commands, by their position.
type block struct {
	texts []*runner.Text // of its scripts, nil for other commands
	given []*resp.Value  // replies that are known before it is sent, nil for what the nodes execute
}

// needsScripts tells whether a transaction runs scripts, or is about them.
func (e *Engine) needsScripts(r *request) bool {
	return r.call.Block && slices.ContainsFunc(r.call.Requests, func(q *commands.Request) bool {
		return isScript(q) || e.aboutScripts(q) != nil
	})
}

// tryBlock tries a transaction, once all is known about its scripts from the one at a position on, in order. A script
// that cannot run fails alone, as any command of a transaction does
// (https://redis.io/docs/latest/develop/using-commands/transactions/).
func (e *Engine) tryBlock(r *request, from int) {
	for at := from; at < len(r.call.Requests); at++ {
		q := r.call.Requests[at]
		if isScript(q) {
			e.findScript(q, func(l lookup) { e.blockKnows(r, at, l.text, l.err, l.lost) })
			return
		}
		if ask := e.aboutScripts(q); ask != nil {
			ask(func(v resp.Value, lost bool) { e.blockKnows(r, at, nil, v, lost) })
			return
		}
	}
	e.try(r)
}

// blockKnows takes the text of the script at a position of a transaction, or the reply in its place, and goes on
// behind it.
func (e *Engine) blockKnows(r *request, at int, text *runner.Text, reply resp.Value, lost bool) {
	if lost {
		r.answer(reply)
		return
	}
	if r.block.texts == nil {
		r.block.texts, r.block.given = make([]*runner.Text, len(r.call.Requests)), make([]*resp.Value, len(r.call.Requests))
	}
	if r.block.texts[at] = text; text == nil {
		r.block.given[at] = &reply
	}
	e.tryBlock(r, at+1)
}
