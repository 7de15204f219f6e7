package node

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

const patience = 20 * time.Second

// wallClock is the engine's clock of these tests.
type wallClock struct{ start time.Time }

func newClock() wallClock { return wallClock{time.Now().Add(-time.Hour)} }

func (c wallClock) Now() time.Duration { return time.Since(c.start) }

func (c wallClock) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// plain is a codec whose operations are command lines: a runner without bookkeeping.
var plain = codec{program: plainProgram, args: plainArgs, decode: plainDecode}

// command is an operation that executes a command line.
func command(line string) runner.Op { return &runner.Check{Text: line} }

// script is an operation with a text of its own.
func script(text string) runner.Op { return &runner.Check{Text: "lua " + text} }

const plainText = `
local t = redis.call('TIME')
local ms = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[2] ~= '0' and ms > tonumber(ARGV[2]) then return {'late', t[1], t[2]} end
if ARGV[1] ~= '' and ARGV[1] ~= redis.call('GET', '__redfence__') then return {'void', t[1], t[2]} end
return {'ok', t[1], t[2], redis.call(unpack(ARGV, 3))}`

func named(text string) *runner.Program {
	sum := sha1.Sum([]byte(text))
	return &runner.Program{Text: text, SHA: hex.EncodeToString(sum[:])}
}

var plainNamed = named(plainText)

func plainProgram(op runner.Op) *runner.Program {
	if text, ok := strings.CutPrefix(op.(*runner.Check).Text, "lua "); ok {
		return named(text)
	}
	return plainNamed
}

func plainArgs(op runner.Op, t runner.Target) []any {
	args := []any{"evalsha", plainProgram(op).SHA, 0, t.Canary, t.Deadline}
	for word := range strings.FieldsSeq(op.(*runner.Check).Text) {
		args = append(args, word)
	}
	return args
}

func plainDecode(_ runner.Op, reply any) runner.Result {
	if err, ok := reply.(error); ok {
		reason, refused := reasonOfReply(err.Error())
		return runner.Result{Reason: reason, Ran: !refused}
	}
	elems, ok := reply.([]any)
	if !ok || len(elems) < 3 {
		return runner.Result{Answer: &tally.Answer{Reply: valueOf(reply)}}
	}
	r := runner.Result{Void: elems[0] == "void", Late: elems[0] == "late", Time: timeOf(elems[1].(string), elems[2].(string))}
	if elems[0] == "ok" {
		var got any
		if len(elems) > 3 {
			got = elems[3]
		}
		r.Answer = &tally.Answer{Reply: valueOf(got), Time: r.Time}
	}
	return r
}

func timeOf(seconds, micros string) time.Duration {
	s, _ := time.ParseDuration(seconds + "s")
	us, _ := time.ParseDuration(micros + "us")
	return s + us
}

func valueOf(v any) resp.Value {
	switch v := v.(type) {
	case string:
		return resp.Str(v)
	case int64:
		return resp.Int(v)
	default:
		return resp.Value{}
	}
}

// openNode opens a node that is closed with the test.
func openNode(t testing.TB, addr string, change func(*Options)) *Node {
	t.Helper()
	o := Options{URL: "redis://" + addr, Clock: newClock()}
	if change != nil {
		change(&o)
	}
	n, err := open(o, plain)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// pending is the outcome of a Sending, once it is there.
type pending chan quorum.Outcome

// begin sends an operation with a long deadline and does not wait.
func begin(n *Node, op runner.Op, change func(*quorum.Sending)) pending {
	done := make(pending, 2) // room for a second call of Done, which would be a defect
	s := quorum.Sending{Op: op, Deadline: n.o.Clock.Now() + time.Hour, Done: func(o quorum.Outcome) { done <- o }}
	if change != nil {
		change(&s)
	}
	n.Send(s)
	return done
}

func (p pending) wait(t testing.TB) quorum.Outcome {
	t.Helper()
	select {
	case o := <-p:
		return o
	case <-time.After(patience):
		t.Fatalf("no outcome within %v", patience)
		return quorum.Outcome{}
	}
}

// do sends a command and waits for its outcome.
func do(t testing.TB, n *Node, line string) quorum.Outcome {
	t.Helper()
	return begin(n, command(line), nil).wait(t)
}

// wantReply fails the test unless the node answers want.
func wantReply(t testing.TB, n *Node, line, want string) {
	t.Helper()
	o := do(t, n, line)
	if o.Reason != "" || o.Answer.Reply.Str != want {
		t.Fatalf("%s: %+v, want %q", line, o, want)
	}
}

// admit counts the node, with the canary in database 0, and returns when that is so.
func admit(t testing.TB, n *Node, server *harness.Server, canary string) {
	t.Helper()
	harness.Dial(t, server.Addr).Want("OK", "SET", runner.CanaryKey, canary)
	n.Look()
	harness.Eventually(t, patience, func() bool { return n.Facts().Canaries != nil && n.Facts().Canaries[0] == canary })
	f := n.Facts()
	n.Judge(quorum.Verdict{Standing: quorum.Counted, Look: f.Look, RunID: f.RunID, Steps: f.Steps, Canary: canary})
}

func wantStanding(t testing.TB, n *Node, want quorum.Standing) {
	t.Helper()
	harness.Eventually(t, patience, func() bool { s, _ := n.Standing(); return s == want })
}
