package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/fencing/redislock"
)

// Work under a lock, and send its token with each write.
func ExampleAcquire() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6380"})
	defer func() { _ = client.Close() }()
	work := func(ctx context.Context, token fencing.Token) error {
		fmt.Println("UPDATE ... WHERE last_token <=", token)
		return ctx.Err() // done when the lock is lost
	}
	err := func(ctx context.Context) error {
		lock, err := redislock.Acquire(ctx, client, "lock:orders", redislock.Options{TTL: 10 * time.Second})
		if err != nil {
			return err
		}
		err = work(lock.Context(), lock.Token())
		return errors.Join(err, lock.Unlock(ctx))
	}(context.Background())
	fmt.Println(err)
}
