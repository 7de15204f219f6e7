package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

// choosingCases are the Go samples of docs/samples.md.
func choosingCases() []testCase {
	return []testCase{
		{"choosing/lock-by-hand", lockByHand},
		{"choosing/redsync-readme", redsyncReadme},
		{"choosing/redsync-five-times", redsyncFiveTimes},
		{"choosing/stock", stock},
		{"choosing/idempotency-key", idempotencyKey},
		{"choosing/single-flight", singleFlight},
	}
}

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// withLock runs work while it holds key, and tells whether it did.
func withLock(ctx context.Context, client *redis.Client, key, token string, work func()) (bool, error) {
	ok, err := client.SetNX(ctx, key, token, 30*time.Second).Result()
	if err != nil || !ok {
		return false, err
	}
	work()
	return true, release.Run(ctx, client, []string{key}, token).Err()
}

func lockByHand(ctx context.Context, e env) (string, error) {
	inside, nested := false, true
	ran, err := withLock(ctx, e.client, e.key, "a", func() {
		inside = true
		nested, _ = withLock(ctx, e.client, e.key, "b", func() {})
	})
	again, err2 := withLock(ctx, e.client, e.key, "b", func() {})
	return "", first(err, err2, equal("first", true, ran && inside), equal("while it is held", false, nested), equal("behind it", true, again))
}

// redsyncReadme is the example of redsync's README, with what happens to somebody else.
func redsyncReadme(ctx context.Context, e env) (string, error) {
	pool := goredis.NewPool(e.client)
	rs := redsync.New(pool)
	mutex := rs.NewMutex(e.key)
	if err := mutex.Lock(); err != nil {
		return "", err
	}
	other := rs.NewMutex(e.key).TryLockContext(ctx)
	ok, err := mutex.Unlock()
	var taken *redsync.ErrTaken
	return "", first(err, equal("unlocked", true, ok), equal("somebody else is refused", true, errors.As(other, &taken)))
}

// redsyncFiveTimes lists one server five times: the first SET NX excludes the other four, and no majority comes together.
func redsyncFiveTimes(ctx context.Context, e env) (string, error) {
	pools := make([]redsyncredis.Pool, 5)
	for i := range pools {
		pools[i] = goredis.NewPool(e.client)
	}
	err := redsync.New(pools...).NewMutex(e.key, redsync.WithTries(2)).LockContext(ctx)
	if err == nil {
		return "", errors.New("one server counted as a majority of five")
	}
	return "", equal("what the attempt took is given back", int64(0), e.client.Exists(ctx, e.key).Val())
}

// decrement takes n from the stock if there is so much, in one step: 1 when it did.
var decrement = redis.NewScript(`if tonumber(redis.call("get", KEYS[1]) or "0") < tonumber(ARGV[1]) then return 0 end
redis.call("decrby", KEYS[1], ARGV[1])
return 1`)

func stock(ctx context.Context, e env) (string, error) {
	if err := e.client.Set(ctx, e.key, 50, 0).Err(); err != nil {
		return "", err
	}
	var sold atomic.Int64
	var failed atomic.Pointer[error]
	var buyers sync.WaitGroup
	for range 10 {
		buyers.Go(func() {
			for range 10 {
				n, err := decrement.Run(ctx, e.client, []string{e.key}, 1).Int64()
				if err != nil {
					failed.Store(&err)
				}
				sold.Add(n)
			}
		})
	}
	buyers.Wait()
	if err := failed.Load(); err != nil {
		return "", *err
	}
	return "", first(equal("sold", int64(50), sold.Load()), equal("left", "0", e.client.Get(ctx, e.key).Val()))
}

// firstTime tells whether an order with this id was never seen within the last 24 hours. The key is never released.
func firstTime(ctx context.Context, client *redis.Client, id string) (bool, error) {
	return client.SetNX(ctx, "seen:"+id, "1", 24*time.Hour).Result()
}

func idempotencyKey(ctx context.Context, e env) (string, error) {
	once, err := firstTime(ctx, e.client, e.key)
	twice, err2 := firstTime(ctx, e.client, e.key)
	return "", first(err, err2, equal("first", true, once), equal("second", false, twice),
		within("TTL", 24*time.Hour-time.Minute, e.client.PTTL(ctx, "seen:"+e.key).Val(), 24*time.Hour))
}

// prices is a cache in which one caller of each process fills a key, and the others wait for what it gets.
type prices struct {
	client *redis.Client
	group  singleflight.Group
	load   func() (int, error)
}

func (p *prices) get(ctx context.Context, key string) (int, error) {
	v, err, _ := p.group.Do(key, func() (any, error) {
		if cached, err := p.client.Get(ctx, key).Int(); !errors.Is(err, redis.Nil) {
			return cached, err
		}
		price, err := p.load()
		if err != nil {
			return 0, err
		}
		return price, p.client.Set(ctx, key, price, time.Minute).Err()
	})
	if err != nil {
		return 0, err
	}
	return v.(int), nil
}

func singleFlight(ctx context.Context, e env) (string, error) {
	var loads atomic.Int64
	p := &prices{client: e.client, load: func() (int, error) { return int(loads.Add(1)) * 42, nil }}
	results := make(chan string, 20)
	for range cap(results) {
		go func() {
			price, err := p.get(ctx, e.key)
			if err != nil {
				results <- err.Error()
				return
			}
			results <- strconv.Itoa(price)
		}()
	}
	for range cap(results) {
		if got := <-results; got != "42" {
			return "", fmt.Errorf("a caller got %s", got)
		}
	}
	return "", equal("loads", int64(1), loads.Load())
}
