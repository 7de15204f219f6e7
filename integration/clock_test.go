package integration

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// steppedClock is the wall clock of a redfence that was built with the tag
// clockskew: the machine's plus the seconds in a file.
type steppedClock struct {
	t    *testing.T
	file string
}

func (s steppedClock) step(offset time.Duration) {
	s.t.Helper()
	draft := s.file + ".new"
	text := strconv.FormatFloat(offset.Seconds(), 'f', 3, 64)
	if err := os.WriteFile(draft, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(draft, s.file); err != nil {
		s.t.Fatal(err)
	}
}

// wantMoved shows that the server's TIME is the machine's plus offset.
func (s steppedClock) wantMoved(c *harness.Conn, offset time.Duration) {
	s.t.Helper()
	moved := time.Until(serverTime(s.t, c))
	if (moved - offset).Abs() > 2*time.Second {
		s.t.Fatalf("TIME is %v off, want %v: the test would prove nothing", moved, offset)
	}
}

func serverTime(t *testing.T, c *harness.Conn) time.Time {
	t.Helper()
	reply := c.Do("TIME")
	seconds, err := strconv.ParseInt(reply.Elems[0].Text, 10, 64)
	if err != nil {
		t.Fatalf("TIME answered %s", reply)
	}
	micros, err := strconv.ParseInt(reply.Elems[1].Text, 10, 64)
	if err != nil {
		t.Fatalf("TIME answered %s", reply)
	}
	return time.Unix(seconds, micros*1000)
}

// TestClockStepMovesNoLease steps the wall clock by an hour while locks are
// held (DESIGN section 4: no relative TTL depends on a wall clock).
func TestClockStepMovesNoLease(t *testing.T) {
	for name, offset := range map[string]time.Duration{"forward": time.Hour, "backward": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			clock := steppedClock{t: t, file: filepath.Join(t.TempDir(), "offset")}
			clock.step(0)
			s := harness.StartRedfenceWith(t, harness.Options{
				Tags: "clockskew",
				Env:  []string{"REDFENCE_CLOCK_OFFSET_FILE=" + clock.file},
			})
			c, listener := harness.Dial(t, s.Addr), harness.Dial(t, s.Addr)
			clock.wantMoved(c, 0)
			listener.Do("SUBSCRIBE", "__keyevent@0__:expired")
			tokens := tokenClock{t: t}
			long := takeLease(c, &tokens, "long", time.Minute)
			short := takeLease(c, &tokens, "short", 1500*time.Millisecond)

			clock.step(offset)
			clock.wantMoved(c, offset)

			long.wantCounting(t, c)
			c.Want("(nil)", "SET", "short", "thief", "NX", "PX", "1000")
			short.wantEndsOnTime(t, c)
			if got := listener.Receive().Elems[2].Text; got != "short" {
				t.Fatalf("%q was published as expired", got)
			}
			wantSoon(t, "unpublished", time.Since(short.acked)-short.ttl)
			takeLease(c, &tokens, "after the step", time.Minute)
			wantAbsoluteTimes(t, c)

			s.Restart()
			c = harness.Dial(t, s.Addr)
			clock.wantMoved(c, offset)
			long.wantCounting(t, c)
			takeLease(c, &tokens, "after the restart", time.Minute)
			clock.step(0)
			clock.wantMoved(c, 0)
			long.wantCounting(t, c)
			takeLease(c, &tokens, "after the step back", time.Minute)
		})
	}
}

// lease is a lock that the test holds.
type lease struct {
	key          string
	ttl          time.Duration
	asked, acked time.Time
}

func takeLease(c *harness.Conn, tokens *tokenClock, key string, ttl time.Duration) lease {
	tokens.t.Helper()
	l := lease{key: key, ttl: ttl, asked: time.Now()}
	tokens.rises(c.Int("SET", key, "owner", "NX", "PX", milliseconds(ttl), "FENCE"))
	l.acked = time.Now()
	return l
}

// wantCounting bounds PTTL by the time that passed by the monotonic clock. A
// stop of the server may lengthen a lease, by no more than it took.
func (l lease) wantCounting(t *testing.T, c *harness.Conn) {
	t.Helper()
	left := c.Int("PTTL", l.key)
	wantBetween(t, left, (l.ttl-time.Since(l.asked)).Milliseconds()-1, l.ttl.Milliseconds())
}

// wantEndsOnTime polls until the lock is gone and compares with its TTL.
func (l lease) wantEndsOnTime(t *testing.T, c *harness.Conn) {
	t.Helper()
	lastSeen, gone := pollUntilGone(t, c, l.key)
	if gone.Sub(l.asked) < l.ttl {
		t.Fatalf("%s ended %v after it was asked for, its TTL was %v", l.key, gone.Sub(l.asked), l.ttl)
	}
	if late := lastSeen.Sub(l.acked) - l.ttl; late > 250*time.Millisecond {
		t.Fatalf("%s was still there %v after its TTL", l.key, late)
	}
}

// wantAbsoluteTimes shows that times given by clients mean the server's wall
// clock, also while it is wrong.
func wantAbsoluteTimes(t *testing.T, c *harness.Conn) {
	t.Helper()
	deadline := serverTime(t, c).Add(20 * time.Second).UnixMilli()
	c.Want("OK", "SET", "absolute", "v", "PXAT", strconv.FormatInt(deadline, 10))
	wantBetween(t, c.Int("PTTL", "absolute"), 15000, 20000)
	c.Want("(integer) "+strconv.FormatInt(deadline, 10), "PEXPIRETIME", "absolute")
}
