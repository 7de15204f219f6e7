package proxy

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

const (
	ownerOfLock = "8743c9c0-0795-4907-87fd-6c719a6b4586:57"
	someSHA     = "c84f4bb5a1b4b5f2e2ca7b0a7c0b4cbdb4b0a111"
)

var acquireLock = array("EVALSHA", someSHA, "1", "lock", "30000", ownerOfLock)

// stage is a server whose backend answers when the test wants, and whose resends have a clock that the test moves.
type stage struct {
	held
	t     *testing.T
	srv   *Server
	addr  string
	ahead atomic.Int64
}

func newStage(t *testing.T) *stage {
	t.Helper()
	st := &stage{t: t}
	st.srv, st.addr = start(t, Config{Backend: &fakeBackend{submit: st.take}})
	st.srv.resends.now = func() time.Time { return time.Now().Add(time.Duration(st.ahead.Load())) }
	return st
}

func (st *stage) pass(d time.Duration) { st.ahead.Add(int64(d)) }

// hangUp closes a connection and waits until its session knows, or has ended.
func (st *stage) hangUp(c *client) {
	st.t.Helper()
	left := st.srv.all()
	require.NoError(st.t, c.Close())
	require.Eventually(st.t, func() bool {
		for _, s := range left {
			if s.hungUp.Load() {
				return true
			}
		}
		return false
	}, patience, time.Millisecond)
}

// joined waits until n places wait for the result of one attempt.
func (st *stage) joined(n int) {
	st.t.Helper()
	require.Eventually(st.t, func() bool {
		st.srv.resends.mu.Lock()
		defer st.srv.resends.mu.Unlock()
		for _, a := range st.srv.resends.first {
			if len(a.takers) == n {
				return true
			}
		}
		return false
	}, patience, time.Millisecond)
}

func (st *stage) remembered() int {
	st.srv.resends.mu.Lock()
	defer st.srv.resends.mu.Unlock()
	return len(st.srv.resends.first)
}

func TestASlowAcquireIsJoined(t *testing.T) {
	st := newStage(t)
	a, b := dial(t, st.addr), dial(t, st.addr)
	a.send(acquireLock)
	first := st.await(t, 1)[0]
	st.pass(resendAfter)
	b.send(acquireLock + array("GET", "behind"))
	st.joined(2)
	echoBack(st.await(t, 2)[1])
	first.Done(Result{Reply: resp.Int(7)})
	require.Equal(t, ":7", a.next())
	require.Equal(t, ":7", b.next())
	require.Equal(t, "$6 behind", b.next())
	require.Zero(t, st.remembered())
	a.send(acquireLock)
	echoBack(st.await(t, 3)[2]) // once answered, the same bytes are a request of their own
}

func TestWhatIsNoResend(t *testing.T) {
	tests := map[string]struct {
		first, second string
		after         time.Duration
	}{
		"too early":          {acquireLock, acquireLock, resendAfter - 100*time.Millisecond},
		"SET of a job":       {array("SET", "job", "1", "NX", "PX", "30000"), array("SET", "job", "1", "NX", "PX", "30000"), time.Minute},
		"semaphore":          {array("EVALSHA", someSHA, "1", "sem", "1"), array("EVALSHA", someSHA, "1", "sem", "1"), time.Minute},
		"latch":              {array("EVALSHA", someSHA, "2", "latch", "channel", "PUBLISH"), array("EVALSHA", someSHA, "2", "latch", "channel", "PUBLISH"), time.Minute},
		"another thread":     {acquireLock, array("EVALSHA", someSHA, "1", "lock", "30000", ownerOfLock+"1"), time.Minute},
		"another lock":       {acquireLock, array("EVALSHA", someSHA, "1", "lock2", "30000", ownerOfLock), time.Minute},
		"another database":   {acquireLock, array("SELECT", "1") + acquireLock, time.Minute},
		"another spelling":   {acquireLock, array("evalsha", someSHA, "1", "lock", "30000", ownerOfLock), time.Minute},
		"another lease":      {acquireLock, array("EVALSHA", someSHA, "1", "lock", "30001", ownerOfLock), time.Minute},
		"inside transaction": {acquireLock, array("MULTI") + acquireLock + array("EXEC"), time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			a, b := dial(t, st.addr), dial(t, st.addr)
			a.send(tt.first)
			st.await(t, 1)
			st.pass(tt.after)
			b.send(tt.second)
			st.await(t, 2)
		})
	}
}

func TestAnAcquireFromAnotherAddressIsNoResend(t *testing.T) {
	rs := newResends()
	clock := time.Now()
	rs.now = func() time.Time { return clock }
	enter := func(ip string) *attempt {
		s := &session{ip: ip, out: newOutbox(nil, Limits{}.withDefaults(), nil)}
		req, err := commands.Bind([]string{"EVALSHA", someSHA, "1", "lock", "30000", ownerOfLock}, 0)
		require.NoError(t, err)
		return rs.enter(taker{s, &slot{box: s.out}}, req, time.Second)
	}
	require.NotNil(t, enter("10.0.0.1"))
	clock = clock.Add(time.Minute)
	require.NotNil(t, enter("10.0.0.2"))
	require.Nil(t, enter("10.0.0.1"))
}

// The connection of the first dies before its answer: the resend is joined at once, and gets the one result.
func TestAnAcquireOfADeadConnectionIsJoined(t *testing.T) {
	st := newStage(t)
	a, b := dial(t, st.addr), dial(t, st.addr)
	a.send(acquireLock)
	first := st.await(t, 1)[0]
	st.hangUp(a)
	b.send(acquireLock)
	st.joined(2)
	first.Done(Result{})
	require.Equal(t, "$-1", b.next())
	require.Len(t, st.all(), 1)
	require.Zero(t, st.remembered())
}

// The answer came too late for the first connection and before the second: it waits for the resend, once.
func TestTheResultOfADeadConnectionIsKept(t *testing.T) {
	st := newStage(t)
	a, b := dial(t, st.addr), dial(t, st.addr)
	a.send(acquireLock)
	first := st.await(t, 1)[0]
	st.hangUp(a)
	first.Done(Result{})
	require.Equal(t, 1, st.remembered())
	b.send(acquireLock)
	require.Equal(t, "$-1", b.next())
	require.Len(t, st.all(), 1)
	b.send(acquireLock)
	echoBack(st.await(t, 2)[1])
}

func TestWhatIsNotKept(t *testing.T) {
	tests := map[string]Result{
		"an error":           {Reply: resp.ErrTryAgainBusy.Value()},
		"an unknown outcome": {Reply: resp.ErrUnknownOutcome.Value(), Close: true},
	}
	for name, result := range tests {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			a, b := dial(t, st.addr), dial(t, st.addr)
			a.send(acquireLock)
			first := st.await(t, 1)[0]
			st.hangUp(a)
			first.Done(result)
			b.send(acquireLock)
			echoBack(st.await(t, 2)[1])
			require.Equal(t, "$39 "+ownerOfLock, b.next())
		})
	}
	t.Run("for longer than a tenth of the lease", func(t *testing.T) {
		st := newStage(t)
		a := dial(t, st.addr)
		a.send(array("EVALSHA", someSHA, "1", "lock", "50", ownerOfLock))
		first := st.await(t, 1)[0]
		st.hangUp(a)
		first.Done(Result{})
		require.Eventually(t, func() bool { return st.remembered() == 0 }, patience, time.Millisecond)
	})
}

// A backend that answers twice answers the resend once.
func TestASecondAnswerIsNone(t *testing.T) {
	st := newStage(t)
	a := dial(t, st.addr)
	a.send(acquireLock + array("GET", "x"))
	calls := st.await(t, 2)
	calls[0].Done(Result{Reply: resp.Int(1)})
	calls[0].Done(Result{Reply: resp.Int(2)})
	echoBack(calls[1])
	require.Equal(t, ":1", a.next())
	require.Equal(t, "$1 x", a.next())
}

// releaseLock ends the hold that acquireLock asks for.
var releaseLock = array("EVALSHA", someSHA[1:]+"9", "2", "lock", "redisson_lock__channel:{lock}", "0", "30000", ownerOfLock)

// TestWhatPassesEndsJoining has something come between an acquire and an equal one: the second is a new request, in
// flight as well as when the result of the first is kept for its dead connection.
func TestWhatPassesEndsJoining(t *testing.T) {
	for name, between := range map[string]string{
		"the owner's release":  releaseLock,
		"a deletion":           array("DEL", "other", "lock"),
		"a release in a block": array("MULTI") + array("DEL", "lock") + array("EXEC"),
		"an emptied database":  array("FLUSHALL"),
	} {
		t.Run(name+", in flight", func(t *testing.T) {
			st := newStage(t)
			a, b := dial(t, st.addr), dial(t, st.addr)
			a.send(acquireLock)
			st.await(t, 1)
			st.pass(4 * resendAfter)
			b.send(between)
			st.await(t, 2)
			b.send(acquireLock)
			st.await(t, 3)
		})
		t.Run(name+", kept", func(t *testing.T) {
			st := newStage(t)
			a, b := dial(t, st.addr), dial(t, st.addr)
			a.send(acquireLock)
			first := st.await(t, 1)[0]
			st.hangUp(a)
			first.Done(Result{})
			require.Equal(t, 1, st.remembered())
			b.send(between)
			st.await(t, 2)
			b.send(acquireLock)
			st.await(t, 3)
		})
	}
}

// TestOtherAcquiresEndNoJoining has another owner ask for the lock in between.
func TestOtherAcquiresEndNoJoining(t *testing.T) {
	st := newStage(t)
	a, b := dial(t, st.addr), dial(t, st.addr)
	a.send(acquireLock)
	st.await(t, 1)
	st.pass(4 * resendAfter)
	b.send(array("EVALSHA", someSHA, "1", "lock", "30000", "9743c9c0-0795-4907-87fd-6c719a6b4586:1"))
	st.await(t, 2)
	b.send(acquireLock)
	st.joined(2)
}
