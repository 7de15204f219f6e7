package raftstore

import (
	"strings"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/script"
)

const wireOOM = "OOM command not allowed when used memory > 'maxmemory'."

// fullStore is a store that is over its limit, which allows for its first key and not for the second.
func fullStore(t *testing.T) (*Store, Config) {
	t.Helper()
	cfg := untimed(t)
	cfg.MaxMemory = 300
	s := open(t, cfg)
	st := s.Open()
	do(t, st, "HSET", "lock", "owner", "2")
	do(t, st, "SET", "k", "v")
	if used := s.Stats().Memory; used <= cfg.MaxMemory {
		t.Fatalf("%d bytes are not over the limit", used)
	}
	return s, cfg
}

// TestFullStore runs command lines in a store over its limit, and again from the log with another limit: the limit
// that an entry was proposed under holds for ever.
func TestFullStore(t *testing.T) {
	const setLong = "return redis.call('SET', 'k', 'longer')"
	scriptOOM := func(text string, line string) string {
		return "-" + wireOOM + " script: " + script.SHA1Hex(text) + ", on @user_script:" + line + ".\r\n"
	}
	eval := func(text string) []string { return []string{"EVAL", text, "0"} }
	const release = `if redis.call('HEXISTS', 'lock', 'owner') == 0 then return nil end
		if redis.call('HINCRBY', 'lock', 'owner', -1) > 0 then redis.call('PEXPIRE', 'lock', 30000) return 0 end
		redis.call('DEL', 'lock') redis.call('PUBLISH', 'channel', 0) return 1`
	tests := []struct {
		name  string
		lines [][]string
		want  string
	}{
		{"growth is refused", [][]string{{"SET", "new", "v"}}, "-" + wireOOM + "\r\n"},
		{"a renewal is not", [][]string{{"PEXPIRE", "k", "60000"}}, ":1\r\n"},
		{"a refused acquire is not", [][]string{{"SET", "k", "x", "NX", "PX", "5000"}}, "$-1\r\n"},
		{"what is deleted makes room", [][]string{{"DEL", "k"}, {"SET", "x", "v"}}, "+OK\r\n"},
		{"growth in a script is refused in Redis's words", [][]string{eval("\n" + setLong)}, scriptOOM("\n"+setLong, "2")},
		{"pcall may catch it", [][]string{eval("return redis.pcall('SET', 'x', 'y').err")}, "$55\r\n" + wireOOM + "\r\n"},
		{"a script may release", [][]string{eval(release), eval(release)}, ":1\r\n"},
		{"a script that wrote goes on, and may not be larger in the end", [][]string{
			eval("redis.call('DEL', 'k') redis.call('SET', 'k', 'longer') return redis.call('GET', 'k')"),
		}, "-" + wireOOM + "\r\n"},
		{"a script that makes room may use it", [][]string{
			eval("redis.call('DEL', 'lock') return redis.call('SET', 'k', 'longer')"),
		}, "+OK\r\n"},
		{"a script with allow-oom may grow", [][]string{eval("#!lua flags=allow-oom\n" + setLong)}, "+OK\r\n"},
		{"a script that reads is run", [][]string{eval("return redis.call('GET', 'k')")}, "$1\r\nv\r\n"},
		{"texts of scripts count", [][]string{{"SCRIPT", "LOAD", "return 8"}}, "-" + wireOOM + "\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, cfg := fullStore(t)
			if got := last(t, s, tt.lines); got != tt.want {
				t.Errorf("reply %q, want %q", got, tt.want)
			}
			wantSameReplay(t, s, cfg)
		})
	}
}

func wantSameReplay(t *testing.T, s *Store, cfg Config) {
	t.Helper()
	state, used := dump(t, s), s.Stats().Memory
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.MaxMemory = 1
	again := open(t, cfg)
	if replayed := dump(t, again); replayed != state {
		t.Errorf("the replayed state differs:\n%q\n%q", replayed, state)
	}
	if now := again.Stats().Memory; now != used {
		t.Errorf("%d bytes were counted, %d in the replay", used, now)
	}
}

// TestFullStoreAndBlocks shows that a block runs as a whole or not at all.
func TestFullStoreAndBlocks(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"one that grows is refused", []string{"DEL k", "SET k longer", "PUBLISH c m"}, "-EXECABORT Transaction discarded because of: " + wireOOM + "\r\n"},
		{"one that does not is run", []string{"DEL lock", "SET k longer"}, "*2\r\n:1\r\n+OK\r\n"},
		{"one that grows in the middle is run", []string{"SET x y", "DEL lock x"}, "*2\r\n+OK\r\n:2\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, cfg := fullStore(t)
			call := &commands.Call{Block: true}
			for _, line := range tt.lines {
				r, err := commands.Bind(strings.Fields(line), 0)
				if err != nil {
					t.Fatal(err)
				}
				call.Requests = append(call.Requests, r)
			}
			got := string(resp.Append(nil, runCall(s, call).Reply, resp.RESP2))
			if got != tt.want {
				t.Errorf("reply %q, want %q", got, tt.want)
			}
			if k := last(t, s, [][]string{{"GET", "k"}}); strings.HasPrefix(got, "-") && k != "$1\r\nv\r\n" {
				t.Errorf("a refused block left %q", k)
			}
			wantSameReplay(t, s, cfg)
		})
	}
}

// TestARefusedWriteCostsNoEntry has clients ask for more and more in a full store.
func TestARefusedWriteCostsNoEntry(t *testing.T) {
	s, cfg := fullStore(t)
	st := s.Open()
	before := s.Stats().Entries
	for _, line := range [][]string{
		{"SET", "new", "v"},
		{"SET", "new", "v", "NX", "PX", "5000"},
		{"INCR", "counter"},
		{"RPUSH", "list", "a"},
		{"SCRIPT", "LOAD", "return 9"},
		{"EVAL", "return redis.call('SET', KEYS[1], 'v')", "1", "new"},
		{"EVAL", "redis.call('DEL', 'k') redis.call('SET', 'k', 'longer than it was')", "0"},
	} {
		if got := do(t, st, line...).Reply; !strings.HasPrefix(got.Str, wireOOM) {
			t.Errorf("%q: %q", line, got.Str)
		}
	}
	block := &commands.Call{Block: true, Requests: []*commands.Request{request(t, "DEL", "k"), request(t, "SET", "k", "longer")}}
	if got := runCall(s, block).Reply; !strings.HasPrefix(got.Str, "EXECABORT") {
		t.Errorf("a block: %q", got.Str)
	}
	if n := s.Stats().Entries - before; n != 0 {
		t.Errorf("%d log entries for what was refused", n)
	}
	if got := s.Stats().Locks.Failed; got != 1 {
		t.Errorf("%d failed attempts on locks, want 1", got)
	}
	for line, want := range map[string]string{"GET k": "$1\r\nv\r\n", "DEL lock": ":1\r\n"} {
		if got := last(t, s, [][]string{strings.Fields(line)}); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
	wantSameReplay(t, s, cfg)
}

// TestARefusalAfterARestartCostsNoEntryEither begins with what the log holds.
func TestARefusalAfterARestartCostsNoEntryEither(t *testing.T) {
	s, cfg := fullStore(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, cfg)
	before := again.Stats().Entries
	if got := do(t, again.Open(), "SET", "new", "v").Reply; !strings.HasPrefix(got.Str, wireOOM) {
		t.Fatalf("%q", got.Str)
	}
	if n := again.Stats().Entries - before; n != 0 {
		t.Errorf("%d log entries", n)
	}
}

// runCall runs a call on a stream of its own.
func runCall(s *Store, c *commands.Call) commands.Result {
	answer := make(chan commands.Result, 1)
	c.Done = func(r commands.Result) { answer <- r }
	s.Open().Submit(c)
	return <-answer
}
