package integration

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// The acquires and releases of Redisson, as it sends them (RedissonLock, RedissonReadLock, RedissonWriteLock; without the
// latches of their releases).
const (
	redissonLock = "if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then " +
		"redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; " +
		"return redis.call('pttl', KEYS[1]);"
	redissonRead = "local mode = redis.call('hget', KEYS[1], 'mode'); if (mode == false) then redis.call('hset', KEYS[1], 'mode', 'read'); " +
		"redis.call('hset', KEYS[1], ARGV[2], 1); redis.call('set', KEYS[2] .. ':1', 1); redis.call('pexpire', KEYS[2] .. ':1', ARGV[1]); " +
		"redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; " +
		"if (mode == 'read') or (mode == 'write' and redis.call('hexists', KEYS[1], ARGV[3]) == 1) then " +
		"local ind = redis.call('hincrby', KEYS[1], ARGV[2], 1); local key = KEYS[2] .. ':' .. ind; redis.call('set', key, 1); " +
		"redis.call('pexpire', key, ARGV[1]); local remainTime = redis.call('pttl', KEYS[1]); " +
		"redis.call('pexpire', KEYS[1], math.max(remainTime, ARGV[1])); return nil; end; return redis.call('pttl', KEYS[1]);"
	redissonWrite = "local mode = redis.call('hget', KEYS[1], 'mode'); if (mode == false) then redis.call('hset', KEYS[1], 'mode', 'write'); " +
		"redis.call('hset', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; " +
		"if (mode == 'write') then if (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('hincrby', KEYS[1], ARGV[2], 1); " +
		"local currentExpire = redis.call('pttl', KEYS[1]); redis.call('pexpire', KEYS[1], currentExpire + ARGV[1]); return nil; end; end; " +
		"return redis.call('pttl', KEYS[1]);"
	redissonUnlock = "if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end; " +
		"local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1); if (counter > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); return 0; " +
		"else redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], ARGV[1]); return 1; end; return nil;"
)

const (
	thread      = "8743c9c0-0795-4907-87fd-6c719a6b4586:57"
	otherThread = "8743c9c0-0795-4907-87fd-6c719a6b4586:58"
)

func acquireLine(lock string) []string {
	return []string{"EVAL", redissonLock, "1", lock, "600000", thread} // longer than any wait for a hold count
}

func readLine(lock, owner, lease string) []string {
	return []string{"EVAL", redissonRead, "2", lock, "{" + lock + "}:" + owner + ":rwlock_timeout", lease, owner, owner + ":write"}
}

func writeLine(lock string) []string {
	return []string{"EVAL", redissonWrite, "1", lock, "60000", thread + ":write"}
}

// backLine is what Redfence itself sends to take an acquire back that was given these tokens.
func backLine(t *testing.T, keys []string, field, holds string, tokens ...string) []string {
	t.Helper()
	text, err := os.ReadFile("../proxy/takeback.lua")
	if err != nil {
		t.Fatal(err)
	}
	line := append([]string{"EVAL", string(text), fmt.Sprint(len(keys))}, keys...)
	return append(append(line, field, holds), tokens...)
}

// TestWhatTakingBackDoes has one acquire of each kind of lock be taken back, and one too late.
func TestWhatTakingBackDoes(t *testing.T) {
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c := harness.Dial(t, d.Address())
		token := func(key string) string { return fmt.Sprint(c.Int("FENCE", key)) }
		back := func(want string, keys []string, field, holds string, tokens ...string) {
			t.Helper()
			c.Want(want, backLine(t, keys, field, holds, tokens...)...)
		}
		took := func(line ...string) {
			t.Helper()
			c.Want("(nil)", line...)
		}
		const yes, no = "(integer) 1", "(integer) 0"
		t.Run("a lock that was taken once", func(t *testing.T) {
			took(acquireLine("once")...)
			back(yes, []string{"once"}, thread, "", token("once"))
			c.Want(no, "EXISTS", "once")
		})
		t.Run("a lock that was taken twice", func(t *testing.T) {
			took(acquireLine("twice")...)
			took(acquireLine("twice")...)
			back(yes, []string{"twice"}, thread, "", token("twice"))
			c.Want(`"1"`, "HGET", "twice", thread)
			wantBetween(t, c.Int("PTTL", "twice"), 500000, 600000)
		})
		t.Run("not another instance", func(t *testing.T) {
			took(acquireLine("again")...)
			old := token("again")
			c.Want(yes, "DEL", "again")
			took(acquireLine("again")...)
			back(no, []string{"again"}, thread, "", old)
			c.Want(`"1"`, "HGET", "again", thread)
			c.Want(yes, "DEL", "again")
			back(no, []string{"again"}, thread, "", old)
		})
		t.Run("a write lock, and a read lock within", func(t *testing.T) {
			holds := "{rw}:" + thread + ":rwlock_timeout:"
			took(writeLine("rw")...)
			took(readLine("rw", thread, "60000")...)
			took(writeLine("rw")...)
			back(yes, []string{"rw"}, thread+":write", "", token("rw"))
			c.Want(`["write", "1", "1"]`, "HMGET", "rw", "mode", thread+":write", thread)
			back(yes, []string{"rw"}, thread+":write", "", token("rw"))
			c.Want(`["read", (nil), "1"]`, "HMGET", "rw", "mode", thread+":write", thread)
			back(yes, []string{"rw", holds + "1"}, thread, holds, token("rw"), token(holds+"1"))
			c.Want(no, "EXISTS", "rw", holds+"1")
		})
		t.Run("a read lock beside another's", func(t *testing.T) {
			holds := "{read}:" + thread + ":rwlock_timeout:"
			took(readLine("read", otherThread, "60000")...)
			took(readLine("read", thread, "60000")...)
			first := token(holds + "1")
			back(yes, []string{"read", holds + "1"}, thread, holds, token("read"), first)
			c.Want(`["read", (nil), "1"]`, "HMGET", "read", "mode", thread, otherThread)
			c.Want(no, "EXISTS", holds+"1")
			took(readLine("read", thread, "60000")...)
			back(no, []string{"read", holds + "1"}, thread, holds, token("read"), first)
			c.Want(`["read", "1", "1"]`, "HMGET", "read", "mode", thread, otherThread)
		})
		t.Run("a read lock, no TTL is shortened", func(t *testing.T) {
			holds := "{ttl}:" + thread + ":rwlock_timeout:"
			for _, lease := range []string{"20000", "90000", "60000"} {
				took(readLine("ttl", thread, lease)...)
			}
			back(yes, []string{"ttl", holds + "1"}, thread, holds, token("ttl"), token(holds+"1"))
			c.Want(`["read", "2"]`, "HMGET", "ttl", "mode", thread)
			wantBetween(t, c.Int("PTTL", holds+"1"), 70000, 90000)
			wantBetween(t, c.Int("PTTL", holds+"2"), 70000, 90000)
			wantBetween(t, c.Int("PTTL", "ttl"), 70000, 90000)
			c.Want(no, "EXISTS", holds+"3")
		})
	})
}

// holdsOf is how often the thread has a lock, as a server says; -1 when it cannot.
func holdsOf(addr, lock string) int64 {
	r, err := askOnce(addr, "HGET", lock, thread)
	if err != nil || r.IsError() {
		return -1
	}
	n := int64(0)
	_, _ = fmt.Sscan(strings.Trim(r.String(), `"`), &n)
	return n
}

func awaitHolds(t *testing.T, addr, lock string, n int64) {
	t.Helper()
	if !harness.Poll(clusterPatience, func() bool { return holdsOf(addr, lock) == n }) {
		t.Fatalf("the thread has %s %d times, want %d", lock, holdsOf(addr, lock), n)
	}
}

// releasedOnce has one release free a lock.
func releasedOnce(t *testing.T, addr, lock string) {
	t.Helper()
	c := harness.Dial(t, addr)
	c.Want("(integer) 1", "EVAL", redissonUnlock, "2", lock, "redisson_lock__channel:{"+lock+"}", "0", "60000", thread)
	c.Want("(integer) 0", "EXISTS", lock)
}

// inFlight sends an acquire and returns when it is executed, so that its answer is on its way; or nil when it was refused.
func inFlight(t *testing.T, through, seen, lock string) *harness.Wire {
	t.Helper()
	w, err := harness.Open(through)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Send(acquireLine(lock)...); err != nil {
		t.Fatal(err)
	}
	refused := false
	harness.Eventually(t, clusterPatience, func() bool {
		refused = answered(w)
		return refused || holdsOf(seen, lock) == 1
	})
	if refused {
		hangUp(t, w)
		return nil
	}
	return w
}

// answered tells whether a reply has come to what was sent last.
func answered(w *harness.Wire) bool {
	_, err := w.ReceiveWithin(time.Millisecond)
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

func hangUp(t *testing.T, w *harness.Wire) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

const (
	longerThanPatience = 3500 * time.Millisecond // than a member lets a client wait
	shortly            = 200 * time.Millisecond  // and yet so late that it is asked whether the client is still there
)

// TestAResendThroughAnotherMemberCountsOnce has the answer of an acquire not come through to the member of its client, which
// hangs up and sends the acquire again through another member. What happens to the first member meanwhile differs.
func TestAResendThroughAnotherMemberCountsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	c, network := harness.StartApartCluster(t, 3)
	voters(t, c.Members[0], 3)
	tests := map[string]struct {
		leads         bool // the first member leads
		befalls, ends func(first int)
	}{
		"slow":             {false, func(int) {}, func(int) { time.Sleep(shortly) }},
		"cut off":          {false, func(first int) { network.Isolate(first) }, func(int) { time.Sleep(longerThanPatience) }},
		"leader, cut off":  {true, func(first int) { network.Isolate(first) }, func(int) { time.Sleep(shortly) }},
		"paused":           {false, func(first int) { c.Members[first].Pause() }, func(first int) { time.Sleep(shortly); c.Members[first].Resume() }},
		"paused for long":  {false, func(first int) { c.Members[first].Pause() }, func(first int) { time.Sleep(longerThanPatience); c.Members[first].Resume() }},
		"paused as leader": {true, func(first int) { c.Members[first].Pause() }, func(first int) { time.Sleep(shortly); c.Members[first].Resume() }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tries := 0
			unanswered := func() bool {
				tries++
				lock := fmt.Sprintf("lock %s %d", name, tries)
				leader := c.Leader()
				first, second := (leader+1)%3, (leader+2)%3
				defer network.Heal()
				if tt.leads {
					first = leader
					network.Cut((leader+1)%3, leader) // so it never knows that a majority has the acquire
					network.Cut((leader+2)%3, leader)
				} else {
					network.CutAnswers(leader, first)
				}
				w := inFlight(t, c.Members[first].Addr, c.Members[second].Addr, lock)
				if w == nil {
					return false
				}
				tt.befalls(first)
				harness.Dial(t, c.Members[second].Addr).Want("(nil)", acquireLine(lock)...)
				late := answered(w)
				hangUp(t, w)
				tt.ends(first)
				network.Heal()
				if late {
					return false
				}
				awaitHolds(t, c.Members[second].Addr, lock, 1)
				releasedOnce(t, c.Members[second].Addr, lock)
				return true
			}
			// On a busy machine the first member may have had the time to give up, and has answered that.
			harness.Eventually(t, clusterPatience, unanswered)
		})
	}
}

// TestAPausedProcessTakesNoLock has a client send an acquire to a process that is paused, hang up and send it again through
// another one; or give up.
func TestAPausedProcessTakesNoLock(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out faults")
	}
	members := func(t *testing.T) (first, second *harness.Server) {
		t.Helper()
		c := harness.StartCluster(t, 3)
		voters(t, c.Members[0], 3)
		leader := c.Leader()
		return c.Members[(leader+1)%3], c.Members[leader]
	}
	proxies := func(t *testing.T) (first, second *harness.Server) {
		t.Helper()
		q := harness.StartQuorum(t, 3)
		return harness.StartProxy(t, q.Nodes).Server, q.Server
	}
	for name, start := range map[string]func(*testing.T) (_, _ *harness.Server){"raft": members, "quorum": proxies} {
		t.Run(name, func(t *testing.T) {
			first, second := start(t)
			idle := connectedTo(t, first)
			send := func(lock string, meanwhile func()) {
				t.Helper()
				w, err := harness.Open(first.Addr)
				if err != nil {
					t.Fatal(err)
				}
				if r, err := w.Do("PING"); err != nil || r.Text != "PONG" {
					t.Fatal(r, err)
				}
				first.Pause()
				if err := w.Send(acquireLine(lock)...); err != nil {
					t.Fatal(err)
				}
				hangUp(t, w)
				meanwhile()
				first.Resume()
				harness.Eventually(t, clusterPatience, func() bool { return connectedTo(t, first) == idle })
			}
			send("given up", func() {})
			awaitHolds(t, second.Addr, "given up", 0)
			send("again", func() { harness.Dial(t, second.Addr).Want("(nil)", acquireLine("again")...) })
			awaitHolds(t, second.Addr, "again", 1)
			releasedOnce(t, second.Addr, "again")
		})
	}
}

// connectedTo is how many clients a process has, the one that asks among them.
func connectedTo(t *testing.T, s *harness.Server) (n int) {
	t.Helper()
	r, err := askOnce(s.Addr, "INFO", "clients")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(r.Text, "connected_clients:")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err, r)
	}
	return n
}

// TestAResendThroughAnotherProxyCountsOnce has the answers of the nodes come late to the proxy of a client, which hangs up and
// sends the acquire again through another one.
func TestAResendThroughAnotherProxyCountsOnce(t *testing.T) {
	q := harness.StartQuorum(t, 3)
	var relays []*harness.Relay
	var behind []*harness.Server
	for _, n := range q.Nodes {
		r := harness.StartRelay(t, n.Addr)
		relays, behind = append(relays, r), append(behind, &harness.Server{Addr: r.Addr})
	}
	first := harness.StartProxy(t, behind)
	hold := func(f func(*harness.Relay, harness.Direction)) {
		for _, r := range relays {
			f(r, harness.ToClient)
		}
	}
	harness.Dial(t, first.Addr).Want("(nil)", acquireLine("another")...) // so it is connected, and knows the script
	for _, held := range []int64{0, 1} {                                 // before
		lock := fmt.Sprint("lock", held)
		for range held {
			harness.Dial(t, q.Addr).Want("(nil)", acquireLine(lock)...)
		}
		hold((*harness.Relay).Hold)
		w, err := harness.Open(first.Addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Send(acquireLine(lock)...); err != nil {
			t.Fatal(err)
		}
		awaitHolds(t, q.Addr, lock, held+1)
		hangUp(t, w)
		harness.Dial(t, q.Addr).Want("(nil)", acquireLine(lock)...)
		time.Sleep(shortly)
		hold((*harness.Relay).Release)
		awaitHolds(t, q.Addr, lock, held+1)
		for range held {
			harness.Dial(t, q.Addr).Want("(integer) 0", "EVAL", redissonUnlock, "2", lock, "redisson_lock__channel:{"+lock+"}", "0", "60000", thread)
		}
		releasedOnce(t, q.Addr, lock)
	}
}
