package integration

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/integration/harness"
)

// A wrapping sends the lines of a transcript in another way than alone.
type wrapping struct {
	name     string
	protocol int
	wrap     func(step) []step
}

// wrappings are the ways in which lock clients send commands beside plain ones.
func wrappings() []wrapping {
	return []wrapping{
		{"multi/resp2", 2, insideMulti},
		{"multi/resp3", 3, insideMulti},
		{"call/resp2", 2, insideScript("return redis.call(unpack(ARGV))")},
		{"pcall/resp2", 2, insideScript("return redis.pcall(unpack(ARGV))")},
		{"setresp/resp3", 3, insideScript("redis.setresp(3) return redis.call(unpack(ARGV))")},
	}
}

// insideMulti makes a transaction of a line. A line that cannot be queued is compared where it is refused.
func insideMulti(st step) []step {
	begin, queue, end := st, st, st
	begin.args, begin.rule = []string{"MULTI"}, rule{replies: 1}
	queue.rule = rule{replies: 1, class: st.rule.class}
	end.args, end.rule.inside = []string{"EXEC"}, true
	return []step{begin, queue, end}
}

// insideScript gives a line to a script as its arguments.
func insideScript(text string) func(step) []step {
	return func(st step) []step {
		st.rule = st.rule.insideScript(st.args)
		st.args = append([]string{"EVAL", text, "0"}, st.args...)
		return []step{st}
	}
}

// frontInScripts are the commands of the front end that scripts can call all the same.
var frontInScripts = []string{"select", "time", "ping", "echo"}

// refusedInScripts is what redfence says of the others that Redis would answer.
var refusedInScripts = regexp.MustCompile("This Redis command is not allowed from script")

// insideScript is the rule of a line that a script calls. What is forbidden there has another answer than alone.
func (r rule) insideScript(line []string) rule {
	spec, err := commands.Lookup(line)
	if err == nil {
		_, err = spec.Bind(line, 0)
	}
	switch {
	case err != nil || spec.Flags.Has(commands.NoScript):
		return rule{replies: 1}
	case spec.Group == commands.SetGroup: // a set of RESP3 has no order once it was a table
		r.sorted = true
	case spec.Raft == commands.Local && !slices.Contains(frontInScripts, spec.Name):
		return rule{replies: 1, diff: "script-front-end", want: refusedInScripts}
	}
	return r
}

// plainOnly are transcripts about transactions, and about what sessions wait for and are told.
var plainOnly = []string{"blocking", "pubsub", "session", "tracking", "transactions"}

// inside tells whether a line means the same on whatever connection: it has nothing to do with a session, and one
// reply that comes once. Known differences are compared alone.
func (st step) inside() bool {
	if st.kind != sendCommand || st.rule.replies != 1 || st.rule.diff != "" {
		return false
	}
	spec, err := commands.Lookup(st.args)
	if err != nil {
		return true // it is refused, in whatever words
	}
	return !slices.Contains([]commands.Group{commands.Connection, commands.PubSubs, commands.Transactions}, spec.Group)
}

// wrapped is a transcript in which each line that can be is wrapped, and the others are left out; those that wait for
// something, such as the end of a TTL, are sent alone.
func (script transcript) wrapped(w wrapping) transcript {
	all := transcript{name: script.name}
	for _, st := range script.steps {
		st.conn = "main"
		switch {
		case !st.inside():
		case st.rule.until != "" || st.rule.repeat:
			all.steps = append(all.steps, st)
		default:
			all.steps = append(all.steps, w.wrap(st)...)
		}
	}
	return all
}

// transcripts are those of which lines can be wrapped, wrapped.
func (w wrapping) transcripts(all []transcript) (wrapped []transcript) {
	for _, script := range all {
		if !slices.Contains(plainOnly, strings.TrimSuffix(filepath.Base(script.name), ".txt")) {
			wrapped = append(wrapped, script.wrapped(w))
		}
	}
	return wrapped
}

// withWrapped adds the transcripts in all wrappings.
func withWrapped(all []transcript) []transcript {
	both := slices.Clone(all)
	for _, w := range wrappings() {
		both = append(both, w.transcripts(all)...)
	}
	return both
}

// TestDifferentialWrapped sends the transcript lines inside MULTI and inside scripts, to both servers.
func TestDifferentialWrapped(t *testing.T) {
	scripts := readTranscripts(t)
	for _, w := range wrappings() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			reference, subject := harness.StartRedis(t), harness.StartRedfence(t)
			for _, script := range w.transcripts(scripts) {
				t.Run(strings.TrimSuffix(filepath.Base(script.name), ".txt"), func(t *testing.T) {
					run := &comparison{
						t: t, protocol: w.protocol,
						reference: newSide(reference.Addr, w.protocol), subject: newSide(subject.Addr, w.protocol),
					}
					run.all(script, "")
				})
			}
		})
	}
}

func TestWrappedTranscriptsAreManyEnough(t *testing.T) {
	scripts := readTranscripts(t)
	for _, w := range wrappings() {
		lines := 0
		for _, script := range w.transcripts(scripts) {
			lines += len(script.steps)
		}
		if len(w.wrap(parseStep(t, "GET k"))) > 1 {
			lines /= 3 // MULTI, the line, EXEC
		}
		t.Logf("%s: %d lines", w.name, lines)
		if lines < fewestLines {
			t.Errorf("%s: %d lines are wrapped, want at least %d", w.name, lines, fewestLines)
		}
	}
}
