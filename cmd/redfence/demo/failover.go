// Package demo shows what Redfence is for, with real processes on free ports of the loopback interface.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	lockKey = "lock:stock"
	lease   = 30 * time.Second
	watched = 3 * time.Second // how long it is watched whether a second one gets the lock after the failover
)

// release deletes the lock of its owner (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

// user is a program that works under a lock. Its whole configuration is the Sentinels and the name of the master.
type user struct {
	name string
	c    *redis.Client
}

func newUser(name string, sentinels []string) *user {
	return &user{name, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: masterName, SentinelAddrs: sentinels})}
}

// take tries once to get the lock.
func (u *user) take(ctx context.Context) (bool, error) {
	err := u.c.SetArgs(ctx, lockKey, u.name, redis.SetArgs{Mode: "NX", TTL: lease}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// takeWithin tries for a while, also when nobody answers.
func (u *user) takeWithin(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if got, err := u.take(ctx); err == nil && got {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// Outcome is what became of the lock.
type Outcome struct {
	TwoHolders bool
	HandedOn   bool // after its release the next one got it
}

// Run has two users of one lock live through the loss of the master. The story goes to out.
func Run(ctx context.Context, w *World, out io.Writer) (o Outcome, err error) {
	say := func(format string, args ...any) { fmt.Fprintf(out, "  "+format+"\n", args...) }
	alice, bob := newUser("alice", w.Sentinels), newUser("bob", w.Sentinels)
	defer func() { _, _ = alice.c.Close(), bob.c.Close() }()
	fmt.Fprintln(out, w.Name)
	if err := w.Before(ctx); err != nil {
		return o, err
	}
	got, err := alice.take(ctx)
	if err != nil || !got {
		return o, errors.Join(errors.New("alice does not get a lock that is free"), err)
	}
	taken := time.Now()
	say("alice takes the lock for %v", lease)
	if got, err = bob.take(ctx); err != nil || got {
		return o, errors.Join(errors.New("bob is not refused"), err)
	}
	say("bob is refused")
	was, is, err := w.Fail(ctx)
	if err != nil {
		return o, err
	}
	say("the master %s is killed%s", was, because(w.Failure))
	say("the Sentinels name %s, after %.1f s", is, time.Since(taken).Seconds())
	if bob.takeWithin(ctx, watched) && time.Since(taken) < lease {
		o.TwoHolders = true
		say("bob takes the lock, while alice has it for %.0f s more: TWO HOLDERS", (lease - time.Since(taken)).Seconds())
		return o, nil
	}
	say("bob is refused for %v, since alice has the lock: ONE HOLDER", watched)
	if n, err := release.Run(ctx, alice.c, []string{lockKey}, alice.name).Int(); err != nil || n != 1 {
		return o, errors.Join(errors.New("alice cannot let go of her lock"), err)
	}
	o.HandedOn = bob.takeWithin(ctx, patience)
	say("alice lets go, and bob takes the lock")
	return o, nil
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return "; " + reason
}

// Failover shows the loss of a lock in the failover of a real Redis, and then the same users with other addresses. It is an error
// when it does not go as it should.
func Failover(ctx context.Context, dir string, tools Tools, out io.Writer) error {
	acts := []struct {
		name  string
		start func(context.Context, string, Tools) (*World, error)
		want  Outcome
	}{
		{"redis", NewRedis, Outcome{TwoHolders: true}},
		{"raft", NewRaft, Outcome{HandedOn: true}},
		{"quorum", NewQuorum, Outcome{HandedOn: true}},
	}
	for _, act := range acts {
		w, err := act.start(ctx, filepath.Join(dir, act.name), tools)
		if w != nil {
			defer w.Close()
		}
		if err != nil {
			return fmt.Errorf("starting %s: %w", act.name, err)
		}
		got, err := Run(ctx, w, out)
		w.Close()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", act.name, err)
		case got != act.want:
			return fmt.Errorf("%s: it went otherwise than it should: %+v", act.name, got)
		}
	}
	fmt.Fprintln(out, "The users were the same: only the addresses of the Sentinels were others.")
	return nil
}
