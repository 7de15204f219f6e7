package runner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/tally"
)

const rlockAcquire = `if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; return redis.call('pttl', KEYS[1]);`

const rlockRelease = `if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end;
local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);
if (counter > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); return 0;
else redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], ARGV[1]); return 1; end; return nil;`

// TestWrites shows what is reported of a write: + came into being, - ended, r renewed, = renewed
// to the end that it had, f has a new token, each behind
// the name of the key.
func TestWrites(t *testing.T) {
	cases := []struct {
		name   string
		before [][]string
		line   []string
		want   string
	}{
		{"SET of a free key", nil, []string{"SET", "k", "v"}, "k+f"},
		{"SET of another value", [][]string{{"SET", "k", "old"}}, []string{"SET", "k", "v"}, "kf"},
		{"SET of the same value with a TTL", [][]string{{"SET", "k", "v", "PX", "1000"}}, []string{"SET", "k", "v", "PX", "60000"}, "kr"},
		{"SET of the same value and less TTL", [][]string{{"SET", "k", "v", "PX", "60000"}}, []string{"SET", "k", "v", "PX", "1000"}, "k-"},
		{"SET of the same value without TTL", [][]string{{"SET", "k", "v"}}, []string{"SET", "k", "v"}, ""},
		{"SET NX of a held key", [][]string{{"SET", "k", "v"}}, []string{"SET", "k", "w", "NX"}, ""},
		{"SET IFEQ that holds", [][]string{{"SET", "k", "v"}}, []string{"SET", "k", "w", "IFEQ", "v"}, "kf"},
		{"SET IFEQ that does not", [][]string{{"SET", "k", "v"}}, []string{"SET", "k", "w", "IFEQ", "x"}, ""},
		{"SET IFNE of a free key", nil, []string{"SET", "k", "w", "IFNE", "x"}, "k+f"},
		{"DELEX that holds", [][]string{{"SET", "k", "v"}}, []string{"DELEX", "k", "IFEQ", "v"}, "k-"},
		{"DELEX that does not", [][]string{{"SET", "k", "v"}}, []string{"DELEX", "k", "IFEQ", "w"}, ""},
		{"MSET", [][]string{{"SET", "a", "1"}}, []string{"MSET", "a", "2", "b", "3"}, "af b+f"},
		{"INCR", [][]string{{"SET", "k", "1"}}, []string{"INCR", "k"}, "k"},
		{"DECRBY takes from a semaphore", [][]string{{"SET", "k", "3"}}, []string{"DECRBY", "k", "1"}, "k"},
		{"DEL", [][]string{{"SET", "a", "1"}, {"SET", "b", "1"}}, []string{"DEL", "a", "b", "c"}, "a- b-"},
		{"DEL of nothing", nil, []string{"DEL", "a", "b"}, ""},
		{"HDEL", [][]string{{"HSET", "k", "a", "1", "b", "1"}}, []string{"HDEL", "k", "a"}, "k-"},
		{"HDEL of the last field", [][]string{{"HSET", "k", "a", "1"}}, []string{"HDEL", "k", "a"}, "k-"},
		{"HDEL of nothing", [][]string{{"HSET", "k", "a", "1"}}, []string{"HDEL", "k", "b"}, ""},
		{"HINCRBY up", [][]string{{"HSET", "k", "a", "1"}}, []string{"HINCRBY", "k", "a", "1"}, "k"},
		{"HINCRBY down", [][]string{{"HSET", "k", "a", "2"}}, []string{"HINCRBY", "k", "a", "-1"}, "k-"},
		{"LPOP takes, it does not release", [][]string{{"RPUSH", "k", "a"}}, []string{"LPOP", "k"}, "k"},
		{"LREM", [][]string{{"RPUSH", "k", "a", "b"}}, []string{"LREM", "k", "0", "a"}, "k-"},
		{"PEXPIRE to more", [][]string{{"SET", "k", "v", "PX", "1000"}}, []string{"PEXPIRE", "k", "60000"}, "kr"},
		{"PEXPIRE to less", [][]string{{"SET", "k", "v", "PX", "60000"}}, []string{"PEXPIRE", "k", "1000"}, "k-"},
		{"PEXPIRE into the past", [][]string{{"SET", "k", "v"}}, []string{"PEXPIRE", "k", "-1"}, "k-"},
		{"PEXPIRE of nothing", nil, []string{"PEXPIRE", "k", "1000"}, ""},
		{"PEXPIRE GT that does not hold", [][]string{{"SET", "k", "v", "PX", "60000"}}, []string{"PEXPIRE", "k", "1000", "GT"}, ""},
		{"PEXPIREAT to more", [][]string{{"SET", "k", "v", "PXAT", farAway}}, []string{"PEXPIREAT", "k", farAway + "0"}, "kr"},
		{"PEXPIREAT to the same", [][]string{{"SET", "k", "v", "PXAT", farAway}}, []string{"PEXPIREAT", "k", farAway}, "kr="},
		{"EXPIREAT to the same", [][]string{{"SET", "k", "v", "EXAT", "4000000000"}}, []string{"EXPIREAT", "k", "4000000000"}, "kr="},
		{"PEXPIREAT NX", [][]string{{"SET", "k", "v", "PXAT", farAway}}, []string{"PEXPIREAT", "k", farAway, "NX"}, ""},
		{"PERSIST", [][]string{{"SET", "k", "v", "PX", "60000"}}, []string{"PERSIST", "k"}, "kr"},
		{"SORT ... STORE", [][]string{{"RPUSH", "a", "2", "1"}}, []string{"SORT", "a", "DESC", "STORE", "b"}, "b+f"},
		{"SORT", [][]string{{"RPUSH", "a", "2", "1"}}, []string{"SORT", "a"}, ""},
		{"RENAME", [][]string{{"SET", "a", "v"}}, []string{"RENAME", "a", "b"}, "a- b+f"},
		{"Redisson's lock", nil, []string{"EVAL", rlockAcquire, "1", "k", "30000", "o"}, "k+f"},
		{"its re-entry, also for less time", [][]string{{"HSET", "k", "o", "1"}}, []string{"EVAL", rlockAcquire, "1", "k", "30000", "o"}, "k"},
		{"its release in part", [][]string{{"HSET", "k", "o", "2"}}, []string{"EVAL", rlockRelease, "2", "k", "c", "0", "30000", "o"}, "k-"},
		{"its release", [][]string{{"HSET", "k", "o", "1"}}, []string{"EVAL", rlockRelease, "2", "k", "c", "0", "30000", "o"}, "k-"},
		{"its release by another", [][]string{{"HSET", "k", "o", "1"}}, []string{"EVAL", rlockRelease, "2", "k", "c", "0", "30000", "x"}, ""},
		{"a computed key", nil, []string{"EVAL", "redis.call('set', KEYS[1] .. ':x', 1)", "1", "k"}, "k:x+f"},
		{
			"only the first key's elements end a hold",
			[][]string{{"RPUSH", "q", "a", "b"}},
			[]string{"EVAL", "redis.call('lrem', KEYS[2], 0, 'a') redis.call('set', KEYS[1], 1)", "2", "k", "q"},
			"q k+f",
		},
		{
			"written and put back by the script",
			[][]string{{"SET", "k", "v"}},
			[]string{"EVAL", "redis.call('set', KEYS[1], 'w') redis.call('set', KEYS[1], 'v')", "1", "k"},
			"",
		},
		{"came and gone", nil, []string{"EVAL", "redis.call('set', KEYS[1], 1) redis.call('del', KEYS[1])", "1", "k"}, "k"},
		{"gone twice", nil, []string{"EVAL", "redis.call('del', KEYS[1]) redis.call('del', KEYS[1])", "1", "k"}, ""},
		{"an error keeps earlier writes", nil, []string{"EVAL", "redis.call('set', KEYS[1], 1) error('stop')", "1", "k"}, "k+f"},
		{
			"writes through loadstring and _G", nil,
			[]string{"EVAL", "loadstring('_G.redis.call(\"set\", KEYS[1], 1)')() _G.redis.pcall('set', 'b', 1)", "1", "a"},
			"a+f b+f",
		},
	}
	n := newNode(t)
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			n.raw("FLUSHALL")
			for _, line := range tt.before {
				n.runID("before", line...)
			}
			before := map[string]State{}
			for _, key := range []string{"k", "a", "b", "q"} {
				before[key] = n.fetch(key)
			}
			answer := n.runID("after", tt.line...).Answer
			var got []string
			for _, w := range answer.Writes {
				got = append(got, marksOf(w))
				requireReported(t, n, before[w.Key], w)
				delete(before, w.Key)
			}
			assert.Equal(t, tt.want, strings.Join(got, " "))
			for key, s := range before {
				assert.Equal(t, s.Version, n.fetch(key).Version, key)
			}
		})
	}
}

const farAway = "4000000000000" // ms since the Unix epoch

// TestSameEndIsNotTold watches a key as the node tells of changes to it: of a renewal to the end that the key has
// anyway it tells nobody, of another one it does.
func TestSameEndIsNotTold(t *testing.T) {
	n := newNode(t)
	for end, want := range map[string]error{farAway: nil, farAway + "0": redis.TxFailedErr} {
		for _, line := range [][]string{
			{"PEXPIREAT", "k", end},
			{"EVAL", "return redis.call('pexpireat', KEYS[1], ARGV[1])", "1", "k", end},
			{"EVAL", "return redis.call('pexpireat', KEYS[1], tonumber(ARGV[1]))", "1", "k", end},
		} {
			n.run("SET", "k", "v", "PXAT", farAway)
			err := n.c.Watch(t.Context(), func(tx *redis.Tx) error {
				assert.Equal(t, resp.Int(1), n.reply(line...), "%q", line)
				_, err := tx.TxPipelined(t.Context(), func(p redis.Pipeliner) error { return p.Ping(t.Context()).Err() })
				return err
			}, "k")
			assert.Equal(t, want, err, "%q", line)
			assert.Equal(t, end, fmt.Sprint(n.raw("PEXPIRETIME", "k")))
		}
	}
}

func marksOf(w tally.Write) string {
	s := w.Key
	for _, mark := range []struct {
		is   bool
		text string
	}{{!w.Existed && w.Exists, "+"}, {w.Ended, "-"}, {w.Renewal, "r"}, {w.Unchanged, "="}, {w.Fresh, "f"}} {
		if mark.is {
			s += mark.text
		}
	}
	return s
}

// requireReported compares a report with what the node keeps.
func requireReported(t *testing.T, n *node, before State, w tally.Write) {
	t.Helper()
	now := n.fetch(w.Key)
	require.Equal(t, before.Version.Next("after"), w.After)
	require.Equal(t, w.After, now.Version)
	require.Equal(t, before.Version, w.Before)
	require.Equal(t, before.Exists, w.Existed)
	require.Equal(t, now.Exists, w.Exists)
	require.Equal(t, now.Token, w.Token)
	require.Equal(t, before.Token, w.OldToken)
	require.GreaterOrEqual(t, now.Mark, before.Mark)
	if w.Fresh {
		require.Greater(t, w.Token, before.Mark)
		require.GreaterOrEqual(t, w.Token, fencing.Token(testWall))
	} else if w.Exists {
		require.Equal(t, before.Token, w.Token)
	}
}

func TestTokens(t *testing.T) {
	n := newNode(t)
	n.run("HSET", "h", "owner", "1")
	n.run("SET", "s", "owner")
	first := n.fetch("h").Token
	assert.Equal(t, resp.Int(int64(first)), n.reply("FENCE", "h"))
	assert.Equal(t, resp.Int(int64(first)), n.reply("FENCE", "h", "owner"))
	assert.Equal(t, resp.Value{}, n.reply("FENCE", "h", "x"))
	assert.Equal(t, resp.Value{}, n.reply("FENCE", "s", "x"))
	assert.Equal(t, resp.Value{}, n.reply("FENCE", "nosuch"))
	assert.Equal(t, "1796000000000000", n.reply("GET", "__fence__:h").Str)
	assert.Equal(t, resp.ErrReserved.Value(), n.reply("SET", "__fence__:h", "1"))

	grant := n.run("EVAL", "redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 60000) return redis.call('FENCE', KEYS[1], ARGV[1])", "1", "g", "o").Answer
	assert.True(t, grant.IsToken)
	assert.Equal(t, int64(grant.Writes[0].Token), grant.Reply.Int())

	again := n.run("SET", "g", "p", "FENCE").Answer
	assert.True(t, again.IsToken)
	assert.Equal(t, grant.Reply.Int()+1, again.Reply.Int())

	n.raw("SET", "foreign", "v")
	assert.Equal(t, resp.Value{}, n.reply("FENCE", "foreign"), "nobody gave a token for it")
	n.raw("PEXPIRE", "g", "1")
	require.Eventually(t, func() bool { return n.raw("GET", "g") == nil }, eventually, tick)
	n.raw("SET", "g", "p")
	n.raw("SET", Companion+"g", "5 7 7 1 old")
	assert.Equal(t, resp.Value{}, n.reply("FENCE", "g"), "the instance with the token has ended")
}

func TestNoTokens(t *testing.T) {
	n := newNode(t)
	n.run("SET", "held", "v", "PX", "60000")
	for _, line := range [][]string{
		{"SET", "k", "v", "NX", "PX", "60000"},
		{"SET", "held", "w"},
		{"EVAL", "redis.call('set', KEYS[1], 1) redis.call('pexpire', 'held', 100000) return 1", "1", "k"},
	} {
		op := runOf(t, "id", line...)
		op.NoTokens = true
		before := n.fetch("held")
		r := n.send(op, Target{})
		assert.Equal(t, resp.ErrCannotIssue.Value(), r.Answer.Reply)
		assert.Empty(t, r.Answer.Writes)
		assert.Nil(t, n.raw("GET", "k"))
		after := n.fetch("held")
		assert.InDelta(t, before.TTL, after.TTL, nearby)
		before.TTL, after.TTL = 0, 0
		assert.Equal(t, before, after)
	}
	op := runOf(t, "id", "SET", "held", "v", "PX", "90000")
	op.NoTokens = true
	assert.Equal(t, resp.OK(), n.send(op, Target{}).Answer.Reply, "a renewal gives none")
}

// TestNodeFails shows that a run that meets a node's own trouble leaves nothing behind and is no answer.
func TestNodeFails(t *testing.T) {
	n := newNode(t)
	n.run("SET", "a", "1", "PX", "60000")
	n.raw("CONFIG", "SET", "maxmemory", "1")
	for _, line := range [][]string{
		{"SET", "k", "v", "NX", "PX", "60000"},
		{"SET", "k", "v"},
		{"EVAL", "redis.call('get', 'a') redis.call('set', KEYS[1], 1)", "1", "k"},
		{"EVAL", "redis.pcall('set', KEYS[1], 1) return 5", "1", "k"},
	} {
		r := n.send(runOf(t, "id", line...), Target{})
		assert.Contains(t, r.Reason, "OOM", "%q", line)
		assert.False(t, r.Ran, "%s", r.Reason)
		assert.Nil(t, r.Answer)
	}
	n.raw("CONFIG", "SET", "maxmemory", "0")
	assert.Nil(t, n.raw("GET", "k"))
	assert.Equal(t, tally.Version{}, n.fetch("k").Version)
}

func TestReports(t *testing.T) {
	n := newNode(t)
	n.run("SET", "k", "v", "PX", "60000")
	a := n.run("EVAL", "redis.call('publish', 'c', 'm') redis.call('rpush', 'l', 1) return redis.call('pttl', KEYS[1])", "1", "k").Answer
	assert.True(t, a.IsTTL)
	require.Len(t, a.TTLs, 1)
	assert.Equal(t, a.Reply.Int(), a.TTLs[0].TTL)
	assert.Equal(t, []commands.Message{{Channel: "c", Payload: "m"}}, a.Messages)
	assert.Equal(t, []string{"l"}, a.Ready)
	assert.Equal(t, []tally.Seen{{Key: "k", Version: tally.Version{Number: 1, Request: "req"}, Exists: true}}, a.Seen)

	op := runOf(t, "id", "PTTL", "k")
	op.TTLs = []tally.Reading{{Key: "k", TTL: a.Reply.Int() - 100}}
	hinted := n.send(op, Target{}).Answer.Reply.Int()
	assert.True(t, hinted == a.Reply.Int()-100 || hinted < a.Reply.Int()-200, "%d", hinted)

	a = n.run("EVAL", "return redis.call('time')", "0").Answer
	assert.Equal(t, resp.Strs("1796000000", "0"), a.Reply)
	drawn := n.reply("EVAL", "return math.random(1000000)", "0")
	assert.Equal(t, drawn, n.reply("EVAL", "return math.random(1000000)", "0"))
}

// TestManyWords goes to the limit of what Lua can pass on.
func TestManyWords(t *testing.T) {
	n := newNode(t)
	line := make([]string, 7900)
	line[0], line[1] = "RPUSH", "l"
	assert.Equal(t, resp.Int(7898), n.reply(line...))
	assert.Equal(t, resp.ErrTooManyWords.Value(), n.reply(append(line, "x")...))
	assert.Equal(t, int64(7898), n.raw("LLEN", "l"))
}

func TestOwnKeysAreHidden(t *testing.T) {
	n := newNode(t)
	n.send(&Admit{Canary: "c"}, Target{})
	n.run("SET", "k", "v")
	own := Companion + "k"
	for _, line := range [][]string{{"SET", own, "x"}, {"DEL", CanaryKey}, {"SADD", own, "x"}} {
		assert.Equal(t, resp.ErrRedfenceKeys.Value(), n.reply(line...), "%q", line)
	}
	assert.Equal(t, resp.Value{}, n.reply("GET", own))
	assert.Equal(t, resp.Int(0), n.reply("EXISTS", own))
	assert.Equal(t, resp.Value{}, n.reply("EVAL", "return redis.call('get', KEYS[1])", "1", CanaryKey))
	assert.Equal(t, resp.Strs("k"), n.reply("KEYS", "*"))
	assert.Equal(t, resp.Int(1), n.reply("DBSIZE"))
	assert.Equal(t, "k", n.reply("RANDOMKEY").Str)
	assert.Equal(t, resp.Arr(resp.Str("0"), resp.Strs("k")), n.reply("SCAN", "0"))
}

// TestNodesAgree runs what has no order, or draws at random, on nodes that have stored it in other orders.
func TestNodesAgree(t *testing.T) {
	a, b := newNode(t), newNode(t)
	long := strings.Repeat("x", 100)
	a.run("HSET", "h", "a", "1", "b", long, "c", "3")
	b.run("HSET", "h", "c", "3", "a", "1", "b", long)
	a.run("SADD", "s", "1", "2", "z", long)
	b.run("SADD", "s", long, "z", "2", "1")
	for _, line := range [][]string{
		{"HGETALL", "h"},
		{"HKEYS", "h"},
		{"HVALS", "h"},
		{"SMEMBERS", "s"},
		{"HSCAN", "h", "0"},
		{"SSCAN", "s", "0"},
		{"KEYS", "*"},
		{"SRANDMEMBER", "s", "3"},
		{"SRANDMEMBER", "s", "-5"},
		{"HRANDFIELD", "h", "2", "WITHVALUES"},
		{"SPOP", "s"},
		{"SPOP", "s", "2"},
		{"EVAL", "return redis.call('hgetall', 'h')", "0"},
		{"EVAL", "return redis.call('hvals', 'h')", "0"},
		{"HDEL", "h", "a"},
	} {
		requireSameAnswer(t, a.run(line...).Answer, b.run(line...).Answer, "%q", line)
	}
}
