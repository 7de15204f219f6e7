package runner

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// TestScriptsInABlock runs scripts between other commands, as a transaction does.
func TestScriptsInABlock(t *testing.T) {
	noWrites := resp.Err("ERR Write commands are not allowed from read-only scripts.")
	cases := map[string]struct {
		lines [][]string
		want  []resp.Value
	}{
		"sees what was written before": {
			[][]string{{"SET", "k", "1"}, {"EVAL", "return redis.call('incr', KEYS[1])", "1", "k"}, {"GET", "k"}},
			[]resp.Value{resp.OK(), resp.Int(2), resp.Str("2")},
		},
		"an error does not stop the others": {
			[][]string{{"EVAL", "\nreturn redis.call('nosuch')", "0"}, {"INCR", "k"}},
			[]resp.Value{resp.Err(string(resp.ErrScriptUnknown) + " script: SHA, on @user_script:2."), resp.Int(1)},
		},
		"the error after a shebang names its line": {
			[][]string{{"EVAL", "#!lua\n\nerror('x')", "0"}},
			[]resp.Value{resp.Err("ERR user_script:3: x script: SHA, on @user_script:3.")},
		},
		"a shebang forbids to write": {
			[][]string{{"EVAL", "#!lua flags=no-writes\nreturn redis.pcall('incr', KEYS[1])", "1", "k"}, {"INCR", "k"}},
			[]resp.Value{noWrites, resp.Int(1)},
		},
		"EVAL_RO forbids to write": {
			[][]string{{"EVAL_RO", "return redis.pcall('incr', KEYS[1])", "1", "k"}, {"INCR", "k"}},
			[]resp.Value{noWrites, resp.Int(1)},
		},
		"EVAL_RO refuses who may write": {
			[][]string{{"EVAL_RO", "#!lua\nreturn 1", "0"}, {"INCR", "k"}},
			[]resp.Value{resp.ErrScriptMayWrite.Value(), resp.Int(1)},
		},
		"its protocol is its own": {
			[][]string{{"ZADD", "z", "1", "a"}, {"EVAL", "redis.setresp(3) return 1", "0"}, {"ZRANGE", "z", "0", "-1", "WITHSCORES"}},
			[]resp.Value{resp.Int(1), resp.Int(1), resp.PairsOf(resp.Str("a"), resp.Float(1))},
		},
		"what it publishes is told": {
			[][]string{{"EVAL", "return redis.call('publish', 'c', 'm')", "0"}, {"PUBLISH", "d", "m"}},
			[]resp.Value{resp.Int(0), resp.Int(0)},
		},
	}
	n := newNode(t)
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			n.raw("FLUSHALL")
			op := blockOf(t, tt.lines...)
			r := n.send(op, Target{})
			require.Empty(t, r.Reason)
			for i, want := range tt.want {
				if text := op.Texts[i]; text != nil && want.IsErr() {
					want.Str = strings.ReplaceAll(want.Str, "SHA", text.SHA)
				}
				assert.Equal(t, want, r.Answer.Reply.Elems[i], "reply %d", i)
			}
		})
	}
}

// blockOf is a transaction of command lines, with the texts of scripts.
func blockOf(t *testing.T, lines ...[]string) *Run {
	t.Helper()
	op := &Run{ID: "block", Block: true, Wall: testWall, Texts: make([]*Text, len(lines))}
	for i, line := range lines {
		op.Requests = append(op.Requests, bind(t, line...))
		if op.Requests[i].Spec.Group == commands.Scripting {
			op.Texts[i] = NewText(line[1])
		}
	}
	return op
}

// TestGivenReplies shows that replies that are known stand in their places, and that their commands are not executed.
func TestGivenReplies(t *testing.T) {
	n := newNode(t)
	op := blockOf(t, []string{"SET", "k", "1"}, []string{"EVALSHA", "unknown", "0"}, []string{"SCRIPT", "EXISTS", "x", "y"}, []string{"INCR", "k"})
	noScript, exists := resp.ErrNoScript.Value(), resp.Arr(resp.Int(0), resp.Int(1))
	op.Texts, op.Given = nil, []*resp.Value{nil, &noScript, &exists, nil}
	r := n.send(op, Target{})
	require.Empty(t, r.Reason)
	assert.Equal(t, resp.Arr(resp.OK(), noScript, exists, resp.Int(2)), r.Answer.Reply)
}
