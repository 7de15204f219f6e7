package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/script"
)

// shortcuts are texts that run without the interpreter, and some that only look like it.
var shortcuts = []struct{ name, text string }{
	{"the usual one", compareAndDelete},
	{"of redis.io", "if redis.call(\"get\",KEYS[1]) == ARGV[1]\nthen\n    return redis.call(\"del\",KEYS[1])\nelse\n    return 0\nend\n"},
	{"without else", "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 007"},
	{"parentheses", "if (redis.call('get', KEYS[1]) == ARGV[1]) then return (redis.call('del', KEYS[1])) else return 1 end"},
	{"renewal", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end"},
	{"unless it is another's", "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\nreturn redis.call('DEL', KEYS[1])"},
	{"unless, with else", "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 5 else return redis.call('del', KEYS[1]) end"},
	{"shebang", "#!lua flags=no-writes\nif redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"},
	{"key as argument", "if redis.call('get', ARGV[1]) == KEYS[1] then return redis.call('del', KEYS[2], 'x') else return 0 end"},
	{"no such element", "if redis.call('get', KEYS[3]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"},
	{"index 0", "if redis.call('get', KEYS[0]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"},
	{"pcall", "if redis.pcall('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"},
	{"not equal", "if redis.call('get', KEYS[1]) ~= ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"},
	{"less", "if redis.call('get', KEYS[1]) < ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"},
	{"two values", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]), 5 else return 0 end"},
	{"a step before", "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('x') return redis.call('del', KEYS[1]) else return 0 end"},
	{"a step behind", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end redis.call('x') return 0"},
	{"elseif", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) elseif true then return 3 else return 0 end"},
	{"fraction", "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0.5 end"},
	{"literal", "if redis.call('get', KEYS[1]) == 'mine' then return redis.call('del', KEYS[1]) else return 0 end"},
	{"a name of its own", "local redis = {call = function() return 'mine' end} if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"},
}

// TestShortcutsAreTheirScripts runs each text with each pair of replies twice: once so that a shortcut may be taken, and
// once with a budget of steps that is too small for shortcuts, though not for these scripts. Replies, outcomes and
// commands must be the same.
func TestShortcutsAreTheirScripts(t *testing.T) {
	replies := []answered{
		{resp.Str("mine"), false},
		{resp.Str(""), false},
		{resp.Str(strings.Repeat("m", 1023)), false},
		{resp.Str(strings.Repeat("m", 1024)), false},
		{resp.Int(1), false},
		{resp.Str(strings.Repeat("m", 5000)), false},
		{resp.Value{}, false},
		{resp.Value{Kind: resp.NullArray}, false},
		{resp.OK(), false},
		{resp.Strs("a", "b"), false},
		{resp.Int(-7), false},
		{resp.Int(1<<53 + 1), false},
		{resp.Int(-1 << 63), false},
		{resp.Float(1.5), false},
		{resp.Bool(true), false},
		{resp.MapOf(resp.Str("a"), resp.Int(1)), false},
		{resp.Err("WRONGTYPE no"), false},
		{resp.Err("ERR stopped"), true},
		{resp.Int(1), true},
		{resp.Str("mine"), true},
	}
	arguments := []struct{ keys, args []string }{
		{[]string{"k"}, []string{"mine", "30000"}},
		{[]string{"k", "other"}, []string{"", "30000"}},
		{[]string{"mine", "k"}, []string{"k", strings.Repeat("m", 1023)}},
		{[]string{"k"}, []string{strings.Repeat("m", 1024)}},
		{[]string{"k"}, []string{strings.Repeat("m", 1023)}},
		{[]string{"k"}, nil},
		{nil, []string{"mine"}},
		{slices.Repeat([]string{"k"}, 9), []string{"mine", "1"}},
	}
	slow := script.DefaultLimits()
	slow.Steps = 9_999
	quick, interpreter := testEngine(), script.New(slow, "7.0.15")
	for _, s := range shortcuts {
		for _, a := range arguments {
			for i, first := range replies {
				for j, second := range replies {
					if i > 3 && j > 1 {
						continue // the first is unlike any argument, so the second hardly matters
					}
					inv := script.Invocation{SHA: script.SHA1Hex(s.text), Text: s.text, Keys: a.keys, Args: a.args}
					got, want := runWith(quick, inv, first, second), runWith(interpreter, inv, first, second)
					if got != want {
						t.Fatalf("%s, %.20q %.20q, replies %.40v %.40v:\n%.300s\nthe interpreter:\n%.300s", s.name, a.keys, a.args, first, second, got, want)
					}
				}
			}
		}
	}
}

// answered is an answer of a Caller.
type answered struct {
	v    resp.Value
	stop bool
}

// runWith tells all that a run does, when the Caller gives two replies and then errors.
func runWith(e *script.Engine, inv script.Invocation, list ...answered) string {
	r := &recorder{answer: func([]string) (resp.Value, bool) {
		if len(list) == 0 {
			return resp.Err("ERR a third command"), false
		}
		a := list[0]
		list = list[1:]
		return a.v, a.stop
	}}
	inv.Caller = r
	v, out := e.Run(inv)
	return fmt.Sprintf("%v %s %q", out, show(v), r.calls)
}

// TestTheReleaseTakesTheShortcut holds that the usual script allocates next to nothing, so runs without the interpreter.
func TestTheReleaseTakesTheShortcut(t *testing.T) {
	for _, s := range shortcuts[:9] {
		replies := constCaller{"get": resp.Str("mine"), "GET": resp.Str("mine"), "del": resp.Int(1), "DEL": resp.Int(1), "pexpire": resp.Int(1)}
		e, inv := testEngine(), script.Invocation{
			SHA: script.SHA1Hex(s.text), Text: s.text, Keys: []string{"mine", "k"}, Args: []string{"mine", "1"}, Caller: replies,
		}
		n := testing.AllocsPerRun(100, func() {
			if v, out := e.Run(inv); out != script.Done || v.Int() != 1 {
				t.Fatalf("%s: %v %s", s.name, out, show(v))
			}
		})
		if n > 0 {
			t.Errorf("%s: %v allocations", s.name, n)
		}
	}
}
