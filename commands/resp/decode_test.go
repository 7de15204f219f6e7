package resp

import (
	"math"
	"testing"
)

func TestDecode(t *testing.T) {
	values := []Value{
		{},
		OK(), Err("ERR no"), Int(-5), Int(math.MaxInt64), Str(""), Str("a\r\nb\x00"), Arr(), Arr(Int(1), Arr(Str("x")), Value{}),
		MapOf(Str("k"), Int(1)), SetOf(Str("a")), PushOf(Str("message"), Str("c")), Float(1.5), Float(math.Inf(-1)), Bool(true), Bool(false),
		Text("hello"),
		{Kind: BigNumber, Str: "123456789012345678901234567890"},
	}
	for _, want := range values {
		wire := string(Append(nil, want, RESP3))
		got, rest, err := Decode(wire + "more")
		if err != nil || rest != "more" || string(Append(nil, got, RESP3)) != wire || got.Kind != want.Kind {
			t.Errorf("Decode(%q) = %v, %q, %v", wire, got, rest, err)
		}
	}
	for wire, kind := range map[string]Kind{"$-1\r\n": Null, "*-1\r\n": NullArray} {
		if got, rest, err := Decode(wire); err != nil || rest != "" || got.Kind != kind {
			t.Errorf("Decode(%q) = %v, %q, %v", wire, got, rest, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, wire := range []string{
		"", "\n", "+OK", "+OK\n", ":\r\n", ":x\r\n", "$3\r\nab\r\n", "$3\r\nabcde", "$-2\r\n", "*2\r\n:1\r\n", "*-2\r\n", "*9999999999\r\n",
		"%1\r\n:1\r\n", "#x\r\n", ",x\r\n", "=2\r\nab\r\n", "=5\r\nab:cd\r\n", "?\r\n", "|1\r\n:1\r\n:1\r\n", "$?\r\n",
	} {
		if v, _, err := Decode(wire); err == nil {
			t.Errorf("Decode(%q) = %v", wire, v)
		}
	}
	deep := ""
	for range 2 * deepestReply {
		deep += "*1\r\n"
	}
	if _, _, err := Decode(deep + ":1\r\n"); err == nil {
		t.Error("a deep reply was read")
	}
}

// FuzzDecode wants that Decode never panics, and that what it reads is what Append writes.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"+OK\r\n", "*2\r\n$1\r\na\r\n:1\r\n", "%1\r\n+k\r\n,1.5\r\n", "_\r\n", "=5\r\ntxt:x\r\n", "*-1\r\n", "~1\r\n#t\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, wire string) {
		v, rest, err := Decode(wire)
		if err != nil {
			return
		}
		if len(rest) >= len(wire) {
			t.Fatalf("nothing was read of %q", wire)
		}
		again, rest, err := Decode(string(Append(nil, v, RESP3)))
		if err != nil || rest != "" {
			t.Fatalf("%q was read as %v, which is not read: %q, %v", wire, v, rest, err)
		}
		if string(Append(nil, again, RESP3)) != string(Append(nil, v, RESP3)) {
			t.Fatalf("%v was read as %v", v, again)
		}
	})
}
