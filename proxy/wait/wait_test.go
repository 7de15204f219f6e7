package wait

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/keyspace"
)

func TestTriesAtOnce(t *testing.T) {
	tests := map[string]struct {
		before []string
		line   []string
		want   string
	}{
		"a list":                {[]string{"RPUSH", "l", "a", "b"}, []string{"BLPOP", "l", "0"}, "l a"},
		"its other end":         {[]string{"RPUSH", "l", "a", "b"}, []string{"BRPOP", "l", "0"}, "l b"},
		"the second key":        {[]string{"RPUSH", "l", "a", "b"}, []string{"BLPOP", "no", "l", "0"}, "l a"},
		"a move":                {[]string{"RPUSH", "l", "a", "b"}, []string{"BLMOVE", "l", "m", "LEFT", "LEFT", "0"}, "a"},
		"several":               {[]string{"RPUSH", "l", "a", "b"}, []string{"BLMPOP", "0", "1", "l", "LEFT", "COUNT", "2"}, "l a b"},
		"a sorted set":          {[]string{"ZADD", "z", "1.5", "m"}, []string{"BZPOPMIN", "z", "0"}, "z m 1.5"},
		"a key that is no list": {[]string{"SET", "l", "v"}, []string{"BLPOP", "l", "0"}, string(resp.ErrWrongType)},
		"a target that is none": {[]string{"RPUSH", "l", "a"}, []string{"BRPOPLPUSH", "l", "z", "0"}, "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			s.do(t, tt.before...)
			s.block(t, tt.line...).gets(t, tt.want)
			s.empty(t)
		})
	}
}

func TestElementsGoToWhoCameFirst(t *testing.T) {
	tests := map[string]struct {
		push []string
		want []string // by waiter; empty for one that waits on
	}{
		"one element, one waiter":    {[]string{"RPUSH", "l", "a"}, []string{"l a", "", ""}},
		"two elements, two waiters":  {[]string{"RPUSH", "l", "a", "b"}, []string{"l a", "l b", ""}},
		"more elements than waiters": {[]string{"RPUSH", "l", "a", "b", "c", "d"}, []string{"l a", "l b", "l c"}},
		"another key":                {[]string{"RPUSH", "m", "a"}, []string{"", "", ""}},
		"another type":               {[]string{"ZADD", "l", "1", "a"}, []string{"", "", ""}},
		"no list at all":             {[]string{"SET", "l", "a"}, []string{"", "", ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			var waiters []*blocked
			for range tt.want {
				waiters = append(waiters, s.wait(t, "BLPOP", "l", "0"))
			}
			s.do(t, tt.push...)
			s.settled(t)
			for i, want := range tt.want {
				if want == "" {
					waiters[i].silent(t)
					require.True(t, waiters[i].Unblock(false))
				} else {
					waiters[i].gets(t, want)
				}
			}
			s.empty(t)
		})
	}
}

func TestListsAndSortedSetsOfOneNameAreWaitedForApart(t *testing.T) {
	s := newStore()
	lists, zsets := s.wait(t, "BLPOP", "k", "0"), s.wait(t, "BZPOPMAX", "k", "0")
	s.do(t, "ZADD", "k", "1", "m")
	zsets.gets(t, "k m 1")
	s.do(t, "RPUSH", "k", "a")
	lists.gets(t, "k a")
	s.empty(t)
}

func TestAMoveThatFindsAWrongTarget(t *testing.T) {
	s := newStore()
	s.do(t, "SET", "target", "v")
	first, second := s.wait(t, "BLMOVE", "l", "target", "LEFT", "LEFT", "0"), s.wait(t, "BLPOP", "l", "0")
	s.do(t, "ZADD", "l", "1", "m")
	s.settled(t)
	first.silent(t) // that its source has the wrong type is not its error
	s.do(t, "DEL", "l")
	s.do(t, "RPUSH", "l", "a")
	first.gets(t, string(resp.ErrWrongType))
	second.gets(t, "l a")
	s.empty(t)
}

func TestAMoveWakesTheNext(t *testing.T) {
	s := newStore()
	end := s.wait(t, "BLPOP", "c", "0")
	middle := s.wait(t, "BRPOPLPUSH", "b", "c", "0")
	start := s.wait(t, "BLMOVE", "a", "b", "LEFT", "RIGHT", "0")
	s.do(t, "RPUSH", "a", "x")
	start.gets(t, "x")
	middle.gets(t, "x")
	end.gets(t, "c x")
	s.empty(t)
}

func TestAWaiterForSeveralKeysGetsOneElement(t *testing.T) {
	s := newStore()
	w, late := s.wait(t, "BLPOP", "a", "b", "a", "0"), s.wait(t, "BLPOP", "b", "0")
	s.pause()
	s.do(t, "RPUSH", "b", "1")
	s.awaitCall(t)
	s.do(t, "RPUSH", "a", "2")
	s.resume()
	w.gets(t, "b 1")
	s.settled(t)
	late.silent(t)
	require.EqualValues(t, 1, s.do(t, "LLEN", "a").Int())
	s.do(t, "RPUSH", "b", "3")
	late.gets(t, "b 3")
	s.empty(t)
}

// While the first in the queue of b is tried at a, the element of b is nobody else's.
func TestAWaiterThatIsTriedElsewhereKeepsItsPlace(t *testing.T) {
	s := newStore()
	both, late := s.wait(t, "BLPOP", "a", "b", "0"), s.wait(t, "BLPOP", "b", "0")
	s.pause()
	s.do(t, "RPUSH", "a", "1")
	s.awaitCall(t)
	s.do(t, "LPOP", "a") // somebody else was faster
	s.do(t, "RPUSH", "b", "2")
	s.resume()
	both.gets(t, "b 2")
	s.settled(t)
	late.silent(t)
	late.Unblock(false)
	s.empty(t)
}

// A waiter is part of a call once only. What it did not get at one key it may get at another, in the next call.
func TestTwoKeysOfAWaiterAreReadyAtOnce(t *testing.T) {
	s := newStore()
	both, late := s.wait(t, "BLPOP", "a", "b", "0"), s.wait(t, "BLPOP", "b", "0")
	s.pause()
	blocker := s.block(t, "BLPOP", "other", "0")
	s.awaitCall(t)
	s.do(t, "RPUSH", "a", "1")
	s.do(t, "RPUSH", "b", "2")
	s.do(t, "LPOP", "a")
	s.resume()
	both.gets(t, "b 2")
	s.settled(t)
	late.silent(t)
	late.Unblock(false)
	blocker.Unblock(false)
	s.empty(t)
}

func TestWhoComesLaterDoesNotOvertake(t *testing.T) {
	s := newStore()
	early := s.wait(t, "BLPOP", "l", "0")
	s.pause()
	blocker := s.block(t, "BLPOP", "other", "0") // keeps the registry busy
	s.awaitCall(t)
	s.do(t, "RPUSH", "l", "a")
	late := s.block(t, "BLPOP", "l", "0")
	s.resume()
	early.gets(t, "l a")
	s.settled(t)
	late.silent(t)
	s.do(t, "RPUSH", "l", "b")
	late.gets(t, "l b")
	blocker.Unblock(false)
	s.empty(t)
}

func TestWhoComesLaterGetsWhatIsLeft(t *testing.T) {
	s := newStore()
	early := s.wait(t, "BLPOP", "l", "0")
	s.pause()
	blocker := s.block(t, "BLPOP", "other", "0")
	s.awaitCall(t)
	s.do(t, "RPUSH", "l", "a", "b")
	late := s.block(t, "BLPOP", "no", "l", "0")
	s.resume()
	early.gets(t, "l a")
	late.gets(t, "l b")
	blocker.Unblock(false)
	s.empty(t)
}

func TestWhoComesLaterIsToldOfAWrongType(t *testing.T) {
	s := newStore()
	early := s.wait(t, "BLPOP", "l", "0")
	s.do(t, "SET", "l", "v")
	s.block(t, "BLPOP", "l", "0").gets(t, string(resp.ErrWrongType))
	early.silent(t)
	early.Unblock(false)
	s.empty(t)
}

func TestAnElementThatComesDuringATryIsNotMissed(t *testing.T) {
	s := newStore()
	s.pause()
	w := s.block(t, "BLPOP", "l", "0")
	s.awaitCall(t)
	s.mu.Lock()
	c := s.paused[0]
	s.paused = nil
	empty := s.apply(c.Requests)
	s.mu.Unlock()
	s.do(t, "RPUSH", "l", "a") // after the try, before its answer
	c.Done(commands.Result{Reply: resp.Arr(empty...)})
	w.gets(t, "l a")
	s.empty(t)
}

// TestWhoIsTriedIsNotBlockedYet wants a waiter counted when it is known that there is nothing for it, no earlier: whoever
// sees the count may rely on that.
func TestWhoIsTriedIsNotBlockedYet(t *testing.T) {
	s := newStore()
	s.pause()
	b := s.block(t, "BLPOP", "l", "0")
	s.awaitCall(t)
	require.Zero(t, s.registry.Blocked())
	s.resume()
	require.Eventually(t, func() bool { return s.registry.Blocked() == 1 }, patience, time.Millisecond)
	s.do(t, "RPUSH", "l", "x")
	b.gets(t, "l x")
	require.Zero(t, s.registry.Blocked())
}

func TestReadyAll(t *testing.T) {
	s := newStore()
	w := s.wait(t, "BLPOP", "l", "0")
	s.mu.Lock()
	tx := s.ks.Begin(keyspace.Stamp{Now: 1, Wall: 1})
	tx.Exec(request(t, "RPUSH", "l", "a")) // nobody is told
	s.mu.Unlock()
	s.registry.ReadyAll(1)
	s.settled(t)
	w.silent(t)
	s.registry.ReadyAll(0)
	w.gets(t, "l a")
	s.empty(t)
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		begin := time.Now()
		short, long := s.block(t, "BLPOP", "l", "0.25"), s.block(t, "BLMOVE", "l", "m", "LEFT", "LEFT", "3600")
		ever := s.block(t, "BZPOPMIN", "z", "0")
		require.Equal(t, "nil", show((<-short.reply).Reply))
		require.Equal(t, 250*time.Millisecond, time.Since(begin))
		require.Equal(t, "nil", show((<-long.reply).Reply))
		require.Equal(t, time.Hour, time.Since(begin))
		time.Sleep(1000 * time.Hour) // of the bubble's clock
		ever.silent(t)
		require.Equal(t, 1, s.registry.Len())
		ever.Unblock(false)
	})
}

// An element that is on its way wins over the end of the wait; without one the verdict stands.
func TestTheWaitEndsDuringATry(t *testing.T) {
	for name, tt := range map[string]struct{ element, want string }{
		"with an element":    {"a", "l a"},
		"without an element": {"", "nil"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			w := s.wait(t, "BLPOP", "l", "0")
			s.pause()
			s.do(t, "RPUSH", "l", "x")
			s.awaitCall(t)
			require.True(t, w.Unblock(false))
			require.True(t, w.Unblock(true), "it has not ended yet; the first verdict stands")
			w.silent(t)
			s.do(t, "DEL", "l")
			if tt.element != "" {
				s.do(t, "RPUSH", "l", tt.element)
			}
			s.resume()
			w.gets(t, tt.want)
			require.False(t, w.Unblock(false))
			s.empty(t)
		})
	}
}

func TestUnblock(t *testing.T) {
	for name, tt := range map[string]struct {
		withError bool
		want      string
	}{
		"as if the time were over": {false, "nil"},
		"with an error":            {true, string(resp.ErrUnblocked)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			w, next := s.wait(t, "BLPOP", "l", "0"), s.wait(t, "BLPOP", "l", "0")
			require.True(t, w.Unblock(tt.withError))
			w.gets(t, tt.want)
			require.False(t, w.Unblock(tt.withError))
			s.do(t, "RPUSH", "l", "a")
			next.gets(t, "l a")
			w.silent(t)
			s.empty(t)
		})
	}
}

func TestAWaiterThatIsGoneTakesNothing(t *testing.T) {
	s := newStore()
	waiting, gone := s.wait(t, "BLPOP", "l", "0"), 0
	count := func() { gone++ }
	unentered := s.waiter(t, "BLPOP", "l", "0")
	unentered.Abandon(count)
	s.registry.Enter(unentered.Waiter)
	s.pause()
	flying := s.block(t, "BLPOP", "other", "0")
	s.awaitCall(t)
	fresh := s.block(t, "BLPOP", "l", "0")
	fresh.Abandon(count) // before it was tried
	waiting.Abandon(count)
	flying.Abandon(count)
	s.resume()
	s.empty(t)
	s.do(t, "RPUSH", "l", "a")
	s.do(t, "RPUSH", "other", "a")
	s.settled(t)
	require.EqualValues(t, 1, s.do(t, "LLEN", "l").Int())
	require.EqualValues(t, 1, s.do(t, "LLEN", "other").Int())
	require.Equal(t, 4, gone)
	for _, w := range []*blocked{waiting, unentered, flying, fresh} {
		w.silent(t)
	}
}

func TestABackendThatFailsFailsAll(t *testing.T) {
	s := newStore()
	var waiters []*blocked
	for range 5 {
		waiters = append(waiters, s.wait(t, "BLPOP", "l", "0"))
	}
	down := resp.ErrNoLeader.Value()
	s.mu.Lock()
	s.fail = &down
	s.mu.Unlock()
	s.registry.Ready(0, "l")
	for _, w := range waiters {
		w.gets(t, string(resp.ErrNoLeader))
	}
	s.block(t, "BLPOP", "l", "0").gets(t, string(resp.ErrNoLeader))
	s.empty(t)
}

func TestAThousandWaiters(t *testing.T) {
	const n = 1000
	s := newStore()
	var waiters []*blocked
	for range n {
		waiters = append(waiters, s.block(t, "BLPOP", "l", "3600"))
	}
	s.settled(t)
	require.Equal(t, n, s.registry.Len())
	before := s.made()
	line := []string{"RPUSH", "l"}
	for i := range n {
		line = append(line, strconv.Itoa(i))
	}
	s.do(t, line...)
	for i, w := range waiters {
		w.gets(t, "l "+strconv.Itoa(i))
	}
	require.Less(t, s.made()-before, 50, "calls for %d waiters", n)
	s.empty(t)
}
