package integration

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

const (
	checkScript = "return redis.call('FENCE.CHECK', KEYS[1], ARGV[1])"
	badToken    = "(error) ERR redfence: token must be an integer from 1 to 9007199254740991"
)

// TestWhatIsNoTokenIsRefused sends what is no token in every way there is. Nothing of it is remembered, and the way makes no difference.
func TestWhatIsNoTokenIsRefused(t *testing.T) {
	tokens := []string{
		"0", "-1", "01", "+5", "1.5", "1e3", " 5", "5 ", "", "x", "0x10", "nan", "inf", "1\x00", "\xff\xfe",
		"9007199254740992", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775808", strings.Repeat("9", 1000),
	}
	numbers := words("0 -1 1.5 2^53 2^63 -2^63 1e16 0/0 1/0 -1/0")
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		refused := func(how, token string, reply harness.Reply) {
			if !strings.HasPrefix(reply.String(), badToken) {
				t.Errorf("%s with %.30q was answered %s", how, token, reply)
			}
		}
		for _, token := range tokens {
			refused("a command", token, c.Do("FENCE.CHECK", "r", token))
			refused("a script", token, c.Do("EVAL", checkScript, "1", "r", token))
			c.Want("OK", "MULTI")
			c.Want("QUEUED", "FENCE.CHECK", "r", token)
			refused("a transaction", token, inner(c.Do("EXEC")))
		}
		for _, n := range numbers {
			refused("a number", n, c.Do("EVAL", "return redis.pcall('FENCE.CHECK', 'r', "+n+")", "0"))
		}
		c.Want("(nil)", "FENCE.LAST", "r")
		for token, n := range map[string]string{"9007199254740991": "2^53-1", "1000000000000000": "1e15", "1796000000000001": "1796000000000001"} {
			c.Want("(integer) 1", "EVAL", "return redis.call('FENCE.CHECK', ARGV[1], "+n+")", "0", n)
			c.Want("(integer) "+token, "FENCE.LAST", n)
		}
		token := c.Int("SET", "lock", "owner", "NX", "PX", "30000", "FENCE")
		c.Want("(integer) 1", "EVAL", "return redis.call('FENCE.CHECK', 'of a lock', redis.call('FENCE', KEYS[1], ARGV[1]))", "1", "lock", "owner")
		c.Want("(integer) "+strconv.FormatInt(token, 10), "FENCE.LAST", "of a lock")
	})
}

// TestAnyNameIsAResource checks tokens of resources with names that mean something elsewhere, or are large.
func TestAnyNameIsAResource(t *testing.T) {
	names := []string{
		"", "\x00", "a b\r\n", "*", "{a}b", "\xff\x00\xfe", "__fence__:lock", "__redfence__", "__redfence__:lock",
		"__redfence__fence:r", strings.Repeat("x", 1<<20),
	}
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		c.Want("OK", "SET", "lock", "owner", "NX", "PX", "30000")
		for _, name := range names {
			c.Want("(nil)", "FENCE.LAST", name)
			c.Want("(integer) 1", "FENCE.CHECK", name, "100")
			c.Want("(integer) 0", "FENCE.CHECK", name, "99")
			c.Want("(integer) 0", "EVAL", "return redis.call('FENCE.CHECK', ARGV[1], 99)", "0", name)
			c.Want("(integer) 100", "FENCE.LAST", name)
		}
		c.Want(`["lock"]`, "KEYS", "*")
		c.Want(`"owner"`, "GET", "lock")
	})
}

// TestFullNodesRefuseStaleTokens leaves nodes no memory: what they know they still tell, and nothing new gets through.
func TestFullNodesRefuseStaleTokens(t *testing.T) {
	q := harness.StartQuorum(t, 3)
	c := harness.Dial(t, q.Addr)
	c.Want("(integer) 1", "FENCE.CHECK", "r", "100")
	room := func(bytes string) {
		for _, n := range q.Nodes {
			harness.Dial(t, n.Addr).Want("OK", "CONFIG", "SET", "maxmemory", bytes)
		}
	}
	room("1")
	c.Want("(integer) 0", "FENCE.CHECK", "r", "99")
	c.Want("(integer) 0", "EVAL", checkScript, "1", "r", "99")
	c.Want("(integer) 100", "FENCE.LAST", "r")
	for _, ask := range [][]string{{"FENCE.CHECK", "new", "1"}, {"FENCE.CHECK", "r", "101"}, {"EVAL", checkScript, "1", "new", "1"}} {
		if reply := c.Do(ask...); !reply.IsError() || !strings.Contains(reply.Text, "OOM command not allowed") {
			t.Errorf("%q was answered %s", ask, reply)
		}
	}
	room("0")
	harness.Eventually(t, patience, func() bool { return c.Do("FENCE.CHECK", "r", "101").Text == "1" })
	c.Want("(nil)", "FENCE.LAST", "new")
}
