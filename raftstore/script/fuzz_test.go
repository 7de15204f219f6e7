package script_test

import (
	"strings"
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/script"
)

// smallLimits keep a fuzzed script short.
func smallLimits() script.Limits {
	l := script.DefaultLimits()
	l.Steps, l.Memory, l.Text = 50_000, 4<<20, 16<<10
	return l
}

// echoCaller answers with what it is asked, in the kind that the name says.
type echoCaller struct{ log []string }

func (c *echoCaller) Call(args []string) (resp.Value, bool) {
	c.log = append(c.log, strings.Join(args, "\x00"))
	switch args[0] {
	case "int":
		return resp.Int(int64(len(args))), false
	case "err":
		return resp.Err("ERR " + strings.Join(args[1:], " ")), false
	case "nil":
		return resp.Value{}, false
	case "ok":
		return resp.OK(), false
	case "map":
		return resp.MapOf(resp.Str("a"), resp.Float(1.5), resp.Str("b"), resp.Bool(true)), false
	case "stop":
		return resp.Err("ERR stopped"), true
	}
	return resp.Strs(args...), false
}

// FuzzRun looks for texts that crash, that run on, or whose result depends on what ran before.
func FuzzRun(f *testing.F) {
	for _, group := range sameAsRedis {
		for _, text := range group.scripts {
			f.Add(text)
		}
	}
	for _, h := range hostile {
		f.Add(h.text)
	}
	f.Add(compareAndDelete)
	f.Add(redissonReadLock)
	used := script.New(smallLimits(), "7.0.15")
	f.Fuzz(func(t *testing.T, text string) {
		c1, c2 := &echoCaller{}, &echoCaller{}
		v1, out1 := script.New(smallLimits(), "7.0.15").Run(invocation(text, c1))
		v2, out2 := used.Run(invocation(text, c2))
		if out1 != out2 || show(v1) != show(v2) || strings.Join(c1.log, "\n") != strings.Join(c2.log, "\n") {
			t.Errorf("a new engine: %v %s, a used one: %v %s", out1, show(v1), out2, show(v2))
		}
		if strings.HasPrefix(v1.Str, "ERR redfence: internal error") {
			t.Error(v1.Str)
		}
	})
}

// FuzzConvert sends values through a script, which may change their kinds but nothing else.
func FuzzConvert(f *testing.F) {
	f.Add("text", int64(5), uint8(0))
	f.Add("a\nb\x00\xff", int64(-1<<53), uint8(7))
	f.Add("", int64(1<<62), uint8(255))
	e := script.New(script.DefaultLimits(), "7.0.15")
	f.Fuzz(func(t *testing.T, s string, n int64, shape uint8) {
		in := shaped(s, n, shape, 3)
		caller := &recorder{answer: func([]string) (resp.Value, bool) { return in, false }}
		v, out := e.Run(invocation(`return redis.pcall("x")`, caller))
		if out != script.Done {
			t.Fatalf("%s: %v %s", show(in), out, show(v))
		}
		if got, want := show(v), show(asSeen(in)); got != want {
			t.Errorf("%s became %s, want %s", show(in), got, want)
		}
	})
}

// shaped makes a value of nested kinds.
func shaped(s string, n int64, shape uint8, depth int) resp.Value {
	switch shape % 8 {
	case 0:
		return resp.Str(s)
	case 1:
		return resp.Int(n)
	case 2:
		return resp.Value{}
	case 3:
		return resp.Status(s)
	case 4:
		return resp.Err(s)
	case 5:
		return resp.Value{Kind: resp.BigNumber, Str: s}
	}
	if depth == 0 {
		return resp.Text(s)
	}
	elems := []resp.Value{shaped(s, n, shape>>1, depth-1), shaped(s, n, shape>>2, depth-1)}
	if shape%8 == 6 {
		return resp.Arr(elems...)
	}
	return resp.MapOf(elems...)
}

// asSeen is what a script that returns a reply as it got it answers.
func asSeen(v resp.Value) resp.Value {
	switch v.Kind {
	case resp.Integer:
		f := float64(v.Int())
		if f >= 1<<63 {
			return resp.Int(-1 << 63)
		}
		return resp.Int(int64(f))
	case resp.BigNumber, resp.Verbatim:
		return resp.Str(v.Str)
	case resp.Simple:
		return resp.Status(strings.NewReplacer("\r", " ", "\n", " ").Replace(v.Str))
	case resp.Map, resp.Array:
		out := resp.Arr()
		for _, e := range v.Elems {
			out.Elems = append(out.Elems, asSeen(e))
		}
		return out
	default:
		return v
	}
}
