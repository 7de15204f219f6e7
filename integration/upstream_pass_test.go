package integration

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// inBothModes runs a test with redfence in front of a Redis, in either mode.
func inBothModes(t *testing.T, test func(t *testing.T, redfence, upstream *harness.Server)) {
	t.Helper()
	flags := func(upstream *harness.Server) []string {
		return []string{"--upstream", "redis://" + upstream.Addr, "--lock-keys", "lock:*"}
	}
	t.Run("raft", func(t *testing.T) {
		upstream := harness.StartRedis(t)
		test(t, harness.StartRedfence(t, flags(upstream)...), upstream)
	})
	t.Run("quorum", func(t *testing.T) {
		upstream := harness.StartRedis(t)
		test(t, harness.StartQuorum(t, 3, flags(upstream)...).Server, upstream)
	})
}

const mixed = `(error) ERR redfence: 'lock:1' is a lock and 'stock' is not (--lock-keys), so one request or transaction ` +
	`cannot have both; nothing was executed; use two, or add a pattern for 'stock' to --lock-keys`

func TestKeysGoToTheirSide(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, upstream *harness.Server) {
		c, direct := harness.Dial(t, redfence.Addr), harness.Dial(t, upstream.Addr)
		c.Want("OK", "SET", "lock:1", "me", "NX", "PX", "60000")
		c.Want("OK", "SET", "stock", "5")
		direct.Want(`"5"`, "GET", "stock")
		direct.Want("(nil)", "GET", "lock:1")
		c.Want(`["stock"]`, "KEYS", "*")
		c.Want(`["lock:1"]`, "KEYS", "lock:*")
		c.Want("(integer) 1", "DBSIZE")
		c.Want("(integer) 1", "XLEN", want(c.Do("XADD", "stream", "*", "f", "v"), "stream"))
		c.Want("(error) ERR unknown command 'XADD', with args beginning with: 'lock:2' '*' 'f' 'v' ", "XADD", "lock:2", "*", "f", "v")
		c.Want("OK", "FLUSHALL")
		c.Want(`"me"`, "GET", "lock:1")
	})
}

// want returns s, when a reply is no error.
func want(r harness.Reply, s string) string {
	if r.IsError() {
		return r.String()
	}
	return s
}

func TestMixedRequestsAreRefused(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, _ *harness.Server) {
		c := harness.Dial(t, redfence.Addr)
		c.Want(mixed, "MGET", "stock", "lock:1")
		c.Want(mixed, "EVAL", "return 1", "2", "lock:1", "stock")
		c.Want(mixed, "BLPOP", "stock", "lock:1", "0")

		c.Want("OK", "MULTI")
		c.Want("QUEUED", "SET", "stock", "1")
		c.Want(mixed, "SET", "lock:1", "me")
		c.Want("(error) EXECABORT Transaction discarded because of previous errors.", "EXEC")
		c.Want("(nil)", "GET", "stock")

		c.Want("OK", "MULTI")
		c.Want("QUEUED", "SET", "lock:1", "me")
		c.Want(mixed, "SET", "stock", "1")
		c.Want("OK", "DISCARD")

		c.Want("OK", "WATCH", "stock")
		c.Want("OK", "MULTI")
		if r := c.Do("SET", "lock:1", "me"); !strings.Contains(r.String(), "--lock-keys") {
			t.Errorf("a lock in a transaction on a watched key of the upstream: %s", r)
		}
		c.Want("OK", "DISCARD")
		c.Want("(nil)", "GET", "lock:1")
	})
}

func TestWatchedKeysOfTheUpstream(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, upstream *harness.Server) {
		c, direct := harness.Dial(t, redfence.Addr), harness.Dial(t, upstream.Addr)
		c.Want("OK", "WATCH", "stock")
		direct.Want("OK", "SET", "stock", "other")
		c.Want("OK", "MULTI")
		c.Want("QUEUED", "SET", "stock", "mine")
		c.Want("(nil array)", "EXEC")

		c.Want("OK", "WATCH", "stock")
		direct.Want("OK", "SET", "stock", "other")
		c.Want("OK", "UNWATCH")
		c.Want("OK", "MULTI")
		c.Want("QUEUED", "SET", "stock", "mine")
		c.Want("[OK]", "EXEC")
	})
}

// TestScriptsAreKnownOnBothSides: who loads a script cannot know for which keys it will be called.
func TestScriptsAreKnownOnBothSides(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, _ *harness.Server) {
		c := harness.Dial(t, redfence.Addr)
		const text = "return redis.call('SET', KEYS[1], ARGV[1])"
		sha := strings.Trim(c.Do("SCRIPT", "LOAD", text).String(), `"`)
		c.Want("[(integer) 1]", "SCRIPT", "EXISTS", sha)
		c.Want("OK", "EVALSHA", sha, "1", "lock:1", "a")
		c.Want("OK", "EVALSHA", sha, "1", "stock", "b")
		c.Want("OK", "SCRIPT", "FLUSH")
		c.Want("(error) NOSCRIPT No matching script. Please use EVAL.", "EVALSHA", sha, "1", "lock:1", "a")
		c.Want("(error) NOSCRIPT No matching script. Please use EVAL.", "EVALSHA", sha, "1", "stock", "a")
	})
}

// TestSubscribersHearBothSides has one connection subscribed to channels of locks, to others, and to a pattern for all.
func TestSubscribersHearBothSides(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, upstream *harness.Server) {
		s, c, direct := harness.Dial(t, redfence.Addr), harness.Dial(t, redfence.Addr), harness.Dial(t, upstream.Addr)
		s.Want(`["subscribe", "redisson_lock__channel:{lock:1}", (integer) 1]`, "SUBSCRIBE", "redisson_lock__channel:{lock:1}")
		s.Want(`["subscribe", "news", (integer) 2]`, "SUBSCRIBE", "news")
		s.Want(`["psubscribe", "n*", (integer) 3]`, "PSUBSCRIBE", "n*")
		s.Want(`["psubscribe", "ne*", (integer) 4]`, "PSUBSCRIBE", "ne*")

		c.Want("(integer) 1", "PUBLISH", "redisson_lock__channel:{lock:1}", "0")
		if got := s.Receive().String(); got != `["message", "redisson_lock__channel:{lock:1}", "0"]` {
			t.Errorf("got %s", got)
		}
		direct.Do("PUBLISH", "news", "a") // by a client that does not know of redfence
		got := map[string]bool{}
		for range 3 {
			got[s.Receive().String()] = true
		}
		for _, w := range []string{`["message", "news", "a"]`, `["pmessage", "n*", "news", "a"]`, `["pmessage", "ne*", "news", "a"]`} {
			if !got[w] {
				t.Errorf("%s is missing in %v", w, got)
			}
		}
		direct.Do("PUBLISH", "next", "b") // for two patterns and no channel: still once for each
		for range 2 {
			s.Receive()
		}
		s.Want(`["pong", ""]`, "PING")
		direct.Want("(integer) 0", "PUBLISH", "redisson_lock__channel:{lock:1}", "the locks' channels are not there")
	})
}

// TestEffectsKeepTheirOrderAcrossSides pipelines what a lock protects with its release: the release must not come first.
func TestEffectsKeepTheirOrderAcrossSides(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, upstream *harness.Server) {
		c, other := harness.Dial(t, redfence.Addr), harness.Dial(t, redfence.Addr)
		direct := harness.Dial(t, upstream.Addr)
		c.Want("OK", "SET", "lock:1", "me", "PX", "60000")
		var pipeline []byte
		for _, line := range [][]string{
			{"EVAL", "local t = redis.call('TIME') local e = t[1] * 1000000 + t[2] + 300000 repeat t = redis.call('TIME') until t[1] * 1000000 + t[2] > e return redis.call('SET', KEYS[1], 'written')", "1", "stock"},
			{"DEL", "lock:1"},
			{"GET", "stock"},
		} {
			pipeline = append(pipeline, harness.Encode(line...)...)
		}
		c.SendRaw(pipeline)
		harness.Eventually(t, harness.ReplyTimeout, func() bool { return other.Do("GET", "lock:1").String() == "(nil)" })
		direct.Want(`"written"`, "GET", "stock")
		for _, want := range []string{"OK", "(integer) 1", `"written"`} {
			if got := c.Receive().String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

// TestManyRequestsInOneWrite checks that replies keep their order when sides alternate.
func TestManyRequestsInOneWrite(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, _ *harness.Server) {
		c := harness.Dial(t, redfence.Addr)
		var pipeline []byte
		const n = 300
		for i := range n {
			key := "stock" + strconv.Itoa(i)
			if i%7 == 3 {
				key = "lock:" + strconv.Itoa(i)
			}
			pipeline = append(pipeline, harness.Encode("SET", key, strconv.Itoa(i), "PX", "60000")...)
			pipeline = append(pipeline, harness.Encode("GET", key)...)
		}
		go func() { c.SendRaw(pipeline) }()
		for i := range n {
			ok, got := c.Receive().String(), c.Receive().String()
			if ok != "OK" || got != strconv.Quote(strconv.Itoa(i)) {
				t.Fatalf("%d: got %s and %s", i, ok, got)
			}
		}
	})
}

func TestStateOfAConnection(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, upstream *harness.Server) {
		c, direct := harness.Dial(t, redfence.Addr), harness.Dial(t, upstream.Addr)
		c.Want("OK", "CLIENT", "SETNAME", "billing")
		c.Want("OK", "SELECT", "5")
		c.Want("(integer) 1", "HSET", "h", "f", "v")
		if got := direct.Do("CLIENT", "LIST").String(); !strings.Contains(got, "name=billing") {
			t.Errorf("the upstream knows no client of that name: %s", got)
		}
		direct.Want("(integer) 0", "EXISTS", "h")
		c.Do("HELLO", "3")
		c.Want(`{"f": "v"}`, "HGETALL", "h")
		c.Want("OK", "SELECT", "0")
		c.Want("{}", "HGETALL", "h")
		c.Do("HELLO", "2")
		c.Want("[]", "HGETALL", "h")
		if r := c.Do("CLIENT", "TRACKING", "ON"); !r.IsError() {
			t.Errorf("CLIENT TRACKING ON is answered %s", r)
		}
	})
}

// TestHangUpEndsABlockedCommandThere must not leave a waiter at the upstream that takes an element for nobody.
func TestHangUpEndsABlockedCommandThere(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, upstream *harness.Server) {
		direct := harness.Dial(t, upstream.Addr)
		blocked := func() bool { return strings.Contains(direct.Do("INFO", "clients").String(), "blocked_clients:1") }
		w, err := harness.Open(redfence.Addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Send("BLPOP", "queue", "0"); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, harness.ReplyTimeout, blocked)
		_ = w.Close()
		harness.Eventually(t, harness.ReplyTimeout, func() bool { return !blocked() })
		direct.Want("(integer) 1", "RPUSH", "queue", "x")
		direct.Want("(integer) 1", "LLEN", "queue")
	})
}

// TestPauseHoldsATransactionThere: a pause of writes holds back what only the upstream knows, as it holds back a SET.
func TestPauseHoldsATransactionThere(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, _ *harness.Server) {
		c, admin := harness.Dial(t, redfence.Addr), harness.Dial(t, redfence.Addr)
		harness.Eventually(t, harness.ReplyTimeout, func() bool { return c.Do("XLEN", "stream").String() == "(integer) 0" })
		c.Want("OK", "MULTI")
		c.Want("QUEUED", "XADD", "stream", "1-1", "f", "v")
		admin.Want("OK", "CLIENT", "PAUSE", "100000", "WRITE")
		c.Send("EXEC")
		if !c.Silent(50 * time.Millisecond) {
			t.Fatalf("answered during the pause: %s", c.Receive())
		}
		admin.Want("OK", "CLIENT", "UNPAUSE")
		if got := c.Receive().String(); got != `["1-1"]` {
			t.Errorf("EXEC answered %s", got)
		}
	})
}

// TestUpstreamThatDies: locks go on, requests that cannot be sent say so, and all is well again when it is back.
func TestUpstreamThatDies(t *testing.T) {
	inBothModes(t, func(t *testing.T, redfence, upstream *harness.Server) {
		c, waiting := harness.Dial(t, redfence.Addr), harness.Dial(t, redfence.Addr)
		s, watching := harness.Dial(t, redfence.Addr), harness.Dial(t, redfence.Addr)
		c.Want("OK", "SET", "stock", "1")
		waiting.Send("BLPOP", "queue", "0")
		s.Want(`["subscribe", "news", (integer) 1]`, "SUBSCRIBE", "news")
		watching.Want("OK", "WATCH", "stock")
		direct := harness.Dial(t, upstream.Addr)
		harness.Eventually(t, harness.ReplyTimeout, func() bool {
			return strings.Contains(direct.Do("INFO", "clients").String(), "blocked_clients:1")
		})
		upstream.Kill()

		if got := waiting.Receive().String(); !strings.HasPrefix(got, "(error) ERR UNKNOWN outcome: ") {
			t.Errorf("a command whose answer was lost got %s", got)
		}
		for name, conn := range map[string]*harness.Conn{"in doubt": waiting, "subscribed": s, "watching": watching} {
			if _, err := conn.Wire.Receive(); err == nil {
				t.Errorf("the connection of who was %s is still open", name)
			}
		}
		down := "(error) CLUSTERDOWN redfence: the upstream redis://" + upstream.Addr + " is not reachable"
		harness.Eventually(t, harness.ReplyTimeout, func() bool { return strings.HasPrefix(c.Do("GET", "stock").String(), down) })
		c.Want("OK", "SET", "lock:1", "me", "NX", "PX", "60000")
		if got := c.Do("INFO", "upstream").String(); !strings.Contains(got, "upstream_state:down") {
			t.Errorf("INFO says %s", got)
		}
		upstream.Restart()
		harness.Eventually(t, harness.ReplyTimeout, func() bool { return c.Do("SET", "stock", "2").String() == "OK" })
		c.Want(`"2"`, "GET", "stock")
		c.Want(`"me"`, "GET", "lock:1")
	})
}

// TestUpstreamOfSentinels moves the master while redfence is in front of it.
func TestUpstreamOfSentinels(t *testing.T) {
	master := harness.StartRedis(t)
	replica := harness.StartReplica(t, master)
	sentinels := harness.StartSentinels(t, master, 3)
	addrs := make([]string, len(sentinels))
	for i, s := range sentinels {
		addrs[i] = s.Addr
	}
	redfence := harness.StartRedfence(t, "--upstream", "sentinel://"+strings.Join(addrs, ",")+"/mymaster", "--lock-keys", "lock:*")
	c := harness.Dial(t, redfence.Addr)
	harness.Eventually(t, time.Minute, func() bool { return c.Do("SET", "stock", "1").String() == "OK" })
	c.Want("OK", "SET", "lock:1", "me", "NX", "PX", "600000")
	asked := harness.Dial(t, sentinels[0].Addr)
	harness.Eventually(t, time.Minute, func() bool { // all know of each other and of the replica
		text := asked.Do("INFO", "sentinel").String()
		return strings.Contains(text, "slaves=1") && strings.Contains(text, "sentinels=3")
	})
	follower := harness.Dial(t, replica.Addr)
	harness.Eventually(t, time.Minute, func() bool { return follower.Do("GET", "stock").String() == `"1"` })
	master.Kill()
	harness.Eventually(t, time.Minute, func() bool {
		w, err := harness.Open(redfence.Addr) // a request in flight at the switch ends its connection
		if err != nil {
			return false
		}
		defer func() { _ = w.Close() }()
		r, err := w.Do("SET", "stock", "2")
		return err == nil && r.String() == "OK"
	})
	harness.Dial(t, replica.Addr).Want(`"2"`, "GET", "stock") // Sentinel has cut off who was connected
	c = harness.Dial(t, redfence.Addr)
	c.Want(`"me"`, "GET", "lock:1")
	info := c.Do("INFO", "upstream").String()
	if !strings.Contains(info, "upstream_addr:"+replica.Addr) {
		t.Errorf("INFO says %s", info)
	}
}

// TestLargeRepliesToASlowReader: the upstream is held up, memory is not filled, and nobody is cut off who reads on.
func TestLargeRepliesToASlowReader(t *testing.T) {
	upstream := harness.StartRedis(t)
	redfence := harness.StartRedfence(t, "--upstream", "redis://"+upstream.Addr, "--lock-keys", "lock:*", "--max-output", "4mb", "--max-bulk", "2mb")
	c := harness.Dial(t, redfence.Addr)
	value := strings.Repeat("x", 1<<20)
	c.Want("OK", "SET", "big", value)
	before := redfence.RSS()
	redfence.ResetPeak()
	conn, err := net.Dial("tcp", redfence.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const n = 600
	go func() { _, _ = conn.Write(bytes.Repeat(harness.Encode("GET", "big"), n)) }()
	want := n * len("$1048576\r\n"+value+"\r\n")
	buf := make([]byte, 64<<10)
	for got := 0; got < want; {
		_ = conn.SetReadDeadline(time.Now().Add(harness.ReplyTimeout))
		k, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("after %d of %d bytes: %v", got, want, err)
		}
		got += k
	}
	if grown := redfence.PeakRSS() - before; grown > 300<<20 {
		t.Errorf("%d MiB were kept of 600, from %d to %d bytes", grown>>20, before, redfence.PeakRSS())
	}
}
