package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redfence/redfence/integration/harness"
)

// wakeModes are deployments of two processes, so that who waits and who acts may be at different ones.
var wakeModes = []struct {
	name  string
	start func(t testing.TB, args ...string) (waiter, actor *harness.Server)
}{
	{"raft", func(t testing.TB, args ...string) (waiter, actor *harness.Server) {
		t.Helper()
		c := harness.StartCluster(t, 3, args...)
		lead := c.Leader()
		return c.Members[(lead+1)%3], c.Members[(lead+2)%3]
	}},
	{"quorum", func(t testing.TB, args ...string) (waiter, actor *harness.Server) {
		t.Helper()
		q := harness.StartQuorum(t, 3, args...)
		return q.Server, harness.StartProxy(t, q.Nodes, args...).Server
	}},
}

// TestWaitersOfRedissonAreWoken shows that who listens to the channel of a lock hears that it is free, though no script has
// published it: because it was free already, was deleted at another process, or has expired.
func TestWaitersOfRedissonAreWoken(t *testing.T) {
	for _, mode := range wakeModes {
		t.Run(mode.name, func(t *testing.T) {
			waiter, actor := mode.start(t)
			act := harness.Dial(t, actor.Addr)
			woken := func(name, channel, message string, free func()) {
				t.Run(name, func(t *testing.T) {
					c := harness.Dial(t, waiter.Addr)
					assert.Equal(t, "subscribe", c.Do("SUBSCRIBE", channel).Elems[0].Text)
					free()
					got := c.Receive()
					assert.Equal(t, "message", got.Elems[0].Text)
					assert.Equal(t, message, got.Elems[2].Text)
				})
			}
			woken("free", "redisson_lock__channel:{free}", "0", func() {})
			act.Do("HSET", "deleted", "owner", "1")
			woken("deleted", "redisson_lock__channel:{deleted}", "0", func() { act.Do("DEL", "deleted") })
			act.Do("EVAL", enterLock, "1", "expired", "1500", "owner")
			woken("expired", "redisson_lock__channel:{expired}", "0", func() {})
			act.Do("EVAL", enterLock, "1", "both", "1500", "owner")
			woken("read-write", "redisson_rwlock:{both}", "1", func() {})
		})
	}
}

// TestWakeupsCanBeTurnedOff compares with what has just been woken by its own end.
func TestWakeupsCanBeTurnedOff(t *testing.T) {
	s := harness.StartRedfence(t, "--no-wakeups")
	c := harness.Dial(t, s.Addr)
	c.Do("SUBSCRIBE", "redisson_lock__channel:{free}")
	assert.True(t, c.Silent(1500*time.Millisecond))
}
