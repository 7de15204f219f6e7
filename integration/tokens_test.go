package integration

import (
	"strconv"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// mostToken is the largest token: every client language holds it exactly.
const mostToken = 1<<53 - 1

// tokenClock checks that the tokens it is shown rise, and remembers the last.
type tokenClock struct {
	t    *testing.T
	last int64
}

// rises takes the next token; it fails when the token is not larger than all before.
func (k *tokenClock) rises(token int64) {
	k.t.Helper()
	if token <= k.last || token > mostToken {
		k.t.Fatalf("token %d after %d", token, k.last)
	}
	k.last = token
}

func TestFenceTellsTheTokenToItsOwner(t *testing.T) {
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		c.Want("(nil)", "FENCE", "lock")
		c.Want("(nil)", "FENCE", "lock", "owner")
		c.Want("(nil)", "GET", "__fence__:lock")
		c.Want("OK", "SET", "lock", "owner", "NX", "PX", "30000")
		token := c.Int("FENCE", "lock")
		wantToken(t, c, token, "FENCE", "lock", "owner")
		c.Want("(nil)", "FENCE", "lock", "somebody else")
		c.Want(strconv.Quote(strconv.FormatInt(token, 10)), "GET", "__fence__:lock")
		c.Want("(integer) 1", "HSET", "hash", "owner", "1")
		hashToken := c.Int("FENCE", "hash", "owner")
		wantToken(t, c, hashToken, "FENCE", "hash")
		c.Want("(nil)", "FENCE", "hash", "somebody else")
		c.Want("(integer) 1", "DEL", "lock")
		c.Want("(nil)", "FENCE", "lock")
		c.Want("(nil)", "GET", "__fence__:lock")
		for _, bad := range [][]string{{"FENCE"}, {"FENCE", "a", "b", "c"}} {
			if reply := c.Do(bad...); !reply.IsError() {
				t.Errorf("%q answered %s", bad, reply)
			}
		}
	})
}

// TestTokensTellWhenALockWasTaken checks the floor: the wall clock in microseconds.
func TestTokensTellWhenALockWasTaken(t *testing.T) {
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		before := time.Now().UnixMicro()
		c.Want("OK", "SET", "lock", "owner", "NX", "PX", "30000")
		wantBetween(t, c.Int("FENCE", "lock"), before, time.Now().UnixMicro())
	})
}

func TestSetWithFence(t *testing.T) {
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		token := c.Int("SET", "lock", "owner", "NX", "PX", "30000", "FENCE")
		wantToken(t, c, token, "FENCE", "lock", "owner")
		wantBetween(t, c.Int("PTTL", "lock"), 20000, 30000)
		c.Want("(nil)", "SET", "lock", "other", "NX", "PX", "30000", "FENCE")
		wantToken(t, c, token, "FENCE", "lock", "owner")
		next := c.Int("SET", "lock", "other", "PX", "30000", "fence")
		if next <= token {
			t.Fatalf("overwritten with token %d after %d", next, token)
		}
		if reply := c.Do("SET", "lock", "x", "GET", "FENCE"); !reply.IsError() {
			t.Fatalf("SET with GET and FENCE answered %s", reply)
		}
		c.Want(`"other"`, "GET", "lock")
	})
}

// TestTokenChangesWithTheHold lists what gives a key a new token and what keeps it.
func TestTokenChangesWithTheHold(t *testing.T) {
	tests := map[string]struct {
		setup, action []string
		fresh         bool
	}{
		"renewing keeps it":             {[]string{"SET", "k", "a", "PX", "30000"}, []string{"PEXPIRE", "k", "60000"}, false},
		"persisting keeps it":           {[]string{"SET", "k", "a", "PX", "30000"}, []string{"PERSIST", "k"}, false},
		"the same value keeps it":       {[]string{"SET", "k", "a", "PX", "30000"}, []string{"SET", "k", "a", "PX", "60000"}, false},
		"a refused SET keeps it":        {[]string{"SET", "k", "a", "PX", "30000"}, []string{"SET", "k", "b", "NX", "PX", "1"}, false},
		"reading keeps it":              {[]string{"SET", "k", "a", "PX", "30000"}, []string{"GET", "k"}, false},
		"re-entering keeps it":          {[]string{"HINCRBY", "k", "u:1", "1"}, []string{"HINCRBY", "k", "u:1", "1"}, false},
		"another reader keeps it":       {[]string{"HINCRBY", "k", "u:1", "1"}, []string{"HINCRBY", "k", "u:2", "1"}, false},
		"another value gives a new one": {[]string{"SET", "k", "a", "PX", "30000"}, []string{"SET", "k", "b", "PX", "30000"}, true},
		"GETSET gives a new one":        {[]string{"SET", "k", "a"}, []string{"GETSET", "k", "b"}, true},
		"coming back gives a new one": {[]string{"SET", "k", "a"}, []string{
			"EVAL",
			"redis.call('DEL', KEYS[1]) redis.call('SET', KEYS[1], 'a') return 1", "1", "k",
		}, true},
		"a hash that comes back gives a new one": {[]string{"HSET", "k", "f", "1"}, []string{
			"EVAL",
			"redis.call('HDEL', KEYS[1], 'f') redis.call('HSET', KEYS[1], 'f', 1) return 1", "1", "k",
		}, true},
	}
	onFencingBackends(t, func(t *testing.T, d deployment) {
		for name, tc := range tests {
			t.Run(name, func(t *testing.T) {
				c := harness.Dial(t, d.Address())
				c.Want("OK", "FLUSHALL")
				c.Do(tc.setup...)
				before := c.Int("FENCE", "k")
				if reply := c.Do(tc.action...); reply.IsError() {
					t.Fatal(reply)
				}
				after := c.Int("FENCE", "k")
				if tc.fresh && after <= before || !tc.fresh && after != before {
					t.Fatalf("token %d became %d", before, after)
				}
			})
		}
	})
}

func TestTokensInScripts(t *testing.T) {
	const acquire = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('FENCE', KEYS[1], ARGV[1])
end
return false`
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		token := c.Int("EVAL", acquire, "1", "lock", "owner", "30000")
		wantToken(t, c, token, "FENCE", "lock", "owner")
		c.Want("(nil)", "EVAL", acquire, "1", "lock", "other", "30000")
		c.Want("(nil)", "EVAL", "return redis.call('FENCE', KEYS[1], ARGV[1])", "1", "lock", "other")
		wantToken(t, c, token, "EVAL_RO", "return redis.call('FENCE', KEYS[1])", "1", "lock")
		text := strconv.FormatInt(token, 10)
		c.Want(strconv.Quote(text), "EVAL", "return string.format('%.0f', redis.call('FENCE', KEYS[1]))", "1", "lock")
		c.Want(strconv.Quote(text), "EVAL", "redis.call('SET', 'copy', redis.call('FENCE', KEYS[1])) return redis.call('GET', 'copy')", "1", "lock")
	})
}

// TestTokensRiseOverAllKeysAndRestarts takes locks on several keys, in several
// databases, over two restarts. (Raft mode promises it over all keys.)
func TestTokensRiseOverAllKeysAndRestarts(t *testing.T) {
	onFencingBackends(t, func(t *testing.T, d deployment) {
		tokens := tokenClock{t: t}
		for range 3 {
			c := harness.Dial(t, d.Address())
			for i := range 20 {
				c.Want("OK", "SELECT", strconv.Itoa(i%3))
				tokens.rises(c.Int("SET", "k"+strconv.Itoa(i%5), strconv.FormatInt(tokens.last, 10), "PX", "30000", "FENCE"))
			}
			c.Want("OK", "FLUSHALL")
			tokens.rises(c.Int("SET", "after flush", "x", "NX", "PX", "30000", "FENCE"))
			d.Restart()
		}
	})
}

// TestTokensInFrontOfARedis asks for tokens where other keys pass through to a Redis, which knows none of this.
func TestTokensInFrontOfARedis(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, upstream *harness.Server) {
		c := harness.Dial(t, redfence.Addr)
		token := c.Int("SET", "lock:1", "owner", "NX", "PX", "30000", "FENCE")
		text := strconv.FormatInt(token, 10)
		wantToken(t, c, token, "FENCE", "lock:1", "owner")
		wantToken(t, c, token, "EVAL", "return redis.call('FENCE', KEYS[1], ARGV[1])", "1", "lock:1", "owner")
		c.Want(strconv.Quote(text), "GET", "__fence__:lock:1")
		c.Want("(nil)", "FENCE", "lock:1", "somebody else")
		c.Want("(integer) 1", "FENCE.CHECK", "stock", text)
		c.Want("(integer) 0", "FENCE.CHECK", "stock", strconv.FormatInt(token-1, 10))
		wantToken(t, c, token, "FENCE.LAST", "stock")
		harness.Dial(t, upstream.Addr).Want("(integer) 0", "DBSIZE")
	})
}

// TestExpiredLockGetsANewToken lets a lock end by itself.
func TestExpiredLockGetsANewToken(t *testing.T) {
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		tokens := tokenClock{t: t}
		for range 3 {
			tokens.rises(c.Int("SET", "lock", "owner", "NX", "PX", "30", "FENCE"))
			pollUntilGone(t, c, "lock")
			c.Want("(nil)", "FENCE", "lock")
		}
	})
}

func wantToken(t *testing.T, c *harness.Conn, token int64, args ...string) {
	t.Helper()
	if got := c.Int(args...); got != token {
		t.Fatalf("%q answered %d, want %d", args, got, token)
	}
}
