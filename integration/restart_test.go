package integration

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// TestRestartKeepsEverything writes one thing of each kind, restarts in order,
// and finds all of it: values, hashes, leases that went on counting where they
// stopped, absolute expiry times, tokens, loaded scripts, other databases.
func TestRestartKeepsEverything(t *testing.T) {
	for _, store := range []string{"wal", "bolt"} {
		t.Run(store, func(t *testing.T) {
			s := harness.StartRedfence(t, "--log-store", store)
			c := harness.Dial(t, s.Addr)
			sent := time.Now()
			c.Want("OK", "SET", "lock", "owner \x00\xff", "NX", "PX", "60000")
			c.Want("(integer) 2", "HSET", "hash", "f", "1", "g", "2")
			c.Want("OK", "SET", "absolute", "v", "PXAT", "4102444800123")
			c.Want("OK", "SET", "forever", "v")
			sha := c.Do("SCRIPT", "LOAD", compareAndDelete).Text
			c.Want("OK", "SELECT", "15")
			c.Want("OK", "SET", "fifteen", "v")
			c.Want("OK", "SELECT", "0")
			token := c.Int("FENCE", "lock")
			left := c.Int("PTTL", "lock")
			before := contents(t, s.Addr)

			if code := s.Stop(); code != 0 {
				t.Fatalf("exit code %d after SIGTERM", code)
			}
			s.Restart()

			if after := contents(t, s.Addr); !slices.Equal(before, after) {
				t.Fatalf("the restart turned\n%s\ninto\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			c = harness.Dial(t, s.Addr)
			// Store time goes on from the last log entry, a moment before the PTTL above.
			pttl := c.Int("PTTL", "lock")
			wantBetween(t, pttl, 60000-time.Since(sent).Milliseconds(), min(left+500, 60000))
			wantToken(t, c, token, "FENCE", "lock", "owner \x00\xff")
			c.Want("(integer) 4102444800123", "PEXPIRETIME", "absolute")
			c.Want("(integer) -1", "PTTL", "forever")
			c.Want("(integer) 1", "EVALSHA", sha, "1", "lock", "owner \x00\xff")
		})
	}
}

// contents lists every key of every database with its value, in order.
func contents(t *testing.T, addr string) []string {
	t.Helper()
	c := harness.Dial(t, addr)
	var all []string
	for db := range 16 {
		c.Want("OK", "SELECT", strconv.Itoa(db))
		for _, key := range c.Do("KEYS", "*").Elems {
			value := c.Do("GET", key.Text)
			if value.IsError() {
				value = c.Do("HGETALL", key.Text)
			}
			all = append(all, fmt.Sprintf("%d %q = %s", db, key.Text, value))
		}
	}
	slices.Sort(all)
	return all
}

// TestLogIsCompacted writes far more than is kept, so that snapshots are taken
// and the log is cut, and finds the last state after each restart.
func TestLogIsCompacted(t *testing.T) {
	for _, store := range []string{"wal", "bolt"} {
		t.Run(store, func(t *testing.T) {
			s := harness.StartRedfence(t, "--log-store", store)
			tokens := tokenClock{t: t}
			for round := range 3 {
				c := harness.Dial(t, s.Addr)
				for i := range 3000 {
					c.Send("SET", "churn:"+strconv.Itoa(i%10), fmt.Sprintf("%d-%d", round, i))
				}
				for range 3000 {
					if reply := c.Receive(); reply.String() != "OK" {
						t.Fatalf("SET answered %s", reply)
					}
				}
				tokens.rises(c.Int("SET", "lock", strconv.Itoa(round), "PX", "60000", "FENCE"))
				before := contents(t, s.Addr)
				s.Restart()
				if after := contents(t, s.Addr); !slices.Equal(before, after) {
					t.Fatalf("round %d: the restart turned\n%v\ninto\n%v", round, before, after)
				}
				wantToken(t, harness.Dial(t, s.Addr), tokens.last, "FENCE", "lock", strconv.Itoa(round))
			}
		})
	}
}
