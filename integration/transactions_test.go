package integration

import (
	"strconv"
	"sync"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// TestOptimisticCounters has clients count up by WATCH, GET, MULTI, SET, EXEC. No count may be lost or doubled, with
// the key there and with a key that comes and goes.
func TestOptimisticCounters(t *testing.T) {
	const clients, each = 6, 20
	onEveryBackend(t, func(t *testing.T, d deployment) {
		var workers sync.WaitGroup
		for range clients {
			c := harness.Dial(t, d.Address())
			workers.Go(func() {
				for range each {
					for !countUp(c, "counter") {
					}
				}
			})
		}
		workers.Wait()
		harness.Dial(t, d.Address()).Want(strconv.Quote(strconv.Itoa(clients*each)), "GET", "counter")
	})
}

// countUp tries once, and tells whether the transaction ran. The key that is deleted in it makes every round begin
// with an absent key as well.
func countUp(c *harness.Conn, key string) bool {
	c.Want("OK", "WATCH", key, key+":absent")
	n := 0
	if was := c.Do("GET", key); !was.Null {
		n, _ = strconv.Atoi(was.Text)
	}
	c.Want("OK", "MULTI")
	for _, line := range [][]string{
		{"SET", key, strconv.Itoa(n + 1)}, {"SET", key + ":absent", "x"}, {"DEL", key + ":absent"},
	} {
		c.Want("QUEUED", line...)
	}
	return !c.Do("EXEC").Null
}

// TestOneOfManyTakesALockByTransaction is how clients without scripts take and release locks.
func TestOneOfManyTakesALockByTransaction(t *testing.T) {
	const clients = 12
	onEveryBackend(t, func(t *testing.T, d deployment) {
		conns := make([]*harness.Conn, clients)
		for i := range conns {
			conns[i] = harness.Dial(t, d.Address())
			conns[i].Want("OK", "WATCH", "lock")
			conns[i].Want("(nil)", "GET", "lock")
		}
		for i, c := range conns {
			c.Send("MULTI")
			c.Send("SET", "lock", strconv.Itoa(i), "PX", "30000")
			c.Send("PING") // the front end's part must not come in between
			c.Send("EXEC")
		}
		winner := ""
		for i, c := range conns {
			c.Receive()
			c.Receive()
			c.Receive()
			if reply := c.Receive(); !reply.Null {
				if winner != "" {
					t.Fatalf("the lock was granted to %s and to %d", winner, i)
				}
				winner = strconv.Itoa(i)
			}
		}
		conns[0].Want(strconv.Quote(winner), "GET", "lock")
	})
}
