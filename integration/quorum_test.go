package integration

import (
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
