// Package redislock takes locks of Redfence with go-redis, and gives their fencing tokens.
//
// It needs a Redfence, not a Redis: a lock without a token is none that a resource can check. The lock itself is the plain
// `SET key value NX PX ttl` with a random value, so it excludes all other clients that lock so.
package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/fencing"
)

// Errors that are returned, and that are the cause of a lock's context.
var (
	// ErrHeld is returned by Try when somebody else holds the lock.
	ErrHeld = errors.New("somebody else holds the lock")
	// ErrLost is the cause when the lock was not held any more when it was to be renewed or released.
	ErrLost = errors.New("the lock was lost")
	// ErrExpired is the cause when no renewal was confirmed before the lease was over by this process's own clock.
	ErrExpired = errors.New("the lease of the lock is over")
	// ErrReleased is the cause when the lock was given back by Unlock.
	ErrReleased = errors.New("the lock was released")
)

// Options say how a lock is taken and kept. The zero Options are a lease of 30 s that is renewed.
type Options struct {
	TTL   time.Duration // of the lease, at least 10 ms; 30 s when 0
	Renew time.Duration // how often it is renewed: a third of TTL when 0, never when negative
	Retry time.Duration // how long Acquire waits between attempts; 100 ms when 0
	Drift time.Duration // by how much earlier the lease ends here than on the server; 1 % of TTL and 2 ms when 0
}

const (
	defaultTTL   = 30 * time.Second
	defaultRetry = 100 * time.Millisecond
	shortest     = 10 * time.Millisecond
	driftShare   = 100 // as the Redlock page allows for clocks
	driftFixed   = 2 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.TTL <= 0 {
		o.TTL = defaultTTL
	}
	o.TTL = max(o.TTL, shortest)
	if o.Renew == 0 {
		o.Renew = o.TTL / 3
	}
	if o.Retry <= 0 {
		o.Retry = defaultRetry
	}
	if o.Drift <= 0 {
		o.Drift = o.TTL/driftShare + driftFixed
	}
	return o
}

// Lock is a lock that was taken. Its methods are safe for concurrent use.
type Lock struct {
	client redis.UniversalClient
	key    string
	value  string
	token  fencing.Token
	o      Options
	ctx    context.Context
	cancel context.CancelCauseFunc
	detach func() bool // from the context that the lock was taken with

	running sync.WaitGroup // renewAll

	mu    sync.Mutex
	until time.Time // when the lease is over by this process's clock; with a monotonic reading
	alarm *time.Timer
}

// Try takes the lock once. It returns ErrHeld when somebody else has it. The lock's Context ends with ctx at the latest.
//
// After another error it is not known whether the lock was taken, so it is given back in the background.
func Try(ctx context.Context, client redis.UniversalClient, key string, o Options) (*Lock, error) {
	o = o.withDefaults()
	value, began := rand.Text(), time.Now()
	token, err := client.Do(ctx, "SET", key, value, "NX", "PX", o.TTL.Milliseconds(), "FENCE").Int64()
	if errors.Is(err, redis.Nil) { // or go-redis has sent it again, behind an answer that was lost, and finds its own lock
		token, err = client.Do(ctx, "FENCE", key, value).Int64()
	}
	switch {
	case errors.Is(err, redis.Nil):
		return nil, ErrHeld
	case err != nil:
		go giveBack(context.WithoutCancel(ctx), client, key, value, o.TTL)
		return nil, fmt.Errorf("take lock %s: %w", key, err)
	}
	l := &Lock{client: client, key: key, value: value, token: fencing.Token(token), o: o, until: began.Add(o.TTL - o.Drift)}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	l.detach = context.AfterFunc(ctx, func() { l.cancel(context.Cause(ctx)) })
	l.mu.Lock()
	l.alarm = time.AfterFunc(time.Until(l.until), l.expire)
	l.mu.Unlock()
	if o.Renew > 0 {
		l.running.Go(l.renewAll)
	}
	return l, nil
}

// Acquire takes the lock, and waits for it as long as somebody else has it and ctx is not done.
func Acquire(ctx context.Context, client redis.UniversalClient, key string, o Options) (*Lock, error) {
	pause := o.withDefaults().Retry
	for {
		l, err := Try(ctx, client, key, o)
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("take lock %s: %w", key, context.Cause(ctx))
		}
	}
}

// Token is the lock's fencing token. It stays the same however often the lock is renewed.
func (l *Lock) Token() fencing.Token { return l.token }

// Context is cancelled when the lock is lost or given back, and when its lease is over by this process's own monotonic clock
// without a confirmed renewal. Its cause tells which. A process that was paused learns it when it goes on, and may have
// written before that: only the token at the resource stops that write.
func (l *Lock) Context() context.Context { return l.ctx }

// Lost is closed when Context is cancelled.
func (l *Lock) Lost() <-chan struct{} { return l.ctx.Done() }

// Err is why the lock is not held any more; nil as long as it is, as far as this process can tell.
func (l *Lock) Err() error {
	l.mu.Lock()
	over := !time.Now().Before(l.until)
	l.mu.Unlock()
	if over { // the alarm may come a moment later
		l.end(ErrExpired)
	}
	return context.Cause(l.ctx)
}

// expire ends the lock when its time is over, unless it was renewed meanwhile.
func (l *Lock) expire() {
	l.mu.Lock()
	left := time.Until(l.until)
	if left > 0 {
		l.alarm.Reset(left)
	}
	l.mu.Unlock()
	if left <= 0 {
		l.end(ErrExpired)
	}
}

// end cancels the context, with the first cause that is given.
func (l *Lock) end(cause error) {
	l.cancel(cause)
	l.detach()
	l.mu.Lock()
	l.alarm.Stop()
	l.mu.Unlock()
}

// The scripts compare before they write, as https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/ asks for.
const (
	extendScript = `if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("PEXPIRE", KEYS[1], ARGV[2])
else
	return 0
end`
	deleteScript = `if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("DEL", KEYS[1])
else
	return 0
end`
)

// giveBack releases what may have been taken. It must not take longer than that would last.
func giveBack(ctx context.Context, client redis.UniversalClient, key, value string, ttl time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, ttl)
	defer cancel()
	_ = redis.NewScript(deleteScript).Run(ctx, client, []string{key}, value).Err() // else its TTL ends it
}

// renewAll renews the lease until the lock is over. What fails is tried again at the next turn; the deadline stands.
func (l *Lock) renewAll() {
	ticker := time.NewTicker(l.o.Renew)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = l.Extend(l.ctx)
		case <-l.ctx.Done():
			return
		}
	}
}

// Extend renews the lease for TTL from now. It returns ErrLost, and the lock is over, when it is not held any more; after
// other errors the former deadline stands.
func (l *Lock) Extend(ctx context.Context) error {
	if err := l.Err(); err != nil {
		return err
	}
	began := time.Now()
	n, err := redis.NewScript(extendScript).Run(ctx, l.client, []string{l.key}, l.value, l.o.TTL.Milliseconds()).Int64()
	if err != nil {
		return fmt.Errorf("renew lock %s: %w", l.key, err)
	}
	if n == 0 {
		l.end(ErrLost)
		return ErrLost
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = began.Add(l.o.TTL - l.o.Drift)
	return nil
}

// Unlock gives the lock back. It returns ErrLost when it was not held any more: whoever has it now keeps it.
func (l *Lock) Unlock(ctx context.Context) error {
	l.end(ErrReleased)
	l.running.Wait()
	n, err := redis.NewScript(deleteScript).Run(ctx, l.client, []string{l.key}, l.value).Int64()
	switch {
	case err != nil:
		return fmt.Errorf("release lock %s: %w", l.key, err)
	case n == 0:
		return ErrLost
	}
	return nil
}
