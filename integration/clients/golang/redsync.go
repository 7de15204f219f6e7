package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
)

func redsyncCases() []testCase {
	return []testCase{
		{"redsync/lock-unlock", lockUnlock},
		{"redsync/waits", waits},
		{"redsync/extend", extend},
		{"redsync/expired", expired},
		{"redsync/extend-lost", extendLost},
		{"redsync/setnx-on-extend", setNXOnExtend},
		{"redsync/contention", contention},
	}
}

// mutex makes an owner's handle on the case's lock, with a lease of 30 s.
func (e env) mutex(options ...redsync.Option) *redsync.Mutex {
	return e.leased(30*time.Second, options...)
}

// leased makes a handle with another lease, of which redsync waits a twentieth for an answer unless told.
func (e env) leased(lease time.Duration, options ...redsync.Option) *redsync.Mutex {
	options = append(options, redsync.WithExpiry(lease), redsync.WithTimeoutFactor(float64(answerWithin)/float64(lease)))
	return redsync.New(e.pool).NewMutex(e.key, options...)
}

func lockUnlock(ctx context.Context, e env) (string, error) {
	lock, other := e.mutex(), e.mutex()
	if err := lock.LockContext(ctx); err != nil {
		return "", err
	}
	var taken *redsync.ErrTaken
	if err := other.TryLockContext(ctx); !errors.As(err, &taken) {
		return "", fmt.Errorf("another owner's TryLock of a held lock: want ErrTaken, got %v", err)
	}
	ttl := e.client.PTTL(ctx, e.key).Val()
	return fmt.Sprintf("ttl_ms=%d", ttl.Milliseconds()), first(
		within("TTL", 25*time.Second, ttl, 30*time.Second),
		valid(ctx, lock, true),
		valid(ctx, other, false),
		unlock(ctx, lock),
		valid(ctx, lock, false),
		other.TryLockContext(ctx),
		unlock(ctx, other),
		equal("keys left", 0, e.client.Exists(ctx, e.key).Val()),
	)
}

// waits shows that Lock tries again until the owner has left.
func waits(ctx context.Context, e env) (string, error) {
	lock := e.mutex()
	if err := lock.LockContext(ctx); err != nil {
		return "", err
	}
	impatient := e.mutex(redsync.WithTries(3), redsync.WithRetryDelay(5*time.Millisecond))
	var taken *redsync.ErrTaken
	if err := impatient.LockContext(ctx); !errors.As(err, &taken) {
		return "", fmt.Errorf("three tries at a held lock: want ErrTaken, got %v", err)
	}
	other := e.mutex(redsync.WithTries(10_000), redsync.WithRetryDelay(2*time.Millisecond))
	done := make(chan error, 1)
	go func() { done <- other.LockContext(ctx) }()
	select {
	case err := <-done:
		return "", fmt.Errorf("another owner's Lock of a held lock ended: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	return "", first(unlock(ctx, lock), <-done, unlock(ctx, other))
}

func extend(ctx context.Context, e env) (string, error) {
	lock := e.leased(10 * time.Second)
	if err := lock.LockContext(ctx); err != nil {
		return "", err
	}
	until := lock.Until()
	e.client.PExpire(ctx, e.key, 2*time.Second)
	if ok, err := lock.ExtendContext(ctx); !ok || err != nil {
		return "", fmt.Errorf("extend: %t, %w", ok, err)
	}
	ttl := e.client.PTTL(ctx, e.key).Val()
	if !lock.Until().After(until) {
		return "", errors.New("extending did not move Until")
	}
	return fmt.Sprintf("ttl_ms=%d", ttl.Milliseconds()),
		first(within("TTL", 5*time.Second, ttl, 10*time.Second), unlock(ctx, lock))
}

// expired shows that a lease ends by itself, and that its former owner learns so.
func expired(ctx context.Context, e env) (string, error) {
	const lease = 300 * time.Millisecond
	lock := e.leased(lease)
	other := e.mutex(redsync.WithTries(1_000), redsync.WithRetryDelay(5*time.Millisecond))
	start := time.Now()
	if err := first(lock.LockContext(ctx), other.LockContext(ctx)); err != nil {
		return "", err
	}
	waited := time.Since(start)
	if ok, err := lock.UnlockContext(ctx); ok || err == nil {
		return "", fmt.Errorf("the former owner's unlock of another's lock: %t, %v", ok, err)
	}
	if err := first(valid(ctx, other, true), unlock(ctx, other)); err != nil {
		return "", err
	}
	if _, err := lock.UnlockContext(ctx); !errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return "", fmt.Errorf("unlock of an expired lock: want ErrLockAlreadyExpired, got %v", err)
	}
	return fmt.Sprintf("next_owner_after_ms=%d", waited.Milliseconds()),
		within("time to the next owner", lease-time.Millisecond, waited, patience)
}

func extendLost(ctx context.Context, e env) (string, error) {
	lock := e.mutex()
	if err := lock.LockContext(ctx); err != nil {
		return "", err
	}
	e.client.Del(ctx, e.key)
	if ok, err := lock.ExtendContext(ctx); ok || err == nil {
		return "", fmt.Errorf("extending a lost lock: %t, %v", ok, err)
	}
	return "", equal("keys made by extending a lost lock", 0, e.client.Exists(ctx, e.key).Val())
}

// setNXOnExtend shows that an owner may take a lost lock again by extending it, unless another has it.
func setNXOnExtend(ctx context.Context, e env) (string, error) {
	lock, other := e.mutex(redsync.WithSetNXOnExtend()), e.mutex()
	if err := lock.LockContext(ctx); err != nil {
		return "", err
	}
	e.client.Del(ctx, e.key)
	if ok, err := lock.ExtendContext(ctx); !ok || err != nil {
		return "", fmt.Errorf("extending a lost lock: %t, %w", ok, err)
	}
	ttl := e.client.PTTL(ctx, e.key).Val()
	if err := first(within("TTL", 25*time.Second, ttl, 30*time.Second), valid(ctx, lock, true)); err != nil {
		return "", err
	}
	e.client.Del(ctx, e.key)
	if err := other.LockContext(ctx); err != nil {
		return "", err
	}
	if ok, err := lock.ExtendContext(ctx); ok || err == nil {
		return "", fmt.Errorf("extending another's lock: %t, %v", ok, err)
	}
	return "", unlock(ctx, other)
}

func contention(ctx context.Context, e env) (string, error) {
	const users, rounds = 10, 15
	var inside, overlaps, counter atomic.Int32
	errs := make([]error, users)
	var all sync.WaitGroup
	for user := range users {
		all.Go(func() {
			lock := e.mutex(redsync.WithTries(100_000), redsync.WithRetryDelay(2*time.Millisecond))
			for range rounds {
				if errs[user] = lock.LockContext(ctx); errs[user] != nil {
					return
				}
				if inside.Add(1) != 1 {
					overlaps.Add(1)
				}
				counter.Store(counter.Load() + 1) // loses updates but for the lock
				inside.Add(-1)
				if errs[user] = unlock(ctx, lock); errs[user] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return fmt.Sprintf("grants=%d", counter.Load()), first(errors.Join(errs...),
		equal("overlaps", 0, overlaps.Load()), equal("counter", users*rounds, counter.Load()))
}

func unlock(ctx context.Context, lock *redsync.Mutex) error {
	if ok, err := lock.UnlockContext(ctx); !ok {
		return fmt.Errorf("unlock by the owner: %t, %w", ok, err)
	}
	return nil
}

func valid(ctx context.Context, lock *redsync.Mutex, want bool) error {
	//nolint:staticcheck // Valid is deprecated, yet programs use it
	got, _ := lock.ValidContext(ctx) // a missing key is an error, redis.Nil, with false
	return equal("valid", want, got)
}
