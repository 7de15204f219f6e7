package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"
)

// masterName is what clients ask Sentinels for.
const masterName = "mymaster"

// World is what a program with locks is configured with: Sentinels, and a master behind them that can be killed.
type World struct {
	Name      string
	Sentinels []string
	Failure   string // what Fail does, for people

	dir       string
	tools     Tools
	processes map[string]*process // by address
	// cutOff makes that the next write does not get to those that could take over; nil where nothing can be cut off.
	cutOff func(ctx context.Context) error
	rejoin func()
}

func newWorld(name, dir string, tools Tools) (*World, error) {
	w := &World{Name: name, dir: dir, tools: tools, processes: map[string]*process{}}
	return w, os.MkdirAll(dir, 0o700)
}

// run starts a server.
func (w *World) run(addr string, argv ...string) (*process, error) {
	p, err := start(w.dir, addr, argv...)
	if err == nil {
		w.processes[addr] = p
	}
	return p, err
}

// Close ends all processes.
func (w *World) Close() {
	for _, p := range w.processes {
		resume(p.cmd.Process)
		p.kill()
	}
}

// Master asks the Sentinels who the master is.
func (w *World) Master(ctx context.Context) (string, error) {
	var errs []error
	for _, addr := range w.Sentinels {
		s := redis.NewSentinelClient(&redis.Options{Addr: addr, MaxRetries: -1})
		at, err := s.GetMasterAddrByName(ctx, masterName).Result()
		_ = s.Close()
		if err == nil && len(at) == 2 {
			return at[0] + ":" + at[1], nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// Before is done before the lock is taken that the failure is to hit.
func (w *World) Before(ctx context.Context) error {
	if w.cutOff == nil {
		return nil
	}
	return w.cutOff(ctx)
}

// Fail kills the master that the Sentinels name, and waits until they name another one.
func (w *World) Fail(ctx context.Context) (was, is string, err error) {
	if was, err = w.Master(ctx); err != nil {
		return "", "", err
	}
	p, known := w.processes[was]
	if !known {
		return was, "", fmt.Errorf("the Sentinels name %s, which is not of this demonstration", was)
	}
	p.kill()
	if w.rejoin != nil {
		w.rejoin()
	}
	err = until(ctx, "waiting for another master", func(ctx context.Context) error {
		var err error
		if is, err = w.Master(ctx); err == nil && is == was {
			err = errors.New("the dead one is still named")
		}
		return err
	})
	return was, is, err
}

// answered waits until a server answers a command, with a reply that is told to be right.
func answered(ctx context.Context, addr string, right func(any) bool, args ...any) error {
	return until(ctx, fmt.Sprint(addr, " ", args), func(ctx context.Context) error {
		reply, err := do(ctx, addr, args...)
		if err == nil && !right(reply) {
			err = fmt.Errorf("it answers %v", reply)
		}
		return err
	})
}

func anything(any) bool { return true }

// entries tells whether a reply is a list of n.
func entries(n int) func(any) bool {
	return func(reply any) bool {
		list, ok := reply.([]any)
		return ok && len(list) == n
	}
}

// redisServer starts a redis-server that keeps nothing on disk.
func (w *World) redisServer(ctx context.Context, addr string, args ...string) (*process, error) {
	argv := append([]string{w.tools.Redis, "--bind", "127.0.0.1", "--port", portOf(addr), "--save", ""}, args...)
	p, err := w.run(addr, argv...)
	if err != nil {
		return nil, err
	}
	return p, answered(ctx, addr, anything, "PING")
}

// NewRedis starts a Redis master with a replica, and three Sentinels.
func NewRedis(ctx context.Context, dir string, tools Tools) (w *World, err error) {
	if w, err = newWorld("Redis: a master, a replica and three Sentinels", dir, tools); err != nil {
		return nil, err
	}
	addrs, err := freeAddrs(5)
	if err != nil {
		return w, err
	}
	master, replica := addrs[0], addrs[1]
	w.Sentinels = addrs[2:]
	w.Failure = "its replica had not heard of the lock yet"
	if _, err = w.redisServer(ctx, master); err != nil {
		return w, err
	}
	behind, err := w.redisServer(ctx, replica, "--replicaof", "127.0.0.1 "+portOf(master))
	if err != nil {
		return w, err
	}
	for _, addr := range w.Sentinels {
		if err := w.sentinel(addr, master); err != nil {
			return w, err
		}
	}
	for _, addr := range w.Sentinels {
		err = errors.Join(err,
			answered(ctx, addr, entries(1), "SENTINEL", "REPLICAS", masterName),
			answered(ctx, addr, entries(2), "SENTINEL", "SENTINELS", masterName),
			answered(ctx, addr, anything, "SENTINEL", "CKQUORUM", masterName))
	}
	w.cutOff = func(ctx context.Context) error {
		pause(behind.cmd.Process)
		_, err := do(ctx, master, "CLIENT", "KILL", "TYPE", "replica")
		return err
	}
	w.rejoin = func() { resume(behind.cmd.Process) }
	return w, err
}

// sentinel starts a Sentinel.
func (w *World) sentinel(addr, master string) error {
	conf := filepath.Join(w.dir, "sentinel-"+portOf(addr)+".conf")
	text := strings.Join([]string{
		"bind 127.0.0.1", "port " + portOf(addr),
		"sentinel monitor " + masterName + " 127.0.0.1 " + portOf(master) + " 2",
		"sentinel down-after-milliseconds " + masterName + " 1000",
		"sentinel failover-timeout " + masterName + " 6000", "",
	}, "\n")
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := w.run(addr, w.tools.Redis, conf, "--sentinel")
	return err
}

// NewRaft starts three redfence processes that form a cluster.
func NewRaft(ctx context.Context, dir string, tools Tools) (w *World, err error) {
	if w, err = newWorld("redfence in raft mode: three processes", dir, tools); err != nil {
		return nil, err
	}
	addrs, err := freeAddrs(9)
	if err != nil {
		return w, err
	}
	data, ports := addrs[:3], addrs[3:6]
	w.Sentinels = addrs[6:]
	for i := range data {
		if _, err := w.run(data[i], tools.Redfence, "--listen", data[i], "--http-listen", "", "--raft-listen", ports[i],
			"--bootstrap-expect", "3", "--join", strings.Join(ports, ","), "--sentinel-listen", w.Sentinels[i]); err != nil {
			return w, err
		}
	}
	return w, w.complete(ctx)
}

// NewQuorum starts three Redis servers that know nothing of each other, and two redfence processes over them.
func NewQuorum(ctx context.Context, dir string, tools Tools) (w *World, err error) {
	if w, err = newWorld("redfence in quorum mode: two processes over three Redis servers", dir, tools); err != nil {
		return nil, err
	}
	addrs, err := freeAddrs(7)
	if err != nil {
		return w, err
	}
	flags := []string{tools.Redfence, "--http-listen", ""}
	for _, addr := range addrs[:3] {
		if _, err := w.redisServer(ctx, addr); err != nil {
			return w, err
		}
		flags = append(flags, "--node", "redis://"+addr)
	}
	w.Sentinels = addrs[5:]
	for i, addr := range addrs[3:5] {
		if _, err := w.run(addr, append(flags, "--listen", addr, "--sentinel-listen", w.Sentinels[i])...); err != nil {
			return w, err
		}
	}
	return w, w.complete(ctx)
}

// complete waits until all faces name a master and know the others.
func (w *World) complete(ctx context.Context) error {
	for _, addr := range w.Sentinels {
		err := errors.Join(
			answered(ctx, addr, entries(2), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName),
			answered(ctx, addr, entries(len(w.Sentinels)-1), "SENTINEL", "SENTINELS", masterName))
		if err != nil {
			return err
		}
	}
	return nil
}
