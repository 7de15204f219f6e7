package integration

import (
	"strconv"
	"sync"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// TestQuorumExecutesOnce sends commands on one key just when the one before is answered, and without waiting for that:
// each takes effect once, in the order sent.
func TestQuorumExecutesOnce(t *testing.T) {
	q := harness.StartQuorum(t, 3)
	for name, each := range map[string]int{"one at a time": 1, "pipelined": 50} {
		t.Run(name, func(t *testing.T) {
			var clients sync.WaitGroup
			for i := range 4 {
				clients.Go(func() { count(t, q.Addr, name+strconv.Itoa(i), each) })
			}
			clients.Wait()
		})
	}
}

// count increments a key a thousand times, so many at once.
func count(t *testing.T, addr, key string, each int) {
	w, err := harness.Open(addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = w.Close() }()
	for n := 1; n <= 1000; {
		for range each {
			if err := w.Send("INCR", key); err != nil {
				t.Error(err)
			}
		}
		for range each {
			reply, err := w.Receive()
			if got, _ := reply.Int(); err != nil || got != int64(n) {
				t.Errorf("increment %d of %s answered %s, %v", n, key, reply, err)
				return
			}
			n++
		}
	}
}
