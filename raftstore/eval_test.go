package raftstore

import (
	"strings"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/keyspace"
	"github.com/redfence/redfence/raftstore/script"
)

func TestScriptsInTheStore(t *testing.T) {
	const setThenLoop = `redis.call('SET', KEYS[1], 'x', 'PX', 60000) while true do end`
	tests := []struct {
		name  string
		lines [][]string // the last one's reply is checked
		want  string     // the reply in RESP2, or how it begins
	}{
		{"a reentrant acquire gives the token", [][]string{
			{"EVAL", `redis.call('HINCRBY', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], 60000)
				return redis.call('FENCE', KEYS[1], ARGV[1]) == redis.call('FENCE', KEYS[1])`, "1", "k", "me"},
		}, ":1\r\n"},
		{"another owner gets no token", [][]string{
			{"EVAL", `redis.call('HSET', KEYS[1], 'me', 1) return redis.call('FENCE', KEYS[1], 'you')`, "1", "k"},
		}, "$-1\r\n"},
		{
			"over its budget a script ends with an error",
			[][]string{{"EVAL", setThenLoop, "1", "k"}},
			"-ERR redfence: script exceeded its instruction budget",
		},
		{"over its budget a script leaves nothing", [][]string{{"EVAL", setThenLoop, "1", "k"}, {"EXISTS", "k"}}, ":0\r\n"},
		{"pcall does not save a script over its budget", [][]string{
			{"EVAL", `redis.call('SET', KEYS[1], 'x') pcall(function() while true do end end) return 1`, "1", "k"},
			{"EXISTS", "k"},
		}, ":0\r\n"},
		{"an ordinary error keeps earlier writes, as in Redis", [][]string{
			{"EVAL", `redis.call('SET', KEYS[1], 'x') return redis.call('HGET', KEYS[1], 'f')`, "1", "k"},
			{"GET", "k"},
		}, "$1\r\nx\r\n"},
		{"EVALSHA knows what EVAL ran", [][]string{
			{"EVAL", "return 7", "0"}, {"EVALSHA", strings.ToUpper(script.SHA1Hex("return 7")), "0"},
		}, ":7\r\n"},
		{"EVALSHA does not know what SCRIPT FLUSH forgot", [][]string{
			{"EVAL", "return 7", "0"}, {"SCRIPT", "FLUSH"}, {"EVALSHA", script.SHA1Hex("return 7"), "0"},
		}, "-NOSCRIPT No matching script. Please use EVAL.\r\n"},
		{"a text that does not compile is not remembered", [][]string{
			{"EVAL", "retur 7", "0"}, {"SCRIPT", "EXISTS", script.SHA1Hex("retur 7")},
		}, "*1\r\n:0\r\n"},
		{
			"SCRIPT LOAD refuses what does not compile",
			[][]string{{"SCRIPT", "LOAD", "retur 7"}},
			"-ERR Error compiling script (new function):",
		},
		{"SELECT in a script does not leak", [][]string{
			{"EVAL", `redis.call('SELECT', 3) return redis.call('SET', 'k', 'three')`, "0"}, {"GET", "k"},
		}, "$-1\r\n"},
		{"a read-only script may not write", [][]string{
			{"EVAL_RO", `return redis.call('SET', KEYS[1], 'x')`, "1", "k"},
		}, "-ERR Write commands are not allowed from read-only scripts."},
		{"a script with the flag no-writes may not write", [][]string{
			{"EVAL", "#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], 'x')", "1", "k"},
		}, "-ERR Write commands are not allowed from read-only scripts."},
		{"a script whose commands go through too much is taken back", [][]string{
			{
				"EVAL", `for i = 1, 100 do redis.call('RPUSH', 'l', i) end redis.call('SET', 'a', 'x')
				for i = 1, 1000 do redis.call('LPOS', 'l', 'nosuch') end`, "0",
			},
			{"EXISTS", "a", "l"},
		}, ":0\r\n"},
		{"a script that makes the store copy too much is taken back", [][]string{
			{
				"EVAL", `redis.call('SET', 'a', 'x') for i = 1, 1000 do redis.call('APPEND', KEYS[1], ARGV[1]) end`, "1", "k",
				strings.Repeat("x", 1<<20),
			},
			{"EXISTS", "a", "k"},
		}, ":0\r\n"},
		{"blocking and session commands are refused", [][]string{
			{"EVAL", `return redis.call('SUBSCRIBE', 'ch')`, "0"},
		}, "-ERR This Redis command is not allowed from script"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := untimed(t)
			cfg.Scripts.Steps = 20_000
			s := open(t, cfg)
			got := last(t, s, tt.lines)
			if !strings.HasPrefix(got, tt.want) {
				t.Fatalf("reply %q, want %q", got, tt.want)
			}
			state := dump(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if replayed := dump(t, open(t, cfg)); replayed != state {
				t.Errorf("the replayed state differs:\n%q\n%q", replayed, state)
			}
		})
	}
}

// last runs command lines and returns the last reply in RESP2.
func last(t *testing.T, s *Store, lines [][]string) string {
	t.Helper()
	st := s.Open()
	var v resp.Value
	for _, line := range lines {
		v = do(t, st, line...).Reply
	}
	return string(resp.Append(nil, v, resp.RESP2))
}

// dump is the whole state as a snapshot.
func dump(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	if err := s.machine.view().writeTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAScriptThatWritesNothingIsNotLogged(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	st := s.Open()
	do(t, st, "SET", "held", "owner")
	const release = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end`
	do(t, st, "EVAL", release, "1", "held", "stranger") // the first use brings the text into the log
	before := s.Stats().Entries
	if got := do(t, st, "EVAL", release, "1", "held", "stranger").Reply; got.Int() != 0 || got.IsErr() {
		t.Fatalf("a stranger's release: %+v", got)
	}
	if after := s.Stats().Entries; after != before {
		t.Errorf("%d log entries for a script that wrote nothing", after-before)
	}
	if got := do(t, st, "EVAL", release, "1", "held", "owner").Reply; got.Int() != 1 {
		t.Errorf("the owner's release: %+v", got)
	}
}

func TestABlockRunsAsOne(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	result := make(chan commands.Result, 1)
	s.Open().Submit(&commands.Call{Block: true, Done: func(r commands.Result) { result <- r }, Requests: []*commands.Request{
		request(t, "SET", "a", "1"), request(t, "HGET", "a", "f"), request(t, "INCR", "a"), request(t, "PUBLISH", "ch", "m"),
	}})
	got := string(resp.Append(nil, (<-result).Reply, resp.RESP2))
	want := "*4\r\n+OK\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n:2\r\n:0\r\n"
	if got != want {
		t.Errorf("reply %q, want %q", got, want)
	}
	if n := s.Stats().Entries; n != 1 {
		t.Errorf("%d log entries, want 1", n)
	}
}

func TestADryScriptDoesNotGoOnForLong(t *testing.T) {
	m := newMachine(DefaultConfig("").Scripts)
	calls := &commands.Call{Requests: []*commands.Request{request(t, "EVAL",
		`local n = 0 while redis.call('EXISTS', 'k') == 0 do redis.call('SET', 'k', 'x') n = n + 1 end return n`, "0")}}
	txn := m.ks.Begin(keyspace.Stamp{Now: 1})
	txn.Remember(script.SHA1Hex(calls.Requests[0].Args[1]), calls.Requests[0].Args[1])
	if v, ok := m.try(calls, keyspace.Stamp{Clock: 1, Wall: 1}, noSink{}); ok {
		t.Fatalf("a script that writes was answered without the log: %+v", v)
	}
	if got := m.exec(m.ks.Begin(keyspace.Stamp{Now: 2}), calls.Requests[0]); got.Int() != 1 {
		t.Errorf("the run that counts: %+v", got)
	}
}

func TestAScriptOverItsBudgetIsNotLogged(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	cfg.Scripts.Steps = 20_000
	s := open(t, cfg)
	st := s.Open()
	before := s.Stats().Entries
	for _, text := range []string{
		"while true do end",
		"redis.call('SET', 'k', 'x') while true do end",
		"while true do redis.call('INCR', 'k') end",
	} {
		if got := do(t, st, "EVAL", text, "0").Reply; !strings.Contains(got.Str, "exceeded its instruction budget") {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if after := s.Stats().Entries; after != before {
		t.Errorf("%d log entries: every replay would run them again", after-before)
	}
	if got := do(t, st, "EXISTS", "k").Reply.Int(); got != 0 {
		t.Error("something was left behind")
	}
}
