package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// failover is the story of two users of one lock of redsync while the master is killed. They know nothing but Sentinels. See
// the README for what is read and printed.
func failover(sentinels, key string) error {
	alice, bob := sentinelMutex(sentinels, key), sentinelMutex(sentinels, key)
	orders := bufio.NewScanner(os.Stdin)
	expect := func(order string) error {
		if !orders.Scan() || orders.Text() != order {
			return fmt.Errorf("want %s, got %q", order, orders.Text())
		}
		return nil
	}
	fmt.Println("connected")
	if err := errors.Join(expect("lock"), alice.Lock()); err != nil {
		return err
	}
	woken := make(chan error, 1)
	go func() { woken <- answered(bob.Lock) }()
	fmt.Println("held")
	if err := expect("failed"); err != nil {
		return err
	}
	holds := 0
	if err := answered(func() error { _, err := alice.Extend(); return err }); err == nil {
		holds = 1
	}
	fmt.Println("alice", holds)
	if err := expect("watched"); err != nil {
		return err
	}
	state := "waits"
	if len(woken) > 0 {
		state = "got"
	}
	fmt.Println("bob", state)
	if err := expect("release"); err != nil {
		return err
	}
	if err := answered(func() error { _, err := alice.Unlock(); return err }); err != nil {
		return err
	}
	fmt.Println("released 1")
	if err := <-woken; err != nil {
		return err
	}
	fmt.Println("bob got")
	return nil
}

func sentinelMutex(sentinels, key string) *redsync.Mutex {
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "mymaster", SentinelAddrs: strings.Split(sentinels, ","), DialTimeout: 2 * time.Second, ReadTimeout: 2 * time.Second,
	})
	rs := redsync.New(goredis.NewPool(client))
	return rs.NewMutex(key, redsync.WithExpiry(30*time.Second), redsync.WithTries(1<<20), redsync.WithRetryDelay(20*time.Millisecond))
}

// answered calls until there is an answer, for a minute at most.
func answered(call func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := call()
		var lost *redsync.ErrTaken
		if err == nil || errors.As(err, &lost) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
