package integration

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// TestManyWritesSurviveRestarts overwrites a few keys many times and finds the
// last state after each restart.
func TestManyWritesSurviveRestarts(t *testing.T) {
	for _, store := range []string{"wal", "bolt"} {
		t.Run(store, func(t *testing.T) {
			s := harness.StartRedfence(t, "--log-store", store)
			tokens := tokenClock{t: t}
			for range 3 {
				c := harness.Dial(t, s.Addr)
				churn(c, 2000)
				wantSurvivesRestart(t, s, &tokens)
			}
		})
	}
}

// churn sets ten keys in turn, n times in one pipeline.
func churn(c *harness.Conn, n int) {
	for i := range n {
		c.Send("SET", "churn:"+strconv.Itoa(i%10), strconv.Itoa(i))
	}
	for range n {
		c.Receive()
	}
}

// wantSurvivesRestart takes a token, restarts, and finds all as it was.
func wantSurvivesRestart(t *testing.T, s *harness.Server, tokens *tokenClock) {
	t.Helper()
	owner := strconv.FormatInt(tokens.last, 10)
	tokens.rises(harness.Dial(t, s.Addr).Int("SET", "lock", owner, "PX", "60000", "FENCE"))
	before := contents(t, s.Addr)
	s.Restart()
	if after := contents(t, s.Addr); !slices.Equal(before, after) {
		t.Fatalf("the restart turned\n%v\ninto\n%v", before, after)
	}
	wantToken(t, harness.Dial(t, s.Addr), tokens.last, "FENCE", "lock", owner)
}

// TestSnapshotIsRestored writes until the server has taken a snapshot by itself,
// which takes as many log entries as it asks for and up to a minute.
func TestSnapshotIsRestored(t *testing.T) {
	if os.Getenv("REDFENCE_LONG") != "1" {
		t.Skip("skipped: takes minutes; REDFENCE_LONG=1 runs it")
	}
	s := harness.StartRedfence(t)
	tokens := tokenClock{t: t}
	c := harness.Dial(t, s.Addr)
	harness.Eventually(t, 5*time.Minute, func() bool {
		for i := range 500 {
			c.Do("SET", "churn:"+strconv.Itoa(i%10), strconv.Itoa(i))
		}
		return len(snapshots(t, s.Dir)) > 0
	})
	wantSurvivesRestart(t, s, &tokens)
	s.Kill()
	s.Restart()
	wantSurvivesRestart(t, s, &tokens)
}

// snapshots lists the finished snapshots below a data directory.
func snapshots(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "state.bin" && !strings.Contains(path, ".tmp") {
			found = append(found, path)
		}
		return nil // files come and go while the server works
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
