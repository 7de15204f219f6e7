package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/script"
)

// recorder keeps the commands of a script and answers by a function.
type recorder struct {
	calls  []string
	answer func(args []string) (resp.Value, bool)
}

func (r *recorder) Call(args []string) (resp.Value, bool) {
	r.calls = append(r.calls, strings.Join(args, " "))
	return r.answer(args)
}

func TestStopEndsTheScript(t *testing.T) {
	e := testEngine()
	r := &recorder{answer: func(args []string) (resp.Value, bool) { return resp.Err("ERR gone"), args[0] == "stop" }}
	text := `redis.pcall("a") pcall(function() redis.pcall("stop") end) redis.pcall("b") return 1`
	for range 3 {
		r.calls = nil
		v, out := e.Run(invocation(text, r))
		if out != script.Stopped || show(v) != "-ERR gone" || fmt.Sprint(r.calls) != "[a stop]" {
			t.Fatalf("got %v %s after %q", out, show(v), r.calls)
		}
		if v, out := e.Run(invocation(`return {pcall(function() return "x" end)}`, r)); out != script.Done {
			t.Fatal(out, show(v))
		}
	}
}

func TestNothingLeaksBetweenRuns(t *testing.T) {
	e := testEngine()
	c := &countingCaller{reply: resp.Str("v")}
	for _, tc := range []struct{ first, second, want string }{
		{`KEYS[1] = "changed" KEYS.x = 1 return 1`, `return {KEYS[1], tostring(KEYS.x)}`, `*["key" "nil"]`},
		{`local n = 0 n = n + 1 return n`, `local n = 0 n = n + 1 return n`, ":1"},
		{`redis.setresp(3) return 1`, `return false`, "nil"},
		{`math.randomseed(99) return 1`, `return math.random(100)`, ":18"},
		{`return tostring({})`, `return tostring({})`, `"table: 0x7f0000000010"`},
		{`error("x")`, `return select("#", ...)`, ":0"},
		{`pcall(function() error({}) end) return 1`, `return pcall(error)`, "nil"},
		{
			`loadstring("error(1)", "=user_script")()`, `local x = nil return x.y`,
			"-ERR user_script:1: attempt to index local 'x' (a nil value) script: " +
				script.SHA1Hex(`local x = nil return x.y`) + ", on @user_script:1.",
		},
		{`setmetatable(KEYS, {__index = function() return "leak" end}) return 1`, `return KEYS[7]`, "nil"},
	} {
		e.Run(invocation(tc.first, c))
		if v, _ := e.Run(invocation(tc.second, c)); show(v) != tc.want {
			t.Errorf("%s after %s: got %s, want %s", tc.second, tc.first, show(v), tc.want)
		}
	}
}

// TestPanicOfTheCallerIsNotAScriptError keeps a fault of the state machine from looking like one of a script.
func TestPanicOfTheCallerIsNotAScriptError(t *testing.T) {
	for _, text := range []string{`return redis.call("x")`, `return pcall(redis.call, "x")`} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic was swallowed", text)
				}
			}()
			testEngine().Run(invocation(text, &recorder{answer: func([]string) (resp.Value, bool) { panic("fault") }}))
		}()
	}
}

func TestCacheIsBounded(t *testing.T) {
	l := script.DefaultLimits()
	l.Cached, l.CachedBytes = 3, 100
	e := script.New(l, "7.0.15")
	for round := range 2 {
		for i := range 10 {
			text := fmt.Sprintf("return %d -- %s", i, strings.Repeat("x", i*10))
			if v, out := e.Run(invocation(text, nil)); out != script.Done || v.Int() != int64(i) {
				t.Fatalf("round %d: %v %s", round, out, show(v))
			}
		}
	}
}

func TestLog(t *testing.T) {
	var got []string
	inv := invocation(`redis.log(redis.LOG_WARNING, "a", 5, "b") redis.log(0, "") return 1`, nil)
	inv.Log = func(level int, msg string) { got = append(got, fmt.Sprint(level, ":", msg)) }
	testEngine().Run(inv)
	if fmt.Sprint(got) != "[3:a 5 b 0:]" {
		t.Errorf("got %q", got)
	}
}

// TestUsualScriptsAreFarBelowTheBudget runs with a hundredth of the steps.
func TestUsualScriptsAreFarBelowTheBudget(t *testing.T) {
	l := script.DefaultLimits()
	l.Steps, l.Memory = l.Steps/100, l.Memory/100
	e := script.New(l, "7.0.15")
	text := `local out = {} for i = 1, 100 do if redis.call('hexists', 'k' .. i, ARGV[1]) == 'v' then
		redis.call('pexpire', 'k' .. i, 30000) table.insert(out, 1) else table.insert(out, 0) end end return out`
	if v, out := e.Run(invocation(text, &countingCaller{reply: resp.Str("v")})); out != script.Done {
		t.Error(out, show(v))
	}
}

func TestOverBudgetText(t *testing.T) {
	for text, want := range map[string]string{
		`while true do end`:          "ERR redfence: script exceeded its instruction budget of 4000000 steps, ",
		`return string.rep("x",1e9)`: "ERR redfence: script exceeded its memory budget of 67108864 bytes, ",
	} {
		v, out := testEngine().Run(invocation(text, nil))
		if out != script.OverBudget || !strings.HasPrefix(v.Str, want) || !strings.HasSuffix(v.Str, " script: "+script.SHA1Hex(text)) {
			t.Errorf("%s: %v %s", text, out, show(v))
		}
	}
}
