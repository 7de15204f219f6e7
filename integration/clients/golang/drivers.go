package main

import (
	"context"
	"time"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	redsyncredigo "github.com/go-redsync/redsync/v4/redis/redigo"
	redsyncrueidis "github.com/go-redsync/redsync/v4/redis/rueidis"
	"github.com/gomodule/redigo/redis"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidiscompat"
)

// The drivers by which redsync reaches a server, each with what closes it.

func goRedisPool(e env) (redsyncredis.Pool, func(), error) {
	return goredis.NewPool(e.client), func() {}, nil
}

// redigoPool pings each connection before it is used, as programs with redigo do.
func redigoPool(e env) (redsyncredis.Pool, func(), error) {
	pool := &redis.Pool{
		MaxIdle:             8,
		DialContext:         func(ctx context.Context) (redis.Conn, error) { return redis.DialContext(ctx, "tcp", e.addr) },
		TestOnBorrowContext: func(ctx context.Context, c redis.Conn, _ time.Time) error { return ping(ctx, c) },
	}
	return redsyncredigo.NewPool(pool), func() { _ = pool.Close() }, nil
}

func ping(ctx context.Context, c redis.Conn) error {
	_, err := redis.DoContext(c, ctx, "PING")
	return err
}

func rueidisPool(e env) (redsyncredis.Pool, func(), error) {
	client, err := rueidis.NewClient(e.rueidisOption())
	if err != nil {
		return nil, nil, err
	}
	return redsyncrueidis.NewPool(rueidiscompat.NewAdapter(client)), client.Close, nil
}

// rueidisOption is how rueidis reaches the server: with RESP2 it can neither cache nor track.
func (e env) rueidisOption() rueidis.ClientOption {
	option := rueidis.ClientOption{
		InitAddress: []string{e.addr}, AlwaysRESP2: e.protocol == 2, DisableCache: e.protocol == 2, DisableRetry: true,
	}
	if e.sentinels != nil {
		option.InitAddress = e.sentinels
		option.Sentinel = rueidis.SentinelOption{MasterSet: "mymaster"}
	}
	return option
}
