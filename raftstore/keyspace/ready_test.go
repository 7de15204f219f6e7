package keyspace

import (
	"slices"
	"testing"

	"github.com/redfence/redfence/commands"
)

// TestReady lists what waiting clients must be told of after a step, and what not.
func TestReady(t *testing.T) {
	l, z, other := ReadyKey{Key: "l"}, ReadyKey{Key: "z"}, ReadyKey{Key: "new"}
	tests := []struct {
		name  string
		lines []string
		want  []ReadyKey
	}{
		{"a push", []string{"LPUSH new a"}, []ReadyKey{other}},
		{"a push to a list that is there", []string{"RPUSH l x"}, []ReadyKey{l}},
		{"a member", []string{"ZADD new 1 a"}, []ReadyKey{other}},
		{"a score", []string{"ZADD z 9 a"}, nil},
		{"in the order of the changes, each once", []string{"ZADD z 1 x", "LPUSH new a", "LPUSH new b", "RPUSH l x"}, []ReadyKey{z, other, l}},
		{"pushed and popped", []string{"LPUSH new a", "LPOP new"}, nil},
		{"popped and pushed", []string{"LTRIM l 1 0", "LPUSH l a"}, []ReadyKey{l}},
		{"popped", []string{"LPOP l", "ZPOPMIN z"}, nil},
		{"a move", []string{"LMOVE l new LEFT LEFT"}, []ReadyKey{other}},
		{"a rotation", []string{"LMOVE l l LEFT RIGHT"}, nil},
		{"a stored range", []string{"ZRANGESTORE new z 0 0"}, []ReadyKey{other}},
		{"another name", []string{"RENAME l new"}, []ReadyKey{other}},
		{"another type", []string{"RENAME z l"}, []ReadyKey{l}},
		{"a copy in another database", []string{"COPY l new DB 3"}, []ReadyKey{{DB: 3, Key: "new"}}},
		{"other kinds", []string{"SET new v", "SADD s x", "HSET h f v", "DEL l"}, nil},
		{"exchanged databases", []string{"SWAPDB 0 1"}, []ReadyKey{{DB: 1, All: true}}},
		{"nothing", []string{"LLEN l", "LPUSHX new a"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ks := New()
			run(t, ks, Stamp{}, "RPUSH l a b", "ZADD z 1 a 2 b", "SADD s a")
			txn := ks.Begin(Stamp{})
			exec(t, txn, "RPUSH before a")
			mark := txn.Mark()
			for _, line := range tt.lines {
				if v := exec(t, txn, line); v.IsErr() {
					t.Fatal(v.Str)
				}
				if len(tt.lines) > 1 && tt.lines[0][0] == 'Z' {
					txn.Mark() // the steps of a block
				}
			}
			if got := txn.Ready(mark); !slices.Equal(got, tt.want) {
				t.Errorf("ready %v, want %v", got, tt.want)
			}
			txn.Rollback(mark)
			if got := txn.Ready(mark); len(got) != 0 {
				t.Errorf("ready %v after a rollback", got)
			}
		})
	}
}

// TestADryTransactionMakesNothingReady covers requests that turn out to need the log.
func TestADryTransactionMakesNothingReady(t *testing.T) {
	txn := New().Try(Stamp{Clock: 1, Wall: 1})
	mark := txn.Mark()
	r, err := commands.Bind([]string{"LPUSH", "l", "a"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	txn.Exec(r)
	if got := txn.Ready(mark); len(got) != 0 {
		t.Errorf("ready %v", got)
	}
}
