package quorum

import (
	"fmt"
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// newSimEngine is the engine of a proxy over simulated nodes.
func newSimEngine(p *simProxy, nodes []Node) *Engine {
	return New(Config{
		Nodes:   nodes,
		Clock:   p.clock,
		ID:      p.name,
		Wall:    func() int64 { return int64((simEpoch + p.w.now + p.wall) / time.Microsecond) },
		Random:  p.w.rng.Int64N,
		Timeout: simTimeout,
		Sink:    deafSink{},
	})
}

// deafSink is for schedules in which nobody listens.
type deafSink struct{}

func (deafSink) Publish(commands.Message) int      { return 0 }
func (deafSink) Ready(int, string)                 {}
func (deafSink) Tracking() bool                    { return false }
func (deafSink) Accessed(int64, []commands.Access) {}

// describe tells in a trace what an operation is.
func describe(op runner.Op) string {
	switch op := op.(type) {
	case *runner.Run:
		return fmt.Sprintf("run %s %s", op.ID, readable(op.Requests[0].Args))
	case *runner.Undo:
		return "undo " + writes(op.Writes)
	case *runner.Copy:
		var all []string
		for i := range op.Keys {
			c := &op.Keys[i]
			text := fmt.Sprintf("%s=%s ttl %d %s", c.Key, strings.Join(c.Content, ","), c.TTL, number(c.Version))
			if c.Expect != nil {
				text += " if " + number(*c.Expect)
			}
			if c.Absent {
				text += " if absent"
			}
			if c.Instance != 0 {
				text += fmt.Sprintf(" if token %d", c.Instance)
			}
			all = append(all, text)
		}
		return "copy " + strings.Join(all, "; ")
	case *runner.Accept:
		return fmt.Sprintf("accept %s %s token %d", op.Key, number(op.Version), op.Token)
	case *runner.Fetch:
		return fmt.Sprintf("fetch %v", op.Keys)
	}
	return fmt.Sprintf("%T", op)
}

func number(v tally.Version) string { return fmt.Sprintf("v%d/%s", v.Number, v.Request) }

func writes(all []tally.Write) string {
	var texts []string
	for i := range all {
		w := &all[i]
		texts = append(texts, fmt.Sprintf("%s %s->%s %q ttl %d token %d", w.Key, number(w.Before), number(w.After), w.State, w.TTL, w.Token))
	}
	return "[" + strings.Join(texts, "; ") + "]"
}

// outcome tells in a trace what became of an operation.
func outcome(o *Outcome) string {
	switch {
	case o.Reason != "":
		return fmt.Sprintf("no answer, %s, ran %v", o.Reason, o.Ran)
	case o.Answer != nil:
		text := show(o.Answer.Reply) + " " + writes(o.Answer.Writes)
		if o.Answer.Quarantined {
			text += " quarantined"
		}
		return text
	case o.Undone != nil:
		return fmt.Sprintf("%+v", o.Undone)
	case o.Copied != nil:
		return fmt.Sprintf("%+v", o.Copied)
	}
	return fmt.Sprintf("%+v", o.Accepted)
}

// show is a reply as text.
func show(v resp.Value) string {
	switch v.Kind {
	case resp.Null, resp.NullArray:
		return "nil"
	case resp.Integer:
		return fmt.Sprint(v.Int())
	case resp.Array:
		var all []string
		for _, e := range v.Elems {
			all = append(all, show(e))
		}
		return "[" + strings.Join(all, " ") + "]"
	default:
		return v.Str
	}
}
