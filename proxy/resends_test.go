package proxy

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

const (
	ownerOfLock = "8743c9c0-0795-4907-87fd-6c719a6b4586:57"
	someSHA     = "c84f4bb5a1b4b5f2e2ca7b0a7c0b4cbdb4b0a111"
)

var (
	plainAcquire = []string{"EVALSHA", someSHA, "1", "lock", "30000", ownerOfLock}
	acquireLock  = array(plainAcquire...)
)

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
	rs := newResends(func() Stream { return fakeStream{&fakeBackend{}} })
	clock := time.Now()
	rs.now = func() time.Time { return clock }
	enter := func(ip string) *attempt {
		s := &session{ip: ip, out: newOutbox(nil, Limits{}.withDefaults(), nil)}
		req, err := commands.Bind([]string{"EVALSHA", someSHA, "1", "lock", "30000", ownerOfLock}, 0)
		require.NoError(t, err)
		acquire, _ := commands.ResendableAcquire(req)
		return rs.enter(taker{s, &slot{box: s.out}}, req, acquire)
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

// The answer came too late for the first connection and before the second: the acquire is taken back, and what comes then is a
// request of its own, whatever is executed first.
func TestAnAcquireThatNobodyKnowsOfIsTakenBack(t *testing.T) {
	token := func(key string, n int64) commands.Grant { return commands.Grant{Key: key, Token: n, Kept: n%2 == 1} }
	fair := []string{"EVALSHA", someSHA, "3", "lock", "redisson_lock_queue:{lock}", "redisson_lock_timeout:{lock}", "30000", ownerOfLock, "300000", "1796024563139"}
	holds := "{lock}:" + ownerOfLock + ":rwlock_timeout"
	reads := []string{"EVALSHA", someSHA, "2", "lock", holds, "30000", ownerOfLock, ownerOfLock + ":write"}
	fenced := []string{"EVALSHA", someSHA, "2", "lock", "redisson_lock_token:{lock}", "30000", ownerOfLock}
	tests := map[string]struct {
		acquire []string
		result  Result
		want    []string // behind the script's text; nil for nothing
	}{
		"lock":                 {plainAcquire, Result{Granted: []commands.Grant{token("lock", 8)}}, []string{"1", "lock", ownerOfLock, "", "8"}},
		"lock held before":     {plainAcquire, Result{Granted: []commands.Grant{token("lock", 7)}}, []string{"1", "lock", ownerOfLock, "", "7"}},
		"fair lock":            {fair, Result{Granted: []commands.Grant{token("redisson_lock_timeout:{lock}", 3), token("lock", 8)}}, []string{"1", "lock", ownerOfLock, "", "8"}},
		"fenced, with a token": {fenced, Result{Reply: resp.Arr(resp.Int(-1), resp.Int(5)), Granted: []commands.Grant{token("lock", 8)}}, []string{"1", "lock", ownerOfLock, "", "8"}},
		"read lock": {
			reads,
			Result{Granted: []commands.Grant{token("lock", 7), token(holds+":2", 9)}},
			[]string{"2", "lock", holds + ":2", ownerOfLock, holds + ":", "7", "9"},
		},
		"read lock whose hold has no token": {reads, Result{Granted: []commands.Grant{token("lock", 7)}}, nil},
		"no token":                          {plainAcquire, Result{}, nil},
		"a token that is none":              {plainAcquire, Result{Granted: []commands.Grant{{Key: "lock", Kept: true}}}, nil},
		"held by another":                   {plainAcquire, Result{Reply: resp.Int(20000), Granted: []commands.Grant{token("lock", 8)}}, nil},
		"an error":                          {plainAcquire, Result{Reply: resp.ErrTryAgainBusy.Value()}, nil},
		"an unknown outcome":                {plainAcquire, Result{Reply: resp.ErrUnknownOutcome.Value(), Close: true}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			a, b := dial(t, st.addr), dial(t, st.addr)
			a.send(array("SELECT", "3") + array(tt.acquire...))
			first := st.await(t, 1)[0]
			require.False(t, first.Abandoned())
			st.hangUp(a)
			require.True(t, first.Abandoned())
			first.Done(tt.result)
			require.Zero(t, st.remembered())
			if tt.want == nil {
				b.send(array("GET", "x"))
				require.Equal(t, array("GET", "x"), array(st.await(t, 2)[1].Requests[0].Args...))
				return
			}
			back := st.await(t, 2)[1]
			require.Equal(t, append([]string{"EVAL", takeBackScript}, tt.want...), back.Requests[0].Args)
			require.Equal(t, 3, back.Requests[0].DB)
			require.True(t, back.Abandoned())
			back.Done(Result{Reply: resp.Int(1)})
			b.send(array("SELECT", "3") + array(tt.acquire...))
			st.await(t, 3)
		})
	}
}

// TestAClientThatIsStillThereKeepsItsLock: what was given out is not taken back, however late.
func TestAClientThatIsStillThereKeepsItsLock(t *testing.T) {
	st := newStage(t)
	a := dial(t, st.addr)
	a.send(acquireLock)
	first := st.await(t, 1)[0]
	st.pass(time.Minute)
	require.False(t, first.Abandoned())
	first.Done(Result{Granted: []commands.Grant{{Key: "lock", Token: 8}}})
	require.Equal(t, "$-1", a.next())
	a.send(array("GET", "x"))
	require.Equal(t, "GET", st.await(t, 2)[1].Requests[0].Args[0])
}

// TestAnAnswerThatIsTakenBackIsNotGiven: a client that has closed only its own direction must not believe in the lock.
func TestAnAnswerThatIsTakenBackIsNotGiven(t *testing.T) {
	st := newStage(t)
	a := dial(t, st.addr)
	a.send(acquireLock)
	first := st.await(t, 1)[0]
	require.NoError(t, a.Conn.(*net.TCPConn).CloseWrite())
	require.Eventually(t, first.Abandoned, patience, time.Millisecond)
	first.Done(Result{Granted: []commands.Grant{{Key: "lock", Token: 8}}})
	require.Empty(t, a.rest())
	echoBack(st.await(t, 2)[1])
}

// TestATakeBackIsTriedAgain until it is done, or may be.
func TestATakeBackIsTriedAgain(t *testing.T) {
	for name, last := range map[string]Result{
		"done":            {Reply: resp.Int(1)},
		"not needed":      {Reply: resp.Int(0)},
		"unknown outcome": {Reply: resp.ErrUnknownOutcome.Value(), Close: true},
		"another error":   {Reply: resp.Err("ERR no")},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			a := dial(t, st.addr)
			a.send(acquireLock)
			first := st.await(t, 1)[0]
			st.hangUp(a)
			first.Done(Result{Granted: []commands.Grant{{Key: "lock", Token: 8}}})
			st.await(t, 2)[1].Done(Result{Reply: resp.ErrNoLeader.Value()})
			st.await(t, 3)[2].Done(Result{Reply: resp.ErrTryAgainBusy.Value()})
			st.await(t, 4)[3].Done(last)
			time.AfterFunc(3*takeBackPause, func() { st.take(nil) })
			require.Nil(t, st.await(t, 5)[4], "nothing came before")
		})
	}
}

// TestAProcessThatWasPaused has read requests of clients that have gone meanwhile, and not yet that they have.
func TestAProcessThatWasPaused(t *testing.T) {
	paused := func(st *stage, commands int64) {
		t.Helper()
		require.Eventually(t, func() bool { return st.srv.stats.commands.Load() == commands }, patience, time.Millisecond)
	}
	t.Run("and reads an acquire", func(t *testing.T) {
		st := newStage(t)
		a := dial(t, st.addr)
		st.srv.pause.set(args.Pause{For: patience, All: true})
		a.send(acquireLock)
		paused(st, 1)
		require.NoError(t, a.Close())
		require.Eventually(t, st.srv.all()[0].gone, patience, time.Millisecond)
		st.srv.pause.set(noPause)
		require.Eventually(t, func() bool { return len(st.srv.all()) == 0 }, patience, time.Millisecond)
		require.Empty(t, st.all())
	})
	t.Run("and answers an acquire", func(t *testing.T) {
		st := newStage(t)
		a := dial(t, st.addr)
		a.send(acquireLock)
		first := st.await(t, 1)[0]
		st.srv.pause.set(args.Pause{For: patience, All: true})
		a.send(array("GET", "x"))
		paused(st, 2)
		require.NoError(t, a.Close())
		s := st.srv.all()[0]
		require.Eventually(t, s.gone, patience, time.Millisecond)
		require.False(t, s.hungUp.Load())
		st.pass(slowAnswer)
		require.True(t, first.Abandoned())
		first.Done(Result{Granted: []commands.Grant{{Key: "lock", Token: 8}}})
		require.Equal(t, takeBackScript, st.await(t, 2)[1].Requests[0].Args[1])
		st.srv.pause.set(noPause)
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

// TestWhatPassesEndsJoining has something come between an acquire and an equal one: the second is a new request.
func TestWhatPassesEndsJoining(t *testing.T) {
	for name, between := range map[string]string{
		"the owner's release":  releaseLock,
		"a deletion":           array("DEL", "other", "lock"),
		"a release in a block": array("MULTI") + array("DEL", "lock") + array("EXEC"),
		"an emptied database":  array("FLUSHALL"),
	} {
		t.Run(name, func(t *testing.T) {
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
