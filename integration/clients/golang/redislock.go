package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bsm/redislock"
)

func redislockCases() []testCase {
	return []testCase{
		{"redislock/obtain-release", obtainRelease},
		{"redislock/own-token", obtainWithOwnToken},
		{"redislock/waits", obtainWaits},
		{"redislock/refresh", refresh},
		{"redislock/lost", refreshLost},
		{"redislock/expiry", obtainAfterExpiry},
		{"redislock/contention", obtainContention},
	}
}

// patiently retries every 3 ms.
func patiently() *redislock.Options {
	return &redislock.Options{RetryStrategy: redislock.LinearBackoff(3 * time.Millisecond)}
}

func obtainRelease(ctx context.Context, e env) (string, error) {
	locker := redislock.New(e.client)
	lock, err := locker.Obtain(ctx, e.key, 30*time.Second, &redislock.Options{Metadata: "{\"host\":\"a\"}"})
	if err != nil {
		return "", err
	}
	ttl, err := lock.TTL(ctx)
	_, refused := locker.Obtain(ctx, e.key, 30*time.Second, nil)
	return fmt.Sprintf("ttl_ms=%d", ttl.Milliseconds()), first(err,
		within("TTL", 25*time.Second, ttl, 30*time.Second),
		equal("metadata", "{\"host\":\"a\"}", lock.Metadata()),
		is("another owner's Obtain", redislock.ErrNotObtained, refused),
		lock.Release(ctx),
		is("a second release", redislock.ErrLockNotHeld, lock.Release(ctx)),
		equal("keys left", 0, e.client.Exists(ctx, e.key).Val()))
}

// obtainWithOwnToken shows that who has the token may obtain again with other metadata; the script compares a prefix.
func obtainWithOwnToken(ctx context.Context, e env) (string, error) {
	locker := redislock.New(e.client)
	obtain := func(token, metadata string) error {
		_, err := locker.Obtain(ctx, e.key, 30*time.Second, &redislock.Options{Token: token, Metadata: metadata})
		return err
	}
	return "", first(obtain("token-of-mine", "one"), obtain("token-of-mine", "two"),
		equal("value", "token-of-minetwo", e.client.Get(ctx, e.key).Val()),
		is("another token", redislock.ErrNotObtained, obtain("token-of-else", "two")))
}

func obtainWaits(ctx context.Context, e env) (string, error) {
	locker := redislock.New(e.client)
	lock, err := locker.Obtain(ctx, e.key, 30*time.Second, nil)
	if err != nil {
		return "", err
	}
	impatient := &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(5*time.Millisecond), 3)}
	_, refused := locker.Obtain(ctx, e.key, 30*time.Second, impatient)
	done := make(chan error, 1)
	go func() {
		next, err := locker.Obtain(ctx, e.key, 30*time.Second, patiently())
		if err == nil {
			err = next.Release(ctx)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return "", fmt.Errorf("another owner's Obtain of a held lock ended: %w", err)
	case <-time.After(100 * time.Millisecond):
	}
	return "", first(is("three tries", redislock.ErrNotObtained, refused), lock.Release(ctx), <-done)
}

func refresh(ctx context.Context, e env) (string, error) {
	lock, err := redislock.Obtain(ctx, e.client, e.key, 2*time.Second, nil)
	if err != nil {
		return "", err
	}
	err = lock.Refresh(ctx, 20*time.Second, nil)
	ttl := e.client.PTTL(ctx, e.key).Val()
	return fmt.Sprintf("ttl_ms=%d", ttl.Milliseconds()),
		first(err, within("TTL", 15*time.Second, ttl, 20*time.Second), lock.Release(ctx))
}

func refreshLost(ctx context.Context, e env) (string, error) {
	lock, err := redislock.Obtain(ctx, e.client, e.key, 20*time.Second, nil)
	if err != nil {
		return "", err
	}
	e.client.Set(ctx, e.key, "another", time.Minute)
	ttl, err := lock.TTL(ctx)
	return "", first(err, equal("TTL of a lost lock", 0, ttl),
		is("refreshing a lost lock", redislock.ErrNotObtained, lock.Refresh(ctx, time.Second, nil)),
		is("releasing a lost lock", redislock.ErrLockNotHeld, lock.Release(ctx)),
		equal("value", "another", e.client.Get(ctx, e.key).Val()),
		within("TTL", 50*time.Second, e.client.PTTL(ctx, e.key).Val(), time.Minute))
}

func obtainAfterExpiry(ctx context.Context, e env) (string, error) {
	const lease = 300 * time.Millisecond
	start := time.Now()
	lock, err := redislock.Obtain(ctx, e.client, e.key, lease, nil)
	if err != nil {
		return "", err
	}
	next, err := redislock.Obtain(ctx, e.client, e.key, 30*time.Second, patiently())
	if err != nil {
		return "", err
	}
	waited := time.Since(start)
	return fmt.Sprintf("next_owner_after_ms=%d", waited.Milliseconds()), first(
		within("time to the next owner", lease-time.Millisecond, waited, patience),
		is("the former owner's release", redislock.ErrLockNotHeld, lock.Release(ctx)),
		next.Release(ctx))
}

func obtainContention(ctx context.Context, e env) (string, error) {
	return contend(10, 15, func(guarded *guarded) error {
		lock, err := redislock.Obtain(ctx, e.client, e.key, 30*time.Second, patiently())
		if err != nil {
			return err
		}
		guarded.use()
		return lock.Release(ctx)
	})
}

// is is nil when the error is the one wanted.
func is(what string, want, got error) error {
	if !errors.Is(got, want) {
		return fmt.Errorf("%s: want %w, got %v", what, want, got) //nolint:errorlint // got may be nil
	}
	return nil
}

// guarded is a counter that notices two users at once, and loses updates but for the lock.
type guarded struct {
	mu              sync.Mutex
	inside          int
	count, overlaps int
}

func (g *guarded) use() {
	count := g.enter()
	time.Sleep(time.Millisecond)
	g.leave(count + 1)
}

func (g *guarded) enter() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside++; g.inside > 1 {
		g.overlaps++
	}
	return g.count
}

func (g *guarded) leave(count int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count = count
	g.inside--
}

// contend lets several users lock, use and unlock in rounds, and answers how often that was done.
func contend(users, rounds int, lockedUse func(*guarded) error) (string, error) {
	g := &guarded{}
	errs := make([]error, users)
	var all sync.WaitGroup
	for user := range users {
		all.Go(func() {
			for range rounds {
				errs[user] = errors.Join(errs[user], lockedUse(g))
			}
		})
	}
	all.Wait()
	return fmt.Sprintf("grants=%d", g.count), first(errors.Join(errs...),
		equal("overlaps", 0, g.overlaps), equal("counter", users*rounds, g.count))
}
