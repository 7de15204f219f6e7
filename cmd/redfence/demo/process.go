package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Tools are the programs that are run.
type Tools struct {
	Redis    string // redis-server
	Redfence string
}

// patience is how long anything may take that takes a second or two on an idle machine.
const patience = 60 * time.Second

// process is a server that was started.
type process struct {
	addr string // host:port at which it answers
	cmd  *exec.Cmd
	log  string // file with what it prints
}

// start runs a server in a new directory below dir.
func start(dir, addr string, argv ...string) (*process, error) {
	home := filepath.Join(dir, strings.ReplaceAll(addr, ":", "-"))
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	p := &process{addr: addr, cmd: exec.Command(argv[0], argv[1:]...), log: filepath.Join(home, "log")}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = home, log, log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	return p, nil
}

// kill ends the process as a power failure would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

func dial(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, DialTimeout: time.Second, ReadTimeout: time.Second, MaxRetries: -1})
}

// do runs a command on the server of an address.
func do(ctx context.Context, addr string, args ...any) (any, error) {
	c := dial(addr)
	defer func() { _ = c.Close() }()
	return c.Do(ctx, args...).Result()
}

// until tries again and again until there is no error, or patience ends.
func until(ctx context.Context, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, errors.Join(err, ctx.Err()))
		case <-tick.C:
		}
	}
}

// freeAddrs finds addresses on loopback on which nothing listens.
func freeAddrs(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		addrs[i] = l.Addr().String()
	}
	return addrs, nil
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
