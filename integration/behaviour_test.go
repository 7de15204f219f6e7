package integration

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// deployment is a running system that serves locks on one address.
type deployment interface {
	Address() string
	// Restart stops the part that clients talk to and starts it again on the
	// same address with what it kept.
	Restart()
}

// backend is one row of the behavioural suite.
type backend struct {
	name   string
	start  func(t testing.TB) deployment
	fences bool // has tokens and keeps its state over a restart; false for a plain redis-server
}

// backends lists what the behavioural suite runs on. The plain redis-server is
// there to prove that the suite asks for nothing that Redis does not do.
var backends = []backend{
	{name: "redis-server", start: startRedis},
	{name: "raft", start: startRaft, fences: true},
	{name: "raft3", start: startRaftCluster, fences: true},
	{name: "quorum3", start: startQuorum(3), fences: true},
	{name: "quorum5", start: startQuorum(5), fences: true},
}

func startRedis(t testing.TB) deployment {
	t.Helper()
	return served{harness.StartRedis(t)}
}

func startRaft(t testing.TB) deployment {
	t.Helper()
	return served{harness.StartRedfence(t)}
}

func startQuorum(nodes int) func(t testing.TB) deployment {
	return func(t testing.TB) deployment {
		t.Helper()
		return served{harness.StartQuorum(t, nodes).Server}
	}
}

// served is a deployment whose clients talk to one process.
type served struct{ *harness.Server }

func (s served) Address() string { return s.Addr }

// onEveryBackend runs a behaviour on each row, on a system of its own.
func onEveryBackend(t *testing.T, behaviour func(t *testing.T, d deployment)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) { behaviour(t, b.start(t)) })
	}
}

// onFencingBackends runs a behaviour on the rows that issue tokens and persist.
func onFencingBackends(t *testing.T, behaviour func(t *testing.T, d deployment)) {
	t.Helper()
	for _, b := range backends {
		if b.fences {
			t.Run(b.name, func(t *testing.T) { behaviour(t, b.start(t)) })
		}
	}
}

const (
	compareAndDelete = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	// enterLock is a reentrant acquire: nil when held by ARGV[2] now, else what
	// is left of the other's lease, in ms.
	enterLock = `if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
  redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  return nil
end
return redis.call('PTTL', KEYS[1])`
	// leaveLock ends one entry of ARGV[1] and publishes when it was the last.
	leaveLock = `if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '0')
return 1`
)

func TestStringLock(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, d deployment) {
		a, b := harness.Dial(t, d.Address()), harness.Dial(t, d.Address())
		a.Want("OK", "SET", "lock", "owner-a", "NX", "PX", "30000")
		b.Want("(nil)", "SET", "lock", "owner-b", "NX", "PX", "30000")
		wantBetween(t, b.Int("PTTL", "lock"), 25000, 30000)
		b.Want("(integer) 0", "EVAL", compareAndDelete, "1", "lock", "owner-b")
		b.Want(`"owner-a"`, "GET", "lock")
		a.Want("(integer) 1", "EVAL", compareAndDelete, "1", "lock", "owner-a")
		b.Want("OK", "SET", "lock", "owner-b", "PX", "30000", "NX")
	})
}

func TestOneOfManyGetsTheLock(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, d deployment) {
		conns := make([]*harness.Conn, 20)
		for i := range conns {
			conns[i] = harness.Dial(t, d.Address())
		}
		for round := range 10 {
			key := "contended:" + strconv.Itoa(round)
			for i, c := range conns {
				c.Send("SET", key, strconv.Itoa(i), "NX", "PX", "30000")
			}
			var winners []string
			for i, c := range conns {
				if !c.Receive().Null {
					winners = append(winners, strconv.Itoa(i))
				}
			}
			if len(winners) != 1 {
				t.Fatalf("%s was granted to %v", key, winners)
			}
			conns[0].Want(strconv.Quote(winners[0]), "GET", key)
		}
	})
}

func TestReentrantLockByScript(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, d deployment) {
		a, b := harness.Dial(t, d.Address()), harness.Dial(t, d.Address())
		a.Want("(nil)", "EVAL", enterLock, "1", "re", "30000", "u:1")
		a.Want("(nil)", "EVAL", enterLock, "1", "re", "40000", "u:1")
		wantBetween(t, b.Int("EVAL", enterLock, "1", "re", "30000", "u:2"), 35000, 40000)
		b.Want(`"2"`, "HGET", "re", "u:1")
		b.Want("(nil)", "EVAL", leaveLock, "2", "re", "channel", "u:2")
		b.Want(`["subscribe", "channel", (integer) 1]`, "SUBSCRIBE", "channel")
		a.Want("(integer) 0", "EVAL", leaveLock, "2", "re", "channel", "u:1")
		a.Want("(integer) 1", "EVAL", leaveLock, "2", "re", "channel", "u:1")
		if got := b.Receive().String(); got != `["message", "channel", "0"]` {
			t.Fatalf("the waiter received %s", got)
		}
		a.Want("(integer) 0", "EXISTS", "re")
	})
}

// TestLeaseEndsOnTime looks at a short lease from both sides: it is there until
// its TTL is over, then it is gone, and its end is published without anybody asking.
func TestLeaseEndsOnTime(t *testing.T) {
	const lease = 300 * time.Millisecond
	onEveryBackend(t, func(t *testing.T, d deployment) {
		listener, c := harness.Dial(t, d.Address()), harness.Dial(t, d.Address())
		listener.Do("SUBSCRIBE", "__keyevent@0__:expired")
		for _, watch := range []string{"nobody", "poll"} {
			sent := time.Now()
			c.Want("OK", "SET", watch, "owner", "NX", "PX", milliseconds(lease))
			acked := time.Now()
			if watch == "poll" {
				lastSeen, gone := pollUntilGone(t, c, watch)
				if gone.Sub(sent) < lease {
					t.Fatalf("expired %v after it was asked for, the lease was %v", gone.Sub(sent), lease)
				}
				wantSoon(t, "present", lastSeen.Sub(acked)-lease)
			}
			message := listener.Receive().String()
			published := time.Since(sent)
			if message != fmt.Sprintf("[%q, %q, %q]", "message", "__keyevent@0__:expired", watch) {
				t.Fatalf("the listener received %s", message)
			}
			if published < lease {
				t.Fatalf("the end was published after %v, the lease was %v", published, lease)
			}
			wantSoon(t, "unpublished", published-lease)
			c.Want("OK", "SET", watch, "next", "NX", "PX", "30000")
		}
	})
}

// pollUntilGone reads a key until it is absent. It returns when the last read
// that saw it was sent, and when the first that did not was answered.
func pollUntilGone(t *testing.T, c *harness.Conn, key string) (lastSeen, gone time.Time) {
	t.Helper()
	harness.Eventually(t, 30*time.Second, func() bool {
		asked := time.Now()
		if c.Int("EXISTS", key) == 1 {
			lastSeen = asked
			return false
		}
		gone = time.Now()
		return true
	})
	return lastSeen, gone
}

// wantSoon allows a busy machine a second to notice the end of a lease.
func wantSoon(t *testing.T, what string, late time.Duration) {
	t.Helper()
	if late > time.Second {
		t.Fatalf("still %s %v after the lease", what, late)
	}
}

func TestRenewedLeaseOutlivesItsFirstTTL(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, d deployment) {
		c, clock := harness.Dial(t, d.Address()), harness.Dial(t, d.Address())
		c.Want("OK", "SET", "renewed", "owner", "PX", "200")
		c.Want("OK", "SET", "measure", "x", "PX", "400")
		c.Want("(integer) 1", "PEXPIRE", "renewed", "60000")
		pollUntilGone(t, clock, "measure")
		c.Want(`"owner"`, "GET", "renewed")
		wantBetween(t, c.Int("PTTL", "renewed"), 50000, 60000-150)
	})
}

// TestSubscriberSeesItsAcknowledgementFirst subscribes while another client
// publishes numbers without a pause: the first frame is the acknowledgement,
// and from the first message on no number is missing.
func TestSubscriberSeesItsAcknowledgementFirst(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, d deployment) {
		publisher, subscriber := harness.Dial(t, d.Address()), harness.Dial(t, d.Address())
		const before, after = 200, 200
		for i := range before {
			publisher.Send("PUBLISH", "numbers", strconv.Itoa(i))
		}
		subscriber.Send("SUBSCRIBE", "numbers")
		if first := subscriber.Receive().String(); first != `["subscribe", "numbers", (integer) 1]` {
			t.Fatalf("the first frame is %s", first)
		}
		for i := range after {
			publisher.Send("PUBLISH", "numbers", strconv.Itoa(before+i))
		}
		next := -1
		for next < before+after {
			message := subscriber.Receive()
			got, err := strconv.Atoi(message.Elems[2].Text)
			if err != nil || next >= 0 && got != next {
				t.Fatalf("received %s, want number %d", message, next)
			}
			next = got + 1
		}
		for range before + after {
			publisher.Receive()
		}
	})
}

// TestPipelineKeepsItsOrder sends a thousand commands at once: each sees the
// effects of those before it, and replies come in the order sent.
func TestPipelineKeepsItsOrder(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		var wire strings.Builder
		var want []string
		for i := range 100 {
			key, n := "pipe:"+strconv.Itoa(i%7), strconv.Itoa(i)
			for _, exchange := range [][]string{
				{"OK", "SET", key, n},
				{strconv.Quote(n), "GET", key},
				{"(integer) " + strconv.Itoa(i+1), "INCR", key},
				{strconv.Quote(strconv.Itoa(i + 1)), "EVAL", "return redis.call('GET', KEYS[1])", "1", key},
				{strconv.Quote("tracer" + n), "ECHO", "tracer" + n},
				{"(nil)", "SET", key, "other", "NX", "PX", "1000"},
				{"(integer) 1", "HSET", "hash:" + n, "f", n},
				{"(integer) 1", "DEL", "hash:" + n},
				{"(integer) 0", "EXISTS", "hash:" + n},
				{"PONG", "PING"},
			} {
				want = append(want, exchange[0])
				wire.Write(harness.Encode(exchange[1:]...))
			}
		}
		c.SendRaw([]byte(wire.String()))
		for i := range want {
			if got := c.Receive().String(); got != want[i] {
				t.Fatalf("reply %d of the pipeline is %s, want %s", i, got, want[i])
			}
		}
	})
}

// TestWriteIsSeenByEverybodyOnceAnswered reads on another connection right after
// the writer's reply.
func TestWriteIsSeenByEverybodyOnceAnswered(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, d deployment) {
		writer, reader := harness.Dial(t, d.Address()), harness.Dial(t, d.Address())
		for i := range 100 {
			n := strconv.Itoa(i)
			writer.Want("OK", "SET", "seen", n)
			reader.Want(strconv.Quote(n), "GET", "seen")
		}
	})
}

func TestDatabasesAreSeparate(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, d deployment) {
		zero, nine := harness.Dial(t, d.Address()), harness.Dial(t, d.Address())
		nine.Want("OK", "SELECT", "9")
		zero.Want("OK", "SET", "lock", "zero", "NX", "PX", "30000")
		nine.Want("OK", "SET", "lock", "nine", "NX", "PX", "30000")
		zero.Want("OK", "FLUSHDB")
		nine.Want(`"nine"`, "GET", "lock")
		zero.Want("(nil)", "GET", "lock")
	})
}

func wantBetween(t *testing.T, got, low, high int64) {
	t.Helper()
	if got < low || got > high {
		t.Fatalf("got %d, want %d to %d", got, low, high)
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
