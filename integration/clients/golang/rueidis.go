package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

func rueidisCases() []testCase {
	return []testCase{
		{"rueidis/lock", rueidisLock},
		{"rueidis/cache", rueidisCache},
		{"rueidis/cache-expiry", rueidisCacheExpiry},
		{"rueidis/cache-flush", rueidisCacheFlush},
		{"rueidis/broadcast", rueidisBroadcast},
		{"rueidis/transaction", rueidisTransaction},
		{"rueidis/subscribe", rueidisSubscribe},
	}
}

// withRueidis runs body with a client of the usual options, which caches, after change to them.
func withRueidis(e env, change func(*rueidis.ClientOption), body func(c rueidis.Client) error) error {
	option := e.rueidisOption()
	change(&option)
	client, err := rueidis.NewClient(option)
	if err != nil {
		return err
	}
	defer client.Close()
	return body(client)
}

func asUsual(*rueidis.ClientOption) {}

// rueidisLock makes a lock by hand, in one pipeline without MULTI, and ends it by a script.
func rueidisLock(ctx context.Context, e env) (string, error) {
	release := rueidis.NewLuaScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	token := rueidis.BinaryString([]byte{0, 1, 2, 255, '\r', '\n', 254})
	return "", withRueidis(e, asUsual, func(c rueidis.Client) error {
		set := func(value string) rueidis.Completed {
			return c.B().Set().Key(e.key).Value(value).Nx().PxMilliseconds(30_000).Build()
		}
		replies := c.DoMulti(ctx, set(token), set("other"), c.B().Get().Key(e.key).Build())
		value, err := replies[2].ToString()
		stranger, err2 := release.Exec(ctx, c, []string{e.key}, []string{"other"}).AsInt64()
		owner, err3 := release.Exec(ctx, c, []string{e.key}, []string{token}).AsInt64()
		return first(replies[0].Error(), err, err2, err3,
			equal("the second SET NX is refused", true, rueidis.IsRedisNil(replies[1].Error())),
			equal("value", token, value),
			equal("stranger's release", 0, stranger), equal("owner's release", 1, owner))
	})
}

// cached reads the case's key through the client's cache.
func cached(ctx context.Context, c rueidis.Client, key string) (value string, hit bool, err error) {
	reply := c.DoCache(ctx, c.B().Get().Key(key).Cache(), time.Minute)
	value, err = reply.ToString()
	if rueidis.IsRedisNil(err) {
		err = nil
	}
	return value, reply.IsCacheHit(), err
}

// rueidisCache shows that what another client writes ends a cached value.
func rueidisCache(ctx context.Context, e env) (string, error) {
	return "", withRueidis(e, asUsual, func(c rueidis.Client) error {
		e.client.Set(ctx, e.key, "one", time.Minute)
		value, hit, err := cached(ctx, c, e.key)
		if err := first(err, equal("value", "one", value), equal("first read is a hit", false, hit), hits(ctx, c, e.key, "one")); err != nil {
			return err
		}
		e.client.Set(ctx, e.key, "two", time.Minute)
		return becomes(ctx, c, e.key, "two")
	})
}

// hits reads a value until that is answered from the cache: a server may tell of the write before once more.
func hits(ctx context.Context, c rueidis.Client, key, want string) error {
	var value string
	var hit bool
	var err error
	return first(until("a read is a hit", func() bool {
		value, hit, err = cached(ctx, c, key)
		return err != nil || hit || value != want
	}), err, equal("value again", want, value))
}

// becomes waits until the cache no longer shows the old value.
func becomes(ctx context.Context, c rueidis.Client, key, want string) error {
	var value string
	var err error
	return first(until(fmt.Sprintf("the cache shows %q", want), func() bool {
		value, _, err = cached(ctx, c, key)
		return err != nil || value == want
	}), err)
}

// rueidisCacheExpiry shows that a value whose key expires leaves the cache, which holds it for longer.
func rueidisCacheExpiry(ctx context.Context, e env) (string, error) {
	return "", withRueidis(e, asUsual, func(c rueidis.Client) error {
		e.client.Set(ctx, e.key, "one", 500*time.Millisecond)
		value, _, err := cached(ctx, c, e.key)
		return first(err, equal("value", "one", value), becomes(ctx, c, e.key, ""))
	})
}

func rueidisCacheFlush(ctx context.Context, e env) (string, error) {
	return "", withRueidis(e, asUsual, func(c rueidis.Client) error {
		e.client.Set(ctx, e.key, "one", time.Minute)
		value, _, err := cached(ctx, c, e.key)
		return first(err, equal("value", "one", value), e.client.FlushAll(ctx).Err(), becomes(ctx, c, e.key, ""))
	})
}

// rueidisBroadcast shows CLIENT TRACKING with BCAST: every write below a prefix is told, read or not.
func rueidisBroadcast(ctx context.Context, e env) (string, error) {
	told := make(chan string, 10)
	broadcast := func(option *rueidis.ClientOption) {
		option.ClientTrackingOptions = []string{"PREFIX", e.key, "BCAST"}
		option.OnInvalidations = func(messages []rueidis.RedisMessage) {
			for _, message := range messages {
				key, _ := message.ToString()
				told <- key
			}
		}
	}
	return "", withRueidis(e, broadcast, func(c rueidis.Client) error {
		if err := c.Do(ctx, c.B().Ping().Build()).Error(); err != nil {
			return err
		}
		e.client.Set(ctx, "elsewhere:"+e.key, "v", time.Minute)
		e.client.Set(ctx, e.key+":below", "v", time.Minute)
		select {
		case key := <-told:
			return equal("invalidated key", e.key+":below", key)
		case <-time.After(patience):
			return errors.New("no invalidation")
		}
	})
}

// rueidisTransaction shows WATCH, MULTI and EXEC on a connection of its own.
func rueidisTransaction(ctx context.Context, e env) (string, error) {
	return "", withRueidis(e, asUsual, func(c rueidis.Client) error {
		return c.Dedicated(func(d rueidis.DedicatedClient) error {
			if err := d.Do(ctx, d.B().Watch().Key(e.key).Build()).Error(); err != nil {
				return err
			}
			e.client.Set(ctx, e.key, "other", time.Minute)
			transaction := func() rueidis.RedisResult {
				replies := d.DoMulti(ctx, d.B().Multi().Build(), d.B().Set().Key(e.key).Value("mine").Build(), d.B().Exec().Build())
				return replies[2]
			}
			aborted := transaction().Error()
			replies, err := transaction().ToArray()
			return first(equal("EXEC after a watched key changed is nil", true, rueidis.IsRedisNil(aborted)), err,
				equal("replies of EXEC", 1, len(replies)), equal("value", "mine", e.client.Get(ctx, e.key).Val()))
		})
	})
}

func rueidisSubscribe(ctx context.Context, e env) (string, error) {
	return "", withRueidis(e, asUsual, func(c rueidis.Client) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		received := make(chan string, 1)
		ended := make(chan error, 1)
		go func() {
			ended <- c.Receive(ctx, c.B().Subscribe().Channel(e.key).Build(), func(m rueidis.PubSubMessage) { received <- m.Message })
		}()
		if err := until("somebody has subscribed", func() bool { return e.client.Publish(ctx, e.key, "free").Val() == 1 }); err != nil {
			return err
		}
		message := <-received
		err := c.Do(ctx, c.B().Unsubscribe().Channel(e.key).Build()).Error()
		return first(err, <-ended, equal("message", "free", message))
	})
}
