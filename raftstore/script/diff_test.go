package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/script"
)

// liveCaller executes a script's commands on the real server, so that only the interpreters differ.
type liveCaller struct {
	t testing.TB
	c *redisConn
}

func (c liveCaller) Call(args []string) (resp.Value, bool) {
	v := c.c.do(c.t, args...)
	if v.Kind == resp.Error {
		v.Str = scriptError(v.Str)
	}
	return v, false
}

func (c liveCaller) SetProtocol(p resp.Protocol) { c.c.do(c.t, "HELLO", fmt.Sprint(p)) }

// scriptError gives the text that a command's error has inside of a script.
func scriptError(text string) string {
	switch {
	case strings.HasPrefix(text, "ERR unknown command"):
		return "ERR Unknown Redis command called from script"
	case strings.HasPrefix(text, "ERR wrong number of arguments"):
		return "ERR Wrong number of args calling Redis command from script"
	}
	return text
}

func show(v resp.Value) string {
	switch v.Kind {
	case resp.Null, resp.NullArray:
		return "nil"
	case resp.Simple:
		return "+" + v.Str
	case resp.Error:
		return "-" + v.Str
	case resp.Integer:
		return fmt.Sprint(":", v.Int())
	case resp.Bulk:
		return fmt.Sprintf("%q", v.Str)
	case resp.Boolean:
		return fmt.Sprint("#", v.Int() != 0)
	case resp.Double:
		return "," + resp.FormatDouble(v.Float())
	case resp.BigNumber:
		return "(" + v.Str
	case resp.Verbatim:
		return fmt.Sprintf("=%q", v.Str)
	default:
		return aggregate(v)
	}
}

func aggregate(v resp.Value) string {
	var parts []string
	for _, e := range v.Elems {
		parts = append(parts, show(e))
	}
	return map[resp.Kind]string{resp.Map: "%", resp.Set: "~", resp.Array: "*"}[v.Kind] + "[" + strings.Join(parts, " ") + "]"
}

func testEngine() *script.Engine { return script.New(script.DefaultLimits(), "7.0.15") }

// reshape brings a value to what a client of a protocol gets.
func reshape(v resp.Value, protocol resp.Protocol) resp.Value {
	raw := resp.Append(nil, v, protocol)
	r := &redisConn{r: newReader(raw)}
	out, err := r.read()
	if err != nil {
		return resp.Err("unreadable: " + err.Error())
	}
	return out
}

func TestSameAsRedis(t *testing.T) {
	back, e := dialRedis(t, 2), testEngine()
	for _, protocol := range []resp.Protocol{resp.RESP2, resp.RESP3} {
		live := dialRedis(t, int(protocol))
		for _, group := range sameAsRedis {
			t.Run(fmt.Sprintf("%s/resp%d", group.name, protocol), func(t *testing.T) {
				for _, text := range group.scripts {
					compareRun(t, live, back, e, text, protocol)
				}
			})
		}
	}
}

// compareRun evaluates a script on the real server, and here with the same server for its commands.
func compareRun(t *testing.T, live, back *redisConn, e *script.Engine, text string, protocol resp.Protocol) {
	t.Helper()
	keys, args := []string{"k1", "k2"}, []string{"a1", "2", "3.5", "", "x\x00y"}
	live.do(t, "FLUSHALL")
	live.do(t, "SCRIPT", "FLUSH", "SYNC") // makes a new Lua state, with the first settings of cjson
	eval := append([]string{"EVAL", text, "2"}, append(append([]string{}, keys...), args...)...)
	want := show(live.do(t, eval...))
	live.do(t, "FLUSHALL")
	back.do(t, "HELLO", "2")
	v, _ := e.Run(script.Invocation{
		SHA: script.SHA1Hex(text), Text: text, Keys: keys, Args: args, Caller: liveCaller{t, back},
	})
	if got := show(reshape(v, protocol)); got != want {
		t.Errorf("%s\n got %s\nwant %s", text, got, want)
	}
}
