package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"
)

// nodesKey is where a script keeps its Redis servers.
type nodesKey struct{}

// startNodes runs redis-servers, in the background, until the script ends, and sets $NODE1 and so on to their URLs.
func startNodes(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: nodes NUMBER")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	nodes := ts.Value(nodesKey{}).(map[int]*exec.Cmd)
	for i := range n {
		cmd, addr, err := startNode(ts.MkAbs("."))
		ts.Check(err)
		ts.Defer(func() { stop(cmd) })
		ts.Setenv("NODE"+strconv.Itoa(i+1), "redis://"+addr)
		nodes[i+1] = cmd
	}
}

// errOther is that another process answers at the address of a server, which was taken before the server listened.
var errOther = errors.New("another process answers")

// startNode starts a redis-server and waits until it answers; another port is tried when the first one was taken meanwhile.
func startNode(dir string) (*exec.Cmd, string, error) {
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, "", err
		}
		addr := l.Addr().String()
		_, port, _ := net.SplitHostPort(addr)
		_ = l.Close() // the server needs it
		cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no")
		cmd.Dir = dir
		if err := cmd.Start(); err != nil {
			return nil, "", err
		}
		err = answers(addr, cmd.Process.Pid)
		if err == nil {
			return cmd, addr, nil
		}
		stop(cmd)
		if !errors.Is(err, errOther) {
			return nil, "", err
		}
	}
}

func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
}

// answers waits until a Redis server answers, which must be that process.
func answers(addr string, pid int) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := client.Info(ctx, "server").Result()
		switch {
		case err == nil && strings.Contains(info, fmt.Sprintf("process_id:%d\r", pid)):
			return nil
		case err == nil:
			return errOther
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no redis-server at %s: %w", addr, ctx.Err())
		case <-tick.C:
		}
	}
}

// killNode ends one of the servers, by its number.
func killNode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: killnode NUMBER")
	}
	i, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(ts.Value(nodesKey{}).(map[int]*exec.Cmd)[i].Process.Kill())
}
