package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// lockMode is how rueidislock learns that a lock is free or lost.
type lockMode string

const (
	tracking lockMode = "tracking" // by invalidations of RESP3 (redis.io, "Client-side caching"), of its own writes too
	noLoop   lockMode = "noloop"   // by invalidations of what others write
	polling  lockMode = "polling"  // by asking again
)

// lockKeys is how many keys rueidislock keeps for a lock: three, of which it must hold two.
const lockKeys = 3

func rueidislockCases(mode lockMode) []testCase {
	bodies := []struct {
		name  string
		run   func(lockers, context.Context) (string, error)
		waits bool // for a lock that is held
	}{
		{"lock-unlock", lockers.lockUnlock, false},
		{"waits", lockers.waits, true},
		{"waits-for-expiry", lockers.waitsForExpiry, true},
		{"extends", lockers.extends, false},
		{"lost", lockers.lost, false},
		{"forced", lockers.forced, false},
		{"flushed", lockers.flushed, true},
		{"contention", lockers.contention, true},
		{"quiet", lockers.quiet, false},
	}
	var cases []testCase
	for _, body := range bodies {
		cases = append(cases, testCase{"rueidislock/" + string(mode) + "/" + body.name, func(ctx context.Context, e env) (string, error) {
			return body.run(lockers{env: e, mode: mode, waiting: body.waits}, ctx)
		}})
	}
	return cases
}

// lockers makes the lockers of a case.
type lockers struct {
	env
	mode    lockMode
	waiting bool
}

// tryNextAfter is the limit of one SET and, when polling, the time between two tries. Who only tries, or never tries again
// unless told, must not give up while a leader is elected.
func (l lockers) tryNextAfter() time.Duration {
	if l.mode == polling && l.waiting {
		return 200 * time.Millisecond
	}
	return answerWithin
}

// two opens two lockers, as of two hosts, whose keys live for so long unless they extend them, which they do twice
// in that time.
func (l lockers) two(validity time.Duration) (one, two rueidislock.Locker, closeBoth func(), err error) {
	one, err1 := l.open(validity)
	two, err2 := l.open(validity)
	closeBoth = func() {
		for _, locker := range []rueidislock.Locker{one, two} {
			if locker != nil {
				locker.Close()
			}
		}
	}
	return one, two, closeBoth, errors.Join(err1, err2)
}

func (l lockers) open(validity time.Duration) (rueidislock.Locker, error) {
	option := l.rueidisOption()
	option.DisableCache = l.mode == polling
	return rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: option, KeyValidity: validity, NoLoopTracking: l.mode == noLoop, TryNextAfter: l.tryNextAfter(),
	})
}

// try is another's try at the lock. One that the server says it has not done, since there is no leader, is done again.
func (l lockers) try(ctx context.Context, locker rueidislock.Locker) error {
	for {
		_, unlock, err := locker.TryWithContext(ctx, l.key)
		if err == nil {
			unlock()
		}
		if reply, ok := rueidis.IsRedisErr(err); !ok || !reply.IsTryAgain() && !reply.IsClusterDown() {
			return err
		}
	}
}

// stored are the keys of the case's lock.
func (l lockers) stored() []string {
	keys := make([]string, lockKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("rueidislock:%d:%s", i, l.key)
	}
	return keys
}

// free waits until the lock's keys are gone.
func (l lockers) free(ctx context.Context) error {
	return until("the lock's keys are gone", func() bool { return l.client.Exists(ctx, l.stored()...).Val() == 0 })
}

// until waits for a condition for as long as patience lasts.
func until(what string, condition func() bool) error {
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited in vain until %s", what)
		}
	}
	return nil
}

// ends waits until a holder's context is done, which is how it learns that its lock is lost.
func ends(held context.Context, what string) error {
	select {
	case <-held.Done():
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s goes on", what)
	}
}

func (l lockers) lockUnlock(ctx context.Context) (string, error) {
	one, two, closeBoth, err := l.two(30 * time.Second)
	defer closeBoth()
	if err != nil {
		return "", err
	}
	held, unlock, err := one.WithContext(ctx, l.key)
	if err != nil {
		return "", err
	}
	if err := until("all keys are set", func() bool { return l.client.Exists(ctx, l.stored()...).Val() == lockKeys }); err != nil {
		return "", err
	}
	ttl := l.client.PTTL(ctx, l.stored()[0]).Val()
	refused := l.try(ctx, two)
	if held.Err() != nil {
		return "", fmt.Errorf("held lock: %w", held.Err())
	}
	unlock()
	if err := first(within("TTL", 25*time.Second, ttl, 30*time.Second), is("another's try", rueidislock.ErrNotLocked, refused),
		l.free(ctx)); err != nil {
		return "", err
	}
	if err := l.try(ctx, two); err != nil {
		return "", fmt.Errorf("a free lock: %w", err)
	}
	return fmt.Sprintf("ttl_ms=%d", ttl.Milliseconds()), l.free(ctx)
}

// waits shows that a waiter gets the lock when it is released, long before the key's validity would end.
func (l lockers) waits(ctx context.Context) (string, error) {
	one, two, closeBoth, err := l.two(30 * time.Second)
	defer closeBoth()
	if err != nil {
		return "", err
	}
	_, unlock, err := one.WithContext(ctx, l.key)
	if err != nil {
		return "", err
	}
	acquired := l.waiter(ctx, two)
	select {
	case got := <-acquired:
		return "", fmt.Errorf("another owner's wait for a held lock ended: %w", got.err)
	case <-time.After(300 * time.Millisecond):
	}
	released := time.Now()
	unlock()
	got := <-acquired
	return fmt.Sprintf("woken_after_ms=%.1f", ms(got.at.Sub(released))),
		first(got.err, within("time to wake up", -time.Second, got.at.Sub(released), 5*time.Second))
}

// acquisition is when a waiter got the lock, or why it did not.
type acquisition struct {
	at  time.Time
	err error
}

// waiter starts somebody who waits for the lock and gives it back at once.
func (l lockers) waiter(ctx context.Context, locker rueidislock.Locker) <-chan acquisition {
	acquired := make(chan acquisition, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, unlock, err := locker.WithContext(ctx, l.key)
		acquired <- acquisition{at: time.Now(), err: err}
		if err == nil {
			unlock()
		}
	}()
	return acquired
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// waitsForExpiry shows that keys that expire under a waiter let it in: nobody writes, so only the server can tell.
func (l lockers) waitsForExpiry(ctx context.Context) (string, error) {
	const lease = 600 * time.Millisecond
	locker, err := l.open(30 * time.Second)
	if err != nil {
		return "", err
	}
	defer locker.Close()
	start := time.Now()
	for _, key := range l.stored() {
		if err := l.client.Set(ctx, key, "a dead owner", lease).Err(); err != nil {
			return "", err
		}
	}
	got := <-l.waiter(ctx, locker)
	waited := got.at.Sub(start)
	return fmt.Sprintf("next_owner_after_ms=%d", waited.Milliseconds()),
		first(got.err, within("time to the next owner", lease-time.Millisecond, waited, 5*time.Second))
}

// extends shows that a lock outlives its validity while its owner lives. The validity is the library's default: an owner gives
// the lock up when the server takes longer for an answer.
func (l lockers) extends(ctx context.Context) (string, error) {
	const validity = 5 * time.Second
	one, two, closeBoth, err := l.two(validity)
	defer closeBoth()
	if err != nil {
		return "", err
	}
	held, unlock, err := one.WithContext(ctx, l.key)
	if err != nil {
		return "", err
	}
	defer unlock()
	tries := 0
	for start := time.Now(); time.Since(start) < 2*validity+validity/2; tries++ {
		refused := l.try(ctx, two)
		if err := first(held.Err(), is("another's try", rueidislock.ErrNotLocked, refused)); err != nil {
			return "", fmt.Errorf("%v after the lock: %w", time.Since(start), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Sprintf("refused=%d", tries), nil
}

// lost shows that an owner learns that its keys are gone: at once when it tracks them, else when it extends them.
func (l lockers) lost(ctx context.Context) (string, error) {
	validity := 2 * time.Second
	if l.mode != polling {
		validity = 30 * time.Second
	}
	locker, err := l.open(validity)
	if err != nil {
		return "", err
	}
	defer locker.Close()
	held, unlock, err := locker.WithContext(ctx, l.key)
	if err != nil {
		return "", err
	}
	defer unlock()
	start := time.Now()
	err = first(l.client.Del(ctx, l.stored()...).Err(), ends(held, "the owner of a lost lock"))
	return fmt.Sprintf("told_after_ms=%.1f", ms(time.Since(start))), err
}

func (l lockers) forced(ctx context.Context) (string, error) {
	one, two, closeBoth, err := l.two(5 * time.Second)
	defer closeBoth()
	if err != nil {
		return "", err
	}
	former, unlockFormer, err := one.WithContext(ctx, l.key)
	if err != nil {
		return "", err
	}
	held, unlock, err := two.ForceWithContext(ctx, l.key)
	if err != nil {
		return "", fmt.Errorf("force: %w", err)
	}
	err = first(ends(former, "the former owner"), held.Err())
	unlockFormer()
	unlock()
	return "", first(err, l.free(ctx))
}

// flushed shows that owner and waiter learn of FLUSHALL, whose invalidation names no key.
func (l lockers) flushed(ctx context.Context) (string, error) {
	one, two, closeBoth, err := l.two(2 * time.Second)
	defer closeBoth()
	if err != nil {
		return "", err
	}
	held, unlock, err := one.WithContext(ctx, l.key)
	if err != nil {
		return "", err
	}
	defer unlock()
	acquired := l.waiter(ctx, two)
	if err := first(l.client.FlushAll(ctx).Err(), ends(held, "the owner of a flushed lock")); err != nil {
		return "", err
	}
	return "", (<-acquired).err
}

func (l lockers) contention(ctx context.Context) (string, error) {
	one, two, closeBoth, err := l.two(10 * time.Second)
	defer closeBoth()
	if err != nil {
		return "", err
	}
	all := make(chan rueidislock.Locker, 6)
	for range cap(all) / 2 {
		all <- one
		all <- two
	}
	return contend(cap(all), 5, func(g *guarded) error {
		locker := <-all
		defer func() { all <- locker }()
		_, unlock, err := locker.WithContext(ctx, l.key)
		if err != nil {
			return err
		}
		g.use()
		unlock()
		return nil
	})
}

// quiet counts the commands in two seconds in which a lock is merely held, and extended four times. rueidislock extends a key that the server
// says has changed, which its own extension may be: with a server that pushes what changed nothing, that never ends.
func (l lockers) quiet(ctx context.Context) (string, error) {
	locker, err := l.open(time.Second)
	if err != nil {
		return "", err
	}
	defer locker.Close()
	_, unlock, err := locker.WithContext(ctx, l.key)
	if err != nil {
		return "", err
	}
	defer unlock()
	before, err := l.commands(ctx)
	if err != nil {
		return "", err
	}
	time.Sleep(2 * time.Second)
	after, err := l.commands(ctx)
	return fmt.Sprintf("commands=%d", after-before), err
}

// commands is how many commands the server has processed so far.
func (l lockers) commands(ctx context.Context) (int64, error) {
	info, err := l.client.InfoMap(ctx, "stats").Result()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(info["Stats"]["total_commands_processed"], 10, 64)
}
