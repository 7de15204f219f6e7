package quorum

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// special serves what is no vote on one reply, and refuses what quorum mode cannot serve. It tells whether it took
// the request.
func (e *Engine) special(r *request) bool {
	if refusal := e.refusal(r); refusal != nil {
		r.answer(resp.ReplyFor(refusal))
		return true
	}
	if e.needsScripts(r) {
		e.tryBlock(r, 0)
		return true
	}
	if len(r.call.Requests) != 1 || r.call.Block {
		return false
	}
	q := r.call.Requests[0]
	if isScript(q) {
		e.evaluateOne(r)
		return true
	}
	if ask := e.aboutScripts(q); ask != nil {
		ask(func(v resp.Value, _ bool) { r.answer(v) })
		return true
	}
	if serve := e.served(q.Spec.Name); serve != nil {
		serve(r)
		return true
	}
	return false
}

// served is what answers a command that has a way of its own.
func (e *Engine) served(name string) func(*request) {
	switch name {
	case "keys":
		return e.keys
	case "dbsize":
		return e.dbSize
	case "randomkey":
		return e.randomKey
	case "scan":
		return e.scan
	case "flushdb":
		return func(r *request) { e.flush(r, []int{r.db}) }
	case "flushall":
		return e.flushAll
	case "fence.check":
		return e.fenceCheck
	case "fence.last":
		return e.fenceLast
	case "script|help", "object|help":
		return help
	}
	return nil
}

func (e *Engine) flushAll(r *request) {
	dbs := make([]int, databases)
	for i := range dbs {
		dbs[i] = i
	}
	e.flush(r, dbs)
}

func help(r *request) {
	name, _, _ := strings.Cut(r.call.Requests[0].Spec.Name, "|")
	container, err := commands.Lookup([]string{name})
	if err != nil {
		r.answer(resp.ReplyFor(err))
		return
	}
	var lines []resp.Value
	for _, line := range commands.Help(container) {
		lines = append(lines, resp.Status(line))
	}
	r.answer(resp.Arr(lines...))
}

// refusal is why a request cannot be served, nil when it can.
func (e *Engine) refusal(r *request) error {
	for _, q := range r.call.Requests {
		if why := unserved(q); why != "" {
			return resp.NotInQuorum(strings.ReplaceAll(q.Spec.Name, "|", " "), why)
		}
		if q.DB != r.db {
			return resp.NotInQuorum("multi", "its commands are for more than one database; use one transaction for each")
		}
		if name := q.Spec.Name; r.call.Block && e.served(name) != nil && q.Spec.Group != commands.Fencing {
			return resp.NotInQuorum(strings.ReplaceAll(name, "|", " ")+" in a transaction", "it is no single step on a node; use it outside MULTI")
		}
		if slices.ContainsFunc(q.Keys(), reserved) {
			return resp.ErrRedfenceKeys
		}
	}
	return nil
}

func isScript(q *commands.Request) bool {
	script, _ := evaluates(q)
	return script
}

func reserved(key string) bool { return strings.HasPrefix(key, runner.Reserved) }

// unserved says why a command cannot be served, and what to do instead.
func unserved(q *commands.Request) string {
	switch q.Spec.Name {
	case "move", "swapdb":
		return "each database has its own order of requests; use one database"
	case "copy":
		if o, ok := q.Opts.(args.CopyOptions); ok && o.OtherDB && o.DB != q.DB {
			return "each database has its own order of requests; copy within one"
		}
	case "memory|usage":
		return "each node has a number of its own; ask a node"
	}
	return ""
}

func formatCursor(c uint64) string { return strconv.FormatUint(c, 10) }

// tooFew is the error when no majority answered.
func (e *Engine) tooFew(votes *tally.Votes) resp.Value {
	return resp.QuorumLost(votes.Answered(), len(votes.All()), e.reasons(votes)).Value()
}

// reasons says of each node that gave no answer that counts why not.
func (e *Engine) reasons(votes *tally.Votes) []string {
	var reasons []string
	for i, answer := range votes.All() {
		name := e.cfg.Nodes[i].Name()
		switch {
		case !answer.Answered():
			reasons = append(reasons, name+": "+string(answer.Reason))
		case answer.Quarantined:
			reasons = append(reasons, name+": quarantined, it may have forgotten locks")
		}
	}
	return reasons
}
