package integration

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// TestATTLInATransactionIsAgreedOn reads what remains of a lease together with the value, as rueidis does for its
// cache. The nodes are asked one after another, so each knows of another remainder.
func TestATTLInATransactionIsAgreedOn(t *testing.T) {
	c := harness.Dial(t, harness.StartQuorum(t, 3).Addr)
	for range 300 {
		c.Want("OK", "SET", "k", "v", "PX", "100000")
		c.Want("OK", "MULTI")
		c.Want("QUEUED", "PTTL", "k")
		c.Want("QUEUED", "GET", "k")
		if reply := c.Do("EXEC"); len(reply.Elems) != 2 || reply.Elems[1].Text != "v" {
			t.Fatalf("EXEC answered %s", reply)
		}
	}
}

// enqueue notes when who waits for a lock will have waited for long enough, as the script of Redisson's fair lock does: it
// stores what it computes of a TTL.
const enqueue = `return redis.call('zadd', KEYS[2], redis.call('pttl', KEYS[1]) + 1000, ARGV[1])`

// TestAStoredTTLCostsNoVote stores TTLs, of which each node knows another. Now and then a busy machine may be too slow.
func TestAStoredTTLCostsNoVote(t *testing.T) {
	const requests, mostLost = 50, 10
	q := harness.StartQuorum(t, 3)
	c := harness.Dial(t, q.Addr)
	early, earlier := harness.Dial(t, q.Nodes[0].Addr), harness.Dial(t, q.Nodes[1].Addr)
	for i := range requests {
		lock := "lock:" + strconv.Itoa(i)
		c.Want("OK", "SET", lock, "v", "NX", "PX", "100000")
		c.Want("(integer) 1", "EXISTS", lock)
		early.Do("PEXPIRE", lock, "99950")
		earlier.Do("PEXPIRE", lock, "99900")
		c.Want("(integer) 1", "EVAL", enqueue, "2", lock, "queue:"+strconv.Itoa(i), "me")
	}
	_, after, _ := strings.Cut(c.Do("INFO", "quorum").Text, "quorum_lost:")
	line, _, _ := strings.Cut(after, "\r\n")
	lost, err := strconv.Atoi(line)
	if err != nil || lost > mostLost {
		t.Fatalf("%q of %d votes were lost", line, requests)
	}
}

// TestKeysThatLastForAMillisecond has clients try at once what scripts may do, as Symfony Lock does when a process takes its
// first lock. To some nodes the key is there still, to others no more.
func TestKeysThatLastForAMillisecond(t *testing.T) {
	const clients, requests = 8, 150
	const probe = `local now = redis.call('TIME') redis.call('SET', KEYS[1], '1', 'PX', 1) return 1`
	addr := harness.StartQuorum(t, 3).Addr
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			c, err := harness.Open(addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }() // the test is over
			for range requests {
				if reply, err := c.Do("EVAL", probe, "1", "probe"); err != nil || reply.String() != "(integer) 1" {
					t.Errorf("answered %s, %v", reply, err)
					return
				}
			}
		})
	}
	running.Wait()
}
