package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func goRedisCases() []testCase {
	return []testCase{
		{"go-redis/set-nx-px", func(ctx context.Context, e env) (string, error) { return setNX(ctx, e, 1500*time.Millisecond) }},
		{"go-redis/set-nx-ex", func(ctx context.Context, e env) (string, error) { return setNX(ctx, e, 2*time.Second) }},
		{"go-redis/set-options", setOptions},
		{"go-redis/script", script},
		{"go-redis/script-flush", scriptFlush},
		{"go-redis/script-replies", scriptReplies},
		{"go-redis/pipeline", pipeline},
		{"go-redis/pipeline-errors", pipelineErrors},
		{"go-redis/tx-pipeline", txPipeline},
		{"go-redis/subscribe", subscribe},
		{"go-redis/psubscribe", psubscribe},
	}
}

// setNX sets with an expiry that go-redis sends as EX when it is whole seconds, else as PX.
func setNX(ctx context.Context, e env, ttl time.Duration) (string, error) {
	set, err := e.client.SetNX(ctx, e.key, "me", ttl).Result()
	again, err2 := e.client.SetNX(ctx, e.key, "you", ttl).Result()
	return "", first(err, err2,
		equal("set of a free key", true, set),
		equal("set of a held key", false, again),
		equal("value", "me", e.client.Get(ctx, e.key).Val()),
		within("TTL", ttl-time.Second, e.client.PTTL(ctx, e.key).Val(), ttl),
		gone(ctx, e, ttl),
	)
}

// gone waits until the case's key has expired, which must take place within its TTL and some patience.
func gone(ctx context.Context, e env, ttl time.Duration) error {
	for deadline := time.Now().Add(ttl + patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if e.client.Exists(ctx, e.key).Val() == 0 {
			return nil
		}
	}
	return errors.New("the key does not expire")
}

func setOptions(ctx context.Context, e env) (string, error) {
	xx, errXX := e.client.SetXX(ctx, e.key, "a", time.Minute).Result()
	e.client.Set(ctx, e.key, "a", time.Minute)
	errKeep := e.client.Set(ctx, e.key, "b", redis.KeepTTL).Err()
	ttl := e.client.PTTL(ctx, e.key).Val()
	old, errGet := e.client.SetArgs(ctx, e.key, "c", redis.SetArgs{Get: true, TTL: time.Minute}).Result()
	return "", first(errXX, errKeep, errGet,
		equal("XX of a missing key", false, xx),
		within("kept TTL", 50*time.Second, ttl, time.Minute),
		equal("GET of the old value", "b", old))
}

var compareAndDelete = redis.NewScript(`
	if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
	return 0`)

func script(ctx context.Context, e env) (string, error) {
	e.client.Set(ctx, e.key, "me", time.Minute)
	stranger, err := compareAndDelete.Run(ctx, e.client, []string{e.key}, "you").Int()
	owner, err2 := compareAndDelete.Run(ctx, e.client, []string{e.key}, "me").Int()
	known, err3 := compareAndDelete.Exists(ctx, e.client).Result()
	if len(known) != 1 || !known[0] {
		return "", fmt.Errorf("SCRIPT EXISTS after use: %v", known)
	}
	return "", first(err, err2, err3, equal("stranger's delete", 0, stranger), equal("owner's delete", 1, owner))
}

// scriptFlush shows the NOSCRIPT error by which clients know that they must send the text.
func scriptFlush(ctx context.Context, e env) (string, error) {
	sha, err := compareAndDelete.Load(ctx, e.client).Result()
	err2 := e.client.ScriptFlush(ctx).Err()
	missing := compareAndDelete.EvalSha(ctx, e.client, []string{e.key}, "me").Err()
	if !redis.HasErrorPrefix(missing, "NOSCRIPT") {
		return "", fmt.Errorf("EVALSHA after SCRIPT FLUSH: want NOSCRIPT, got %v", missing)
	}
	n, err3 := compareAndDelete.Run(ctx, e.client, []string{e.key}, "me").Int()
	return "", first(err, err2, err3, equal("sha", compareAndDelete.Hash(), sha), equal("deleted", 0, n))
}

func scriptReplies(ctx context.Context, e env) (string, error) {
	const text = `return {1, 'two', {3, 'four'}, redis.call('get', KEYS[1]), redis.status_reply('FIVE'), 6.9}`
	got, err := e.client.Eval(ctx, text, []string{e.key}).Result()
	failure := e.client.Eval(ctx, `return redis.error_reply('MY reason')`, nil).Err()
	if failure == nil || failure.Error() != "MY reason" {
		return "", fmt.Errorf("error reply: %v", failure)
	}
	return "", first(err, equal("reply", "[1 two [3 four] <nil> FIVE 6]", fmt.Sprint(got)))
}

func pipeline(ctx context.Context, e env) (string, error) {
	const n = 500
	pipe := e.client.Pipeline()
	gets := make([]*redis.StringCmd, n)
	for i := range n {
		pipe.Set(ctx, fmt.Sprint(e.key, i), i, time.Minute)
		gets[i] = pipe.Get(ctx, fmt.Sprint(e.key, i))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return "", err
	}
	for i, get := range gets {
		if err := equal("reply in order", fmt.Sprint(i), get.Val()); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("replies=%d", 2*n), nil
}

// pipelineErrors shows that an error in the middle of a pipeline leaves the others' replies alone.
func pipelineErrors(ctx context.Context, e env) (string, error) {
	pipe := e.client.Pipeline()
	set := pipe.SetNX(ctx, e.key, "me", time.Minute)
	wrong := pipe.HGet(ctx, e.key, "field")
	missing := pipe.Get(ctx, e.key+"-missing")
	deleted := pipe.EvalSha(ctx, compareAndDelete.Hash(), []string{e.key}, "me")
	if err := compareAndDelete.Load(ctx, e.client).Err(); err != nil {
		return "", err
	}
	_, _ = pipe.Exec(ctx)
	if err := wrong.Err(); err == nil || !strings.HasPrefix(err.Error(), "WRONGTYPE") {
		return "", fmt.Errorf("HGET of a string: %v", err)
	}
	if !errors.Is(missing.Err(), redis.Nil) {
		return "", fmt.Errorf("GET of a missing key: %v", missing.Err())
	}
	n, err := deleted.Int()
	return "", first(err, equal("set", true, set.Val()), equal("deleted", 1, n))
}

func txPipeline(ctx context.Context, e env) (string, error) {
	pipe := e.client.TxPipeline()
	set := pipe.SetNX(ctx, e.key, "me", time.Minute)
	get := pipe.Get(ctx, e.key)
	deleted := pipe.Del(ctx, e.key)
	_, err := pipe.Exec(ctx)
	return "", first(err, equal("set", true, set.Val()), equal("value", "me", get.Val()),
		equal("deleted", 1, deleted.Val()))
}

func subscribe(ctx context.Context, e env) (string, error) {
	return "", listen(ctx, e, e.client.Subscribe(ctx, e.key), "")
}

func psubscribe(ctx context.Context, e env) (string, error) {
	pattern := strings.Replace(e.key, "golang", "go?an[a-g]", 1) + "*"
	return "", listen(ctx, e, e.client.PSubscribe(ctx, pattern), pattern)
}

// listen expects the messages of the case's channel, in order, and silence once it has unsubscribed.
func listen(ctx context.Context, e env, sub *redis.PubSub, pattern string) error {
	defer sub.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := sub.Receive(ctx); err != nil {
		return fmt.Errorf("acknowledgement: %w", err)
	}
	for i := range 50 {
		receivers, err := e.client.Publish(ctx, e.key, i).Result()
		if err := first(err, equal("receivers", 1, receivers)); err != nil {
			return err
		}
	}
	for i := range 50 {
		message, err := sub.ReceiveMessage(ctx)
		if err != nil {
			return err
		}
		want := redis.Message{Channel: e.key, Pattern: pattern, Payload: fmt.Sprint(i)}
		if err := equal("message", fmt.Sprint(want), fmt.Sprint(*message)); err != nil {
			return err
		}
	}
	return leave(ctx, e, sub)
}

func leave(ctx context.Context, e env, sub *redis.PubSub) error {
	if err := first(sub.Ping(ctx, "still here"), sub.Unsubscribe(ctx), sub.PUnsubscribe(ctx)); err != nil {
		return err
	}
	for {
		message, err := sub.Receive(ctx)
		if err != nil {
			return fmt.Errorf("after unsubscribing: %w", err)
		}
		if ack, ok := message.(*redis.Subscription); ok && ack.Kind == "punsubscribe" && ack.Count == 0 {
			receivers, err := e.client.Publish(ctx, e.key, "late").Result()
			return first(err, equal("receivers after unsubscribing", 0, receivers))
		}
	}
}
