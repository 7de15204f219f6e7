package runner

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/tally"
)

// The scripts of lock libraries, as they send them.
var lockScripts = map[string]struct {
	text string
	argv int
}{
	"redis.io": {`if redis.call("get",KEYS[1]) == ARGV[1] then
    return redis.call("del",KEYS[1])
else
    return 0
end`, 1},
	"redsync release": {`
	local val = redis.call("GET", KEYS[1])
	if val == ARGV[1] then
		return redis.call("DEL", KEYS[1])
	elseif val == false then
		return -1
	else
		return 0
	end
`, 1},
	"redsync touch": {`
	if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("PEXPIRE", KEYS[1], ARGV[2])
	else
		return 0
	end
`, 2},
	"redis-py release": {`
        local token = redis.call('get', KEYS[1])
        if not token or token ~= ARGV[1] then
            return 0
        end
        redis.call('del', KEYS[1])
        return 1
    `, 1},
	"redis-py reacquire": {`
        local token = redis.call('get', KEYS[1])
        if not token or token ~= ARGV[1] then
            return 0
        end
        redis.call('pexpire', KEYS[1], ARGV[2])
        return 1
    `, 2},
	"Spring unlink": {`local lockClientId = redis.call('GET', KEYS[1])
if lockClientId == ARGV[1] then
  redis.call('UNLINK', KEYS[1])
  return true
end
return false`, 1},
}

func TestFormsAreKnown(t *testing.T) {
	for name, s := range lockScripts {
		require.NotNil(t, NewText(s.text).form, name)
	}
	for _, text := range []string{
		"if redis.call('get',KEYS[1]) ~= ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end",
		"if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[2]) else return 0 end",
		"if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 1 end",
		"if redis.call('get',KEYS[1]) == 'ARGV[1]' then return redis.call('del',KEYS[1]) else return 0 end",
	} {
		assert.Nil(t, NewText(text).form, text)
	}
}

// TestLeanAgrees runs random requests on two nodes, on one by the lean forms and on the other by the general program:
// replies, reports and what the nodes keep must be the same.
func TestLeanAgrees(t *testing.T) {
	lean, general := newNode(t), newNode(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
	leanRuns := 0
	for i := range 3000 {
		line := randomLine(r)
		if r.IntN(10) == 0 { // somebody who talks to the nodes directly
			words := []any{"SET", line[1], "foreign", "PX", "40000"}
			if r.IntN(2) == 0 {
				words = []any{"RPUSH", line[1], "foreign"}
			}
			require.Equal(t, lean.raw(words...), general.raw(words...))
		}
		id := "req" + strconv.Itoa(i)
		a, b := runOf(t, id, line...), runOf(t, id, line...)
		b.built.general = true
		ra, rb := lean.send(a, Target{}), general.send(b, Target{})
		if a.build().program != b.build().program {
			leanRuns++
		}
		require.Empty(t, ra.Reason, "%q", line)
		require.Equal(t, ra.Reason, rb.Reason, "%q", line)
		requireSameAnswer(t, rb.Answer, ra.Answer, "step %d: %q", i, line)
		for _, key := range leanKeys {
			requireSameState(t, general.fetch(key), lean.fetch(key), "step %d: %q", i, line)
		}
	}
	assert.Greater(t, leanRuns, 1000)
}

var leanKeys = []string{"a", "b", "c"}

func randomLine(r *rand.Rand) []string {
	key, owner := leanKeys[r.IntN(len(leanKeys))], "owner"+strconv.Itoa(r.IntN(2))
	ttl := strconv.Itoa(20_000 * (1 + r.IntN(3)))
	switch r.IntN(8) {
	case 0, 1:
		return []string{"SET", key, owner, "NX", "PX", ttl}
	case 2:
		return []string{"SET", key, owner, "EX", "50", "NX", "FENCE"}
	case 3:
		return []string{"GET", key}
	case 4:
		return []string{"PTTL", key}
	case 5:
		if r.IntN(4) > 0 {
			return []string{"SET", key, owner} // without TTL
		}
		return []string{"DEL", key}
	}
	names := []string{"redis.io", "redsync release", "redsync touch", "redis-py release", "redis-py reacquire", "Spring unlink"}
	s := lockScripts[names[r.IntN(len(names))]]
	line := []string{"EVAL", s.text, "1", key, owner}
	if s.argv == 2 {
		line = append(line, ttl)
	}
	return line
}

// nearby is the difference in ms of TTLs that two nodes tell; those that the test sets are farther apart.
const nearby = 9_000

func requireSameAnswer(t *testing.T, want, got *tally.Answer, msg ...any) {
	t.Helper()
	require.Len(t, got.Writes, len(want.Writes), msg...)
	for i := range want.Writes {
		require.InDelta(t, want.Writes[i].TTL, got.Writes[i].TTL, nearby, msg...)
	}
	if want.IsTTL {
		require.InDelta(t, want.Reply.Int(), got.Reply.Int(), nearby, msg...)
	}
	require.Equal(t, timeless(want), timeless(got), msg...)
}

// timeless takes away from an answer what two nodes may tell differently: moments, and the image of what ended.
func timeless(a *tally.Answer) tally.Answer {
	c := *a
	c.Time = 0
	if c.IsTTL {
		c.Reply = resp.Value{}
	}
	c.TTLs = slices.Clone(a.TTLs)
	for i := range c.TTLs {
		c.TTLs[i].TTL = 0
	}
	c.Writes = slices.Clone(a.Writes)
	for i := range c.Writes {
		w := &c.Writes[i]
		w.TTL, w.Image, w.ImageEnd, w.Unchanged = 0, "", 0, false // an end is the same within a millisecond
	}
	return c
}

func requireSameState(t *testing.T, want, got State, msg ...any) {
	t.Helper()
	require.InDelta(t, want.TTL, got.TTL, nearby, msg...)
	want.TTL, got.TTL = 0, 0
	require.Equal(t, want, got, msg...)
}
