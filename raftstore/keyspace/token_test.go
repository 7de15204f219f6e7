package keyspace

import (
	"slices"
	"testing"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
)

// run executes command lines, each in a transaction of its own, and returns the last reply.
func run(t *testing.T, ks *Keyspace, s Stamp, lines ...string) (last resp.Value) {
	t.Helper()
	for _, line := range lines {
		last = do(t, ks, s, words(line)...)
	}
	return last
}

// TestTokenOfAKey says which commands begin a new instance of a key and which go on with the present one.
func TestTokenOfAKey(t *testing.T) {
	tests := []struct {
		name  string
		setup []string
		line  string
		key   string
		fresh bool
	}{
		{"SET of a free key", nil, "SET k v", "k", true},
		{"SET of another value", []string{"SET k v"}, "SET k w", "k", true},
		{"SET of another value with KEEPTTL", []string{"SET k v EX 10"}, "SET k w KEEPTTL", "k", true},
		{"SET of the same value", []string{"SET k v"}, "SET k v", "k", false},
		{"SET of the same value with a TTL", []string{"SET k v"}, "SET k v PX 100", "k", false},
		{"SET over a hash", []string{"HSET k f v"}, "SET k v", "k", true},
		{"SET NX of a held key", []string{"SET k v"}, "SET k w NX", "k", false},
		{"SET IFEQ with another value", []string{"SET k v"}, "SET k w IFEQ v", "k", true},
		{"SET IFEQ with the same value", []string{"SET k v"}, "SET k v IFEQ v PX 100", "k", false},
		{"SET IFEQ that fails", []string{"SET k v"}, "SET k w IFEQ x", "k", false},
		{"SET IFNE of a free key", nil, "SET k v IFNE w", "k", true},
		{"DELEX that fails", []string{"SET k v"}, "DELEX k IFEQ x", "k", false},
		{"SETEX of another value", []string{"SET k v"}, "SETEX k 10 w", "k", true},
		{"SETEX of the same value", []string{"SET k v"}, "SETEX k 10 v", "k", false},
		{"GETSET", []string{"SET k v"}, "GETSET k w", "k", true},
		{"MSET", []string{"SET k v"}, "MSET x 1 k w", "k", true},
		{"SETNX", nil, "SETNX k v", "k", true},
		{"APPEND to a free key", nil, "APPEND k v", "k", true},
		{"APPEND", []string{"SET k v"}, "APPEND k w", "k", false},
		{"SETRANGE", []string{"SET k v"}, "SETRANGE k 0 w", "k", false},
		{"INCR of a free key", nil, "INCR k", "k", true},
		{"INCR", []string{"SET k 1"}, "INCR k", "k", false},
		{"INCRBYFLOAT", []string{"SET k 1"}, "INCRBYFLOAT k 0.5", "k", false},
		{"GETEX", []string{"SET k v"}, "GETEX k PX 100", "k", false},
		{"EXPIRE", []string{"SET k v"}, "EXPIRE k 10", "k", false},
		{"PERSIST", []string{"SET k v EX 10"}, "PERSIST k", "k", false},
		{"HSET of a free key", nil, "HSET k f v", "k", true},
		{"HSET", []string{"HSET k f v"}, "HSET k f w", "k", false},
		{"HINCRBY of a free key", nil, "HINCRBY k f 1", "k", true},
		{"HINCRBY: the owner enters again", []string{"HINCRBY k f 1"}, "HINCRBY k f 1", "k", false},
		{"HDEL of one field of two", []string{"HSET k f v g w"}, "HDEL k f", "k", false},
		{"RENAME", []string{"SET a v"}, "RENAME a k", "k", true},
		{"RENAME over a key", []string{"SET a v", "SET k w"}, "RENAME a k", "k", true},
		{"COPY", []string{"SET a v"}, "COPY a k", "k", true},
		{"the source of a COPY", []string{"SET k v"}, "COPY k b", "k", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{Now: 5, Wall: 1000}, tt.setup...)
			before := run(t, ks, Stamp{Now: 5}, "FENCE "+tt.key)
			newest := int64(ks.LastToken())
			if v := run(t, ks, Stamp{Now: 5}, tt.line); v.IsErr() {
				t.Fatal(v.Str)
			}
			after := run(t, ks, Stamp{Now: 5}, "FENCE "+tt.key)
			if tt.fresh && after.Int() <= newest {
				t.Errorf("token %d, want one above %d", after.Int(), newest)
			}
			if !tt.fresh && (after.Int() != before.Int() || before.IsNull()) {
				t.Errorf("token %d, want %d as before", after.Int(), before.Int())
			}
		})
	}
}

func TestTokenIsNewAfterTheKeyWasGone(t *testing.T) {
	for _, end := range [][]string{{"DEL k"}, {"DELEX k IFEQ v"}, {"GETDEL k"}, {"PEXPIRE k -1"}, {"FLUSHALL"}, {"RENAME k x"}, {"MOVE k 3"}} {
		t.Run(end[0], func(t *testing.T) {
			ks := New()
			first := run(t, ks, Stamp{Now: 5, Wall: 1000}, "SET k v NX FENCE")
			run(t, ks, Stamp{Now: 5, Wall: 10}, end...)
			second := run(t, ks, Stamp{Now: 5, Wall: 20}, "SET k v NX FENCE")
			if first.Int() != 1000 || second.Int() <= first.Int() {
				t.Errorf("tokens %d, %d", first.Int(), second.Int())
			}
		})
	}
}

func TestMoveGivesANewToken(t *testing.T) {
	ks := New()
	first := run(t, ks, Stamp{Now: 5, Wall: 1000}, "SET k v FENCE")
	run(t, ks, Stamp{Now: 5}, "MOVE k 2")
	txn := ks.Begin(Stamp{Now: 5})
	txn.Select(2)
	if got := txn.Exec(bound(t, "FENCE", "k")); got.Int() <= first.Int() {
		t.Errorf("token %d after MOVE, had %d", got.Int(), first.Int())
	}
}

func TestFence(t *testing.T) {
	ks := New()
	token := run(t, ks, Stamp{Now: 1, Wall: 77}, "SET s owner PX 50 FENCE").Int()
	hashToken := token + 1
	run(t, ks, Stamp{Now: 1}, "HSET h owner 1")
	tests := []struct {
		line string
		want resp.Value
	}{
		{"FENCE s", resp.Int(token)},
		{"FENCE s owner", resp.Int(token)},
		{"FENCE s other", resp.Value{}},
		{"FENCE h", resp.Int(hashToken)},
		{"FENCE h owner", resp.Int(hashToken)},
		{"FENCE h other", resp.Value{}},
		{"FENCE nokey", resp.Value{}},
		{"FENCE s owner x", resp.WrongArity("fence").Value()},
		{"FENCE", resp.WrongArity("fence").Value()},
		{"GET __fence__:s", resp.Str("77")},
		{"GET __fence__:nokey", resp.Value{}},
		{"EXISTS __fence__:s", resp.Int(0)},
		{"SET __fence__:s 1", resp.ErrReserved.Value()},
		{"DEL a __fence__:s", resp.ErrReserved.Value()},
		{"MSET a 1 __fence__:s 2", resp.ErrReserved.Value()},
		{"MSET a __fence__:s", resp.OK()}, // a value may be anything
		{"RENAME s __fence__:s", resp.ErrReserved.Value()},
		{"COPY __fence__:s x", resp.ErrReserved.Value()},
		{"HSET __fence__:s f v", resp.ErrReserved.Value()},
		{"SET s other NX FENCE", resp.Value{}},
		{"SET s owner PX 90 FENCE", resp.Int(token)},
		{"SET s owner GET FENCE", resp.ErrFenceWithGet.Value()},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			if got := run(t, ks, Stamp{Now: 1}, tt.line); !equal(got, tt.want) {
				t.Errorf("got %s, want %s", show(got), show(tt.want))
			}
		})
	}
}

// TestTokensOnlyGrow draws tokens while the wall clock jumps about.
func TestTokensOnlyGrow(t *testing.T) {
	ks := New()
	var last fencing.Token
	for i, wall := range []int64{1_000, 5_000, 0, -7, 5_000, 4_999, 6_000, 1 << 60, 3} {
		run(t, ks, Stamp{Now: int64(i), Wall: wall}, "DEL k", "SET k v")
		if ks.LastToken() < last || (ks.LastToken() == last && last != fencing.Max) || !ks.LastToken().Valid() {
			t.Errorf("token %d after %d", ks.LastToken(), last)
		}
		last = ks.LastToken()
	}
}

func equal(a, b resp.Value) bool { return show(a) == show(b) }

func show(v resp.Value) string { return string(resp.Append(nil, v, resp.RESP3)) }

func shows(values []resp.Value) []string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		texts = append(texts, v.Str)
	}
	slices.Sort(texts)
	return texts
}
