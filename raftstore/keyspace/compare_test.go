package keyspace

import (
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

// TestCompareAndSet and TestDelex hold the replies of Redis 8.4 and later, since the redis-server that other tests
// compare with is older.
func TestCompareAndSet(t *testing.T) {
	const hello = "9555e8555c62dcfd" // the digest of hello
	tests := []struct {
		name  string
		setup []string
		line  string
		want  resp.Value
		after string // what GET answers then; "-" for nil
	}{
		{"IFEQ of an absent key", nil, "SET k v IFEQ x", resp.Value{}, "-"},
		{"IFNE of an absent key", nil, "SET k v IFNE x", resp.OK(), "v"},
		{"IFDEQ of an absent key", nil, "SET k v IFDEQ " + hello, resp.Value{}, "-"},
		{"IFDNE of an absent key", nil, "SET k v IFDNE " + hello, resp.OK(), "v"},
		{"a digest is not looked at when the key is absent", nil, "SET k v IFDEQ x", resp.Value{}, "-"},
		{"IFEQ", []string{"SET k hello"}, "SET k v IFEQ hello", resp.OK(), "v"},
		{"IFEQ of another value", []string{"SET k hello"}, "SET k v IFEQ hell", resp.Value{}, "hello"},
		{"IFNE", []string{"SET k hello"}, "SET k v IFNE hell", resp.OK(), "v"},
		{"IFNE of the value", []string{"SET k hello"}, "SET k v IFNE hello", resp.Value{}, "hello"},
		{"IFDEQ", []string{"SET k hello"}, "SET k v IFDEQ " + hello, resp.OK(), "v"},
		{"IFDEQ in upper case", []string{"SET k hello"}, "SET k v IFDEQ 9555E8555C62DCFD", resp.OK(), "v"},
		{"IFDEQ of another digest", []string{"SET k hell"}, "SET k v IFDEQ " + hello, resp.Value{}, "hell"},
		{"IFDNE", []string{"SET k hell"}, "SET k v IFDNE " + hello, resp.OK(), "v"},
		{"IFDNE of the digest", []string{"SET k hello"}, "SET k v IFDNE " + hello, resp.Value{}, "hello"},
		{"IFDEQ that is no digest", []string{"SET k hello"}, "SET k v IFDEQ zzzzzzzzzzzzzzzz", resp.Value{}, "hello"},
		{"IFDEQ that is too short", []string{"SET k hello"}, "SET k v IFDEQ 955", resp.ErrDigestLength.Value(), "hello"},
		{"IFDNE that is too long", []string{"SET k hello"}, "SET k v IFDNE 0" + hello, resp.ErrDigestLength.Value(), "hello"},
		{"numbers are compared as texts", []string{"SET k 012"}, "SET k v IFEQ 12", resp.Value{}, "012"},
		{"a counter", []string{"SET k 10", "INCR k"}, "SET k v IFEQ 11", resp.OK(), "v"},
		{"the empty string", []string{`SET k ""`}, `SET k v IFEQ ""`, resp.OK(), "v"},
		{"GET when it holds", []string{"SET k a"}, "SET k v IFEQ a GET", resp.Str("a"), "v"},
		{"GET when it does not", []string{"SET k a"}, "SET k v IFEQ b GET", resp.Str("a"), "a"},
		{"GET of an absent key", nil, "SET k v IFEQ b GET", resp.Value{}, "-"},
		{"FENCE when it holds", []string{"SET k a"}, "SET k v IFEQ a FENCE", resp.Int(1001), "v"},
		{"FENCE of a renewal", []string{"SET k a"}, "SET k a IFEQ a PX 50 FENCE", resp.Int(1000), "a"},
		{"FENCE when it does not", []string{"SET k a"}, "SET k v IFEQ b FENCE", resp.Value{}, "a"},
		{"NX", []string{"SET k a"}, "SET k v IFEQ a NX", resp.ErrSyntax.Value(), "a"},
		{"over its TTL", []string{"SET k a PX 1"}, "SET k v IFEQ a", resp.Value{}, "-"},
		{"KEEPTTL", []string{"SET k a PX 100"}, "SET k v IFEQ a KEEPTTL", resp.OK(), "v"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 1, Wall: 1000}, tt.setup...)
			if got := run(t, ks, Stamp{Now: 5}, tt.line); !equal(got, tt.want) {
				t.Errorf("%s, want %s", show(got), show(tt.want))
			}
			after := run(t, ks, Stamp{Now: 5}, "GET k")
			if (tt.after == "-") != after.IsNull() || (!after.IsNull() && after.Str != tt.after) {
				t.Errorf("then GET k answers %s, want %s", show(after), tt.after)
			}
		})
	}
}

func TestDelex(t *testing.T) {
	tests := []struct {
		name, setup, line string
		want              resp.Value
		gone              bool
	}{
		{"absent", "SET other v", "DELEX k", resp.Int(0), true},
		{"absent, with an unknown condition", "SET other v", "DELEX k WHAT v", resp.Int(0), true},
		{"absent, with half a digest", "SET other v", "DELEX k IFDEQ 9", resp.Int(0), true},
		{"a string", "SET k v", "DELEX k", resp.Int(1), true},
		{"a hash", "HSET k f v", "DELEX k", resp.Int(1), true},
		{"IFEQ", "SET k v", "DELEX k IFEQ v", resp.Int(1), true},
		{"IFEQ of another value", "SET k v", "DELEX k IFEQ w", resp.Int(0), false},
		{"IFNE", "SET k v", "DELEX k ifne w", resp.Int(1), true},
		{"IFNE of the value", "SET k v", "DELEX k IFNE v", resp.Int(0), false},
		{"IFDEQ", "SET k hello", "DELEX k IFDEQ 9555e8555c62dcfd", resp.Int(1), true},
		{"IFDEQ of another digest", "SET k hello", "DELEX k IFDEQ 0000000000000000", resp.Int(0), false},
		{"IFDNE", "SET k hello", "DELEX k IFDNE zzzzzzzzzzzzzzzz", resp.Int(1), true},
		{"IFDNE of the digest", "SET k hello", "DELEX k IFDNE 9555E8555C62DCFD", resp.Int(0), false},
		{"half a digest", "SET k hello", "DELEX k IFDNE 9555e855", resp.ErrDigestLength.Value(), false},
		{"an unknown condition", "SET k v", "DELEX k NX v", resp.ErrDelexCondition.Value(), false},
		{"a hash with a condition", "HSET k f v", "DELEX k IFEQ v", resp.ErrDelexType.Value(), false},
		{"a hash with an unknown condition", "HSET k f v", "DELEX k WHAT v", resp.ErrDelexType.Value(), false},
		{"a condition without a value", "SET k v", "DELEX k IFEQ", resp.WrongArity("delex").Value(), false},
		{"two conditions", "SET k v", "DELEX k IFEQ v IFNE w", resp.WrongArity("delex").Value(), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ks := New()
			if got := run(t, ks, Stamp{Now: 1}, tt.setup, tt.line); !equal(got, tt.want) {
				t.Errorf("%s, want %s", show(got), show(tt.want))
			}
			if got := run(t, ks, Stamp{Now: 1}, "EXISTS k"); (got.Int() == 0) != tt.gone {
				t.Errorf("then EXISTS k answers %d", got.Int())
			}
		})
	}
}

// TestDigest holds digests that a real Redis gives; one has leading zeros.
func TestDigest(t *testing.T) {
	for text, want := range map[string]string{
		"hello": "9555e8555c62dcfd", "": "2d06800538d394c2", "123": "404a763b3f4c8c9a", "v8": "0cc76dbb41381419",
		"v8lf0c11xh8ymlqztfd3eeq16kfn4sspw7fqmnuuq3k3t75em5wdizgcdw7uc26nnf961u2jkfzkjytls2kwlj7626sd": "00006c38adf31777",
	} {
		ks := New()
		do(t, ks, Stamp{Now: 1}, "SET", "k", text)
		if got := do(t, ks, Stamp{Now: 1}, "DIGEST", "k"); got.Str != want {
			t.Errorf("digest of %q: %s, want %s", text, show(got), want)
		}
	}
	ks := New()
	if got := run(t, ks, Stamp{Now: 1}, "DIGEST k"); !got.IsNull() {
		t.Errorf("of an absent key: %s", show(got))
	}
	if got := run(t, ks, Stamp{Now: 1}, "HSET h f v", "DIGEST h"); !equal(got, resp.ErrWrongType.Value()) {
		t.Errorf("of a hash: %s", show(got))
	}
}
