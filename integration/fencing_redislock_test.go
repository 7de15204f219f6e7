package integration

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/fencing/redislock"
	"github.com/redfence/redfence/integration/harness"
)

func redisClient(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestRedislock takes locks with the package that comes with Redfence, and loses them in every way.
func TestRedislock(t *testing.T) {
	onFencingBackends(t, func(t *testing.T, d deployment) {
		client, direct := redisClient(t, d.Address()), harness.Dial(t, d.Address())
		take := func(t *testing.T, o redislock.Options) *redislock.Lock {
			t.Helper()
			l, err := redislock.Try(t.Context(), client, t.Name(), o)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		t.Run("the token is that of the lock, and its successor's is higher", func(t *testing.T) {
			l := take(t, redislock.Options{})
			wantToken(t, direct, int64(l.Token()), "FENCE", t.Name())
			if _, err := redislock.Try(t.Context(), client, t.Name(), redislock.Options{}); !errors.Is(err, redislock.ErrHeld) {
				t.Errorf("error %v, want ErrHeld", err)
			}
			if err := l.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
			if !errors.Is(l.Err(), redislock.ErrReleased) {
				t.Errorf("ended by %v", l.Err())
			}
			next := take(t, redislock.Options{})
			if next.Token() <= l.Token() {
				t.Errorf("token %d after %d", next.Token(), l.Token())
			}
			if err := next.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
		t.Run("it is renewed", func(t *testing.T) {
			l := take(t, redislock.Options{Renew: 50 * time.Millisecond})
			direct.Want("(integer) 1", "PEXPIRE", t.Name(), "9000")
			harness.Eventually(t, patience, func() bool { return direct.Int("PTTL", t.Name()) > 20_000 })
			if l.Err() != nil {
				t.Error(l.Err())
			}
			if err := l.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
		t.Run("it is lost to somebody else", func(t *testing.T) {
			l := take(t, redislock.Options{TTL: 20 * time.Second, Renew: 20 * time.Millisecond})
			direct.Want("OK", "SET", t.Name(), "thief", "PX", "30000")
			wantLockOver(t, l, redislock.ErrLost)
			if err := l.Unlock(t.Context()); !errors.Is(err, redislock.ErrLost) {
				t.Errorf("released with %v", err)
			}
			direct.Want(`"thief"`, "GET", t.Name())
		})
		t.Run("its lease is over", func(t *testing.T) {
			wantLockOver(t, take(t, redislock.Options{TTL: 100 * time.Millisecond, Renew: -1}), redislock.ErrExpired)
		})
		t.Run("its context ends with that it was taken with", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			l, err := redislock.Acquire(ctx, client, t.Name(), redislock.Options{})
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			wantLockOver(t, l, context.Canceled)
		})
		t.Run("it is waited for", func(t *testing.T) {
			l := take(t, redislock.Options{TTL: 300 * time.Millisecond, Renew: -1})
			next, err := redislock.Acquire(t.Context(), client, t.Name(), redislock.Options{Retry: 5 * time.Millisecond})
			if err != nil || next.Token() <= l.Token() {
				t.Fatalf("%v, token %d after %d", err, next.Token(), l.Token())
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := redislock.Acquire(ctx, client, t.Name(), redislock.Options{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			if err := next.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}

// wantLockOver waits until a lock is over, for a cause.
func wantLockOver(t *testing.T, l *redislock.Lock, cause error) {
	t.Helper()
	select {
	case <-l.Lost():
	case <-time.After(patience):
		t.Fatal("the lock goes on")
	}
	if !errors.Is(l.Err(), cause) || !errors.Is(context.Cause(l.Context()), cause) {
		t.Errorf("ended by %v, want %v", l.Err(), cause)
	}
}

// TestRedislockEndsByItsOwnClock cuts the lock's owner off: no answer comes, and the lock ends before its lease does.
func TestRedislockEndsByItsOwnClock(t *testing.T) {
	s := harness.StartRedfence(t)
	relay := harness.StartRelay(t, s.Addr)
	const ttl = 1500 * time.Millisecond
	began := time.Now()
	l, err := redislock.Try(t.Context(), redisClient(t, relay.Addr), "lock", redislock.Options{TTL: ttl, Drift: ttl / 2})
	if err != nil {
		t.Fatal(err)
	}
	relay.Hold(harness.ToServer)
	wantLockOver(t, l, redislock.ErrExpired)
	if took := time.Since(began); took < ttl/4 {
		t.Errorf("the lock was over after %v", took)
	}
}

// TestRedislockLosesAnAnswer cuts the connection behind a lock that was taken. A client that sends its request again is told that
// the lock is its own; one that does not leaves no lock behind.
func TestRedislockLosesAnAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		retries int
		held    bool
	}{"sent again": {1, true}, "not sent again": {-1, false}} {
		t.Run(name, func(t *testing.T) {
			s := harness.StartRedfence(t)
			relay, direct := harness.StartRelay(t, s.Addr), harness.Dial(t, s.Addr)
			client := redis.NewClient(&redis.Options{Addr: relay.Addr, MaxRetries: tc.retries, ReadTimeout: patience})
			defer func() { _ = client.Close() }()
			if err := client.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			relay.Hold(harness.ToClient)
			var l *redislock.Lock
			var err error
			var trying sync.WaitGroup
			trying.Go(func() { l, err = redislock.Try(t.Context(), client, "lock", redislock.Options{TTL: time.Hour}) })
			harness.Eventually(t, patience, func() bool { return direct.Int("EXISTS", "lock") == 1 })
			relay.Cut()
			relay.Release(harness.ToClient)
			trying.Wait()
			if !tc.held {
				if err == nil || errors.Is(err, redislock.ErrHeld) {
					t.Errorf("error %v", err)
				}
				harness.Eventually(t, patience, func() bool { return direct.Int("EXISTS", "lock") == 0 })
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantToken(t, direct, int64(l.Token()), "FENCE", "lock")
			if err := l.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRedislockOutlivesARenewalOfUnknownOutcome loses the answer to a renewal: the lock is held on, and the next one counts.
func TestRedislockOutlivesARenewalOfUnknownOutcome(t *testing.T) {
	s := harness.StartRedfence(t)
	relay, direct := harness.StartRelay(t, s.Addr), harness.Dial(t, s.Addr)
	client := redis.NewClient(&redis.Options{Addr: relay.Addr, MaxRetries: -1, ReadTimeout: patience})
	defer func() { _ = client.Close() }()
	l, err := redislock.Try(t.Context(), client, "lock", redislock.Options{TTL: time.Hour, Renew: -1})
	if err != nil {
		t.Fatal(err)
	}
	renewed := func() bool { return direct.Int("PTTL", "lock") > time.Minute.Milliseconds() }
	if err := l.Extend(t.Context()); err != nil { // so the script is known
		t.Fatal(err)
	}
	direct.Want("(integer) 1", "PEXPIRE", "lock", "60000")
	relay.Hold(harness.ToClient)
	var extending sync.WaitGroup
	extending.Go(func() { err = l.Extend(t.Context()) })
	harness.Eventually(t, patience, renewed)
	relay.Cut()
	relay.Release(harness.ToClient)
	extending.Wait()
	if err == nil || errors.Is(err, redislock.ErrLost) || l.Err() != nil {
		t.Errorf("renewed with %v, ended by %v", err, l.Err())
	}
	direct.Want("(integer) 1", "PEXPIRE", "lock", "60000")
	if err := l.Extend(t.Context()); err != nil || !renewed() {
		t.Errorf("renewed with %v", err)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
