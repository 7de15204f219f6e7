package runner

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/tally"
)

func TestGate(t *testing.T) {
	n := newNode(t)
	op := func() Op { return runOf(t, "id", "SET", "k", "v") }
	now := n.now().UnixMilli()

	r := n.send(op(), Target{Canary: "mine"})
	assert.True(t, r.Void)
	assert.Empty(t, r.Canary)
	assert.NotEmpty(t, r.Reason)

	admitted := n.send(&Admit{Canary: "other"}, Target{}).Admitted
	assert.Equal(t, Admitted{Done: true, Canary: "other"}, admitted)
	admitted = n.send(&Admit{Canary: "again"}, Target{}).Admitted
	assert.Equal(t, Admitted{Done: false, Canary: "other"}, admitted)

	r = n.send(op(), Target{Canary: "mine"})
	assert.True(t, r.Void)
	assert.Equal(t, "other", r.Canary)
	r = n.send(op(), Target{Canary: "other", Deadline: now - 1000})
	assert.True(t, r.Late)
	assert.False(t, r.Ran)
	require.Nil(t, n.raw("GET", "k"), "nothing was executed")

	r = n.send(op(), Target{Canary: "other", Deadline: now + 100_000})
	require.Empty(t, r.Reason)
	assert.Equal(t, resp.OK(), r.Answer.Reply)
	assert.InDelta(t, now, r.Time.Milliseconds(), 60_000)
}

func TestUndo(t *testing.T) {
	n := newNode(t)
	cases := []struct {
		name   string
		before [][]string
		write  []string
	}{
		{"what came into being goes", nil, []string{"SET", "k", "v", "PX", "60000"}},
		{"a string", [][]string{{"SET", "k", "old", "PX", "60000"}}, []string{"SET", "k", "v"}},
		{"a hash", [][]string{{"HSET", "k", "a", "1", "b", "2"}}, []string{"HINCRBY", "k", "a", "1"}},
		{"a list", [][]string{{"RPUSH", "k", "c", "a", "b"}}, []string{"LPOP", "k"}},
		{"a set", [][]string{{"SADD", "k", "a", "b"}}, []string{"SPOP", "k"}},
		{"a sorted set", [][]string{{"ZADD", "k", "1.5", "a", "-inf", "b"}}, []string{"ZADD", "k", "3", "c"}},
		{"a key that went", [][]string{{"SET", "k", "old", "PX", "60000"}}, []string{"GETDEL", "k"}},
		{"a TTL", [][]string{{"SET", "k", "old", "PX", "60000"}}, []string{"PERSIST", "k"}},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			n.raw("FLUSHALL")
			for _, line := range tt.before {
				n.runID("before", line...)
			}
			before := n.fetch("k")
			end := n.raw("PEXPIRETIME", "k")
			writes := n.runID("lost", tt.write...).Answer.Writes
			require.Len(t, writes, 1)
			require.NotEqual(t, before, n.fetch("k"))

			undone := n.send(&Undo{Writes: writes}, Target{}).Undone
			require.Len(t, undone, 1)
			assert.True(t, undone[0].Put)
			assert.Equal(t, before.Version, undone[0].Version)
			after := n.fetch("k")
			assert.Equal(t, end, n.raw("PEXPIRETIME", "k"))
			after.Mark, after.TTL, before.TTL = before.Mark, 0, 0
			assert.ElementsMatch(t, before.Content, after.Content)
			if before.Type != "list" {
				after.Content = before.Content // their order means nothing
			}
			assert.Equal(t, before, after)

			undone = n.send(&Undo{Writes: writes}, Target{}).Undone
			assert.False(t, undone[0].Put, "once is enough")
		})
	}
}

func TestUndoLeavesWhatOthersWrote(t *testing.T) {
	n := newNode(t)
	lost := n.runID("lost", "SET", "k", "mine", "NX", "PX", "60000").Answer.Writes
	n.runID("release", "DEL", "k")
	n.runID("other", "SET", "k", "mine", "NX", "PX", "60000")
	undone := n.send(&Undo{Writes: lost}, Target{}).Undone
	assert.False(t, undone[0].Put)
	assert.Equal(t, "mine", n.raw("GET", "k"))
}

// TestUndoAfterEnd shows that an image whose time is over does not come back.
func TestUndoAfterEnd(t *testing.T) {
	n := newNode(t)
	n.run("SET", "k", "old", "PX", "60000")
	lost := n.runID("lost", "SET", "k", "v").Answer.Writes
	lost[0].ImageEnd = n.now().UnixMilli() - 1
	n.send(&Undo{Writes: lost}, Target{})
	assert.Nil(t, n.raw("GET", "k"))
	assert.Zero(t, n.fetch("k").Token)
}

func (n *node) fetch(key string) State {
	n.t.Helper()
	r := n.send(&Fetch{Keys: []string{key}}, Target{})
	require.Empty(n.t, r.Reason)
	require.Len(n.t, r.States, 1)
	return r.States[0]
}

func TestCopy(t *testing.T) {
	source, target := newNode(t), newNode(t)
	for _, line := range [][]string{
		{"SET", "s", "v", "PX", "60000"},
		{"HSET", "h", "a", "1", "b", "2"},
		{"RPUSH", "l", "c", "a", "b"},
		{"SADD", "m", "x", "y"},
		{"ZADD", "z", "1.5", "a", "inf", "b"},
		{"SET", "gone", "v"},
		{"DEL", "gone"},
	} {
		source.runID("at-"+line[0], line...)
	}
	at := Target{Clock: target.now().UnixMilli(), Now: time.Second}
	for _, key := range []string{"s", "h", "l", "m", "z", "gone"} {
		state := source.fetch(key)
		state.Since = time.Second
		copied := target.send(&Copy{Keys: []Conditional{{State: state}}}, at).Copied
		require.Len(t, copied, 1)
		assert.Equal(t, Copied{Done: true, Version: state.Version}, copied[0], key)
		got := target.fetch(key)
		assert.InDelta(t, state.TTL, got.TTL, 30_000, key)
		got.TTL, got.Since, state.TTL = 0, state.Since, 0
		if state.Type == "hash" || state.Type == "set" {
			assert.ElementsMatch(t, state.Content, got.Content)
			got.Content = state.Content
		}
		assert.Equal(t, state, got)
		copied = target.send(&Copy{Keys: []Conditional{{State: state}}}, at).Copied
		assert.False(t, copied[0].Done, "not over an equal version")
	}
}

func TestCopyConditions(t *testing.T) {
	n := newNode(t)
	w := n.runID("a", "SET", "k", "v", "PX", "60000").Answer.Writes[0]
	higher := tally.Version{Number: 9, Request: "z"}
	state := State{Key: "k", Version: higher, Exists: true, Type: "string", Content: []string{"w"}, TTL: tally.Forever}
	over := state
	over.TTL, over.Since = 1000, 0
	cases := []struct {
		name string
		c    Conditional
		done bool
	}{
		{"another version is expected", Conditional{State: state, Expect: &tally.Version{Number: 1, Request: "b"}}, false},
		{"another instance", Conditional{State: state, Instance: w.Token + 1}, false},
		{"not over a present key", Conditional{State: state, Absent: true}, false},
		{"its time is over", Conditional{State: over}, false},
		{"the version and instance expected", Conditional{State: state, Expect: &w.After, Instance: w.Token}, true},
	}
	at := Target{Clock: n.now().UnixMilli(), Now: 10 * time.Second}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			copied := n.send(&Copy{Keys: []Conditional{tt.c}}, at).Copied
			assert.Equal(t, tt.done, copied[0].Done)
		})
	}
	assert.Equal(t, "w", n.raw("GET", "k"))
	assert.Equal(t, w.Token, n.fetch("k").Mark, "the mark only rises")
}

// TestCopyAgain mends what a step of a node's clock has done to the end of a key, and nothing else.
func TestCopyAgain(t *testing.T) {
	n := newNode(t)
	at := Target{Clock: n.now().UnixMilli(), Now: time.Second}
	for _, key := range []string{"longer", "over", "theirs", "later"} {
		n.runID("a-"+key, "SET", key, "v", "PX", "3600000")
	}
	n.raw("SET", "theirs", "another client's", "PX", "5000")
	copied := func(key string, change func(*State)) bool {
		s := n.fetch(key)
		s.TTL, s.Since = 1000, time.Second
		change(&s)
		return n.send(&Copy{Keys: []Conditional{{State: s, Again: true}}}, at).Copied[0].Done
	}
	absent := func(s *State) { s.Exists = false }
	assert.True(t, copied("longer", func(*State) {}))
	assert.LessOrEqual(t, n.fetch("longer").TTL, int64(1000))
	assert.True(t, copied("over", absent))
	assert.Nil(t, n.raw("GET", "over"))
	assert.False(t, copied("theirs", absent), "what was set there directly")
	assert.False(t, copied("later", func(s *State) { s.Exists, s.Version.Number = false, s.Version.Number-1 }), "an older version")
}

func TestAccept(t *testing.T) {
	n := newNode(t)
	w := n.runID("a", "SET", "k", "v").Answer.Writes[0]
	accept := func(v tally.Version, more int) Accepted {
		return n.send(&Accept{Key: "k", Version: v, Token: w.Token + 5 + fencing.Token(more)}, Target{}).Accepted
	}
	assert.False(t, accept(tally.Version{Number: 1, Request: "other"}, 0).Held)
	assert.Equal(t, Accepted{Held: true, Mark: w.Token + 5}, accept(w.After, 0))
	assert.Equal(t, Accepted{Held: true, Mark: w.Token + 5}, accept(w.After, 0), "twice is no harm")
	assert.Equal(t, Accepted{Held: false, Mark: w.Token + 5}, accept(w.After, -1))
	assert.Equal(t, w.Token+5, n.fetch("k").Token)
}

func TestScan(t *testing.T) {
	n := newNode(t)
	n.send(&Admit{Canary: "c"}, Target{})
	for key := range strings.SplitSeq("abcdefghij", "") {
		n.run("SET", key, "v")
	}
	n.run("DEL", "a")
	n.raw("SET", "foreign", "v")
	keys := map[string]bool{}
	for cursor := "0"; ; {
		r := n.send(&Scan{Cursor: cursor, Count: 3}, Target{Canary: "c"})
		require.Empty(t, r.Reason)
		for _, s := range r.Scanned.Keys {
			keys[s.Key] = s.Exists
		}
		if cursor = r.Scanned.Next; cursor == "0" {
			break
		}
	}
	assert.Len(t, keys, 11)
	assert.False(t, keys["a"])
	assert.True(t, keys["foreign"])
	assert.True(t, keys["j"])
}

func TestCheck(t *testing.T) {
	n := newNode(t)
	good := &Check{Text: "return 1"}
	assert.Equal(t, resp.OK(), Decode(good, n.raw(Args(good, Target{})...)).Answer.Reply)
	bad := &Check{Text: "return end"}
	reply := Decode(bad, n.raw(Args(bad, Target{})...)).Answer.Reply
	assert.Contains(t, reply.Str, "Error compiling script")
}

func TestBlockAndWatch(t *testing.T) {
	n := newNode(t)
	watched := func() []commands.Watch {
		r := bind(t, "WATCH", "a", "b")
		return commands.WatchesOf(r, n.reply(r.Args...))
	}
	block := func(w []commands.Watch) *tally.Answer {
		op := &Run{
			ID: "block", Block: true, Wall: testWall, Watched: w,
			Requests: []*commands.Request{bind(t, "SET", "a", "7"), bind(t, "EVAL", "return {KEYS[1], ARGV[1]}", "1", "k", "v"), bind(t, "INCR", "a")},
			Texts:    []*Text{nil, NewText("return {KEYS[1], ARGV[1]}"), nil},
		}
		r := n.send(op, Target{})
		require.Empty(t, r.Reason)
		return r.Answer
	}
	n.run("SET", "a", "1")
	before := watched()
	require.Len(t, before, 2)
	assert.True(t, before[0].Present)
	n.run("SET", "a", "1")
	n.runID("other", "SET", "a", "3")
	assert.Equal(t, resp.NullArray, block(before).Reply.Kind)
	assert.Equal(t, "3", n.raw("GET", "a"))
	answer := block(watched())
	assert.Equal(t, resp.Arr(resp.OK(), resp.Strs("k", "v"), resp.Int(8)), answer.Reply)
	require.Len(t, answer.Writes, 1)
	assert.Equal(t, "string 1:8", answer.Writes[0].State)
}
