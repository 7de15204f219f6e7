package raftstore

import (
	"strings"
	"testing"
	"time"
)

// TestRecoverALostMajority: two of three are lost for good. The one that is left makes a new cluster with what it knows.
func TestRecoverALostMajority(t *testing.T) {
	c := startNodes(t)
	token := c.do("SET", "lock", "owner", "NX", "PX", "600000", "FENCE").Int()
	old := c.stores[0].clusterID()
	eventually(t, "all have the lock", func() bool {
		for _, s := range c.stores {
			if s.Stats().Keys != 1 {
				return false
			}
		}
		return true
	})
	for i := range c.stores {
		c.stop(i)
	}
	r, err := Recover(c.config(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	if r.Keys != 1 || r.Cluster == old || r.LastToken < token+raisedBy.Microseconds() || r.Hold < 9*time.Minute {
		t.Errorf("recovery %+v", r)
	}
	if r, err = Recover(c.config(1), 300*time.Millisecond); err != nil {
		t.Fatal("a second time: ", err)
	}
	c.start(1)
	eventually(t, "it says why it serves nothing", func() bool {
		return strings.Contains(do(t, c.stores[1].Open(), "GET", "lock").Reply.Str, "recovered")
	})
	c.ready()
	if got := c.do("FENCE", "lock", "owner").Int(); got != token {
		t.Errorf("token of the lock that it has: %d, want %d", got, token)
	}
	if got := c.do("SET", "new", "x", "FENCE").Int(); got <= r.LastToken {
		t.Errorf("token %d after the recovery, want one above %d", got, r.LastToken)
	}
	c.start(0) // of the old cluster: it cannot come back
	if err := <-c.stores[0].Failed(); err == nil {
		t.Error("a member of the old cluster came back")
	} else {
		t.Log(err)
	}
}
