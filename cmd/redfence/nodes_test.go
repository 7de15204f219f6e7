package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
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
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		addr := l.Addr().(*net.TCPAddr)
		ts.Check(l.Close())
		cmd := exec.Command("redis-server", "--bind", "127.0.0.1", "--port", strconv.Itoa(addr.Port), "--save", "", "--appendonly", "no")
		cmd.Dir = ts.MkAbs(".")
		ts.Check(cmd.Start())
		ts.Defer(func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		})
		ts.Setenv("NODE"+strconv.Itoa(i+1), "redis://"+addr.String())
		ts.Check(answers(addr.String()))
		nodes[i+1] = cmd
	}
}

// answers waits until a Redis server answers.
func answers(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for client.Ping(ctx).Err() != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("no redis-server at %s: %w", addr, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
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
