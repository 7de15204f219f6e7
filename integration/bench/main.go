// Command bench compares the lock operations of redfence with those of redis-server, and its clusters with etcd's, side by
// side in one run: both servers sync every change to the same disk, the same clients drive them in turns, and the answers
// are checked. It measures and never judges: docs/performance.md says how to read its tables.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	rounds   int
	duration time.Duration
	warmUp   time.Duration
	clients  []int
	settings []string
	redfence string
	redis    string
	logStore string
	park     time.Duration
	nodes    int
	etcd     bool
	pass     bool
	links    []time.Duration // round trips
	fence    bool
	etcdPath string
	shared   bool // etcd's clients share connections
	dir      string
	out      string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures, prints the tables on stdout and progress on stderr, and writes the result file if one is asked for.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	plan, err := makePlan(o)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "redfence-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	result, err := compare(ctx, o, plan, dir, stderr)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, result.text())
	if o.out == "" {
		return nil
	}
	return os.WriteFile(o.out, []byte(result.markdown()), 0o644)
}

// compare starts the servers below dir and runs the plan against them.
func compare(ctx context.Context, o options, plan []setting, dir string, stderr io.Writer) (*result, error) {
	disk, err := probeSync(dir)
	if err != nil {
		return nil, err
	}
	program, err := redfenceProgram(ctx, o.redfence, dir)
	if err != nil {
		return nil, err
	}
	nodes, servers, err := contestants(ctx, o, program, dir)
	if err != nil {
		return nil, err
	}
	for _, s := range nodes {
		if err := s.launch(ctx); err != nil {
			return nil, err
		}
		defer s.stop()
	}
	for _, s := range nodes {
		if err := s.await(ctx); err != nil {
			return nil, err
		}
	}
	for _, s := range servers {
		if err := s.start(ctx); err != nil {
			return nil, err
		}
		defer s.stop()
	}
	r := &result{options: o, host: describeHost(ctx, dir, disk), servers: servers}
	before := readMachine(servers)
	if r.rows, err = measure(ctx, o, plan, servers, stderr); err != nil {
		return nil, err
	}
	r.machine = readMachine(servers).since(before)
	return r, nil
}

// contestants are the servers that are compared, and those that they work by.
func contestants(ctx context.Context, o options, program, dir string) (nodes, servers []*server, err error) {
	if o.etcd {
		return clusters(ctx, o, program, dir)
	}
	switch {
	case o.pass:
		return passing(ctx, o, program, dir)
	case o.fence:
		return fencing(ctx, o, program, dir)
	}
	if o.nodes == 0 {
		return nil, []*server{redisServer(o.redis, dir), redfenceServer(program, o, dir)}, nil
	}
	for i := range o.nodes {
		nodes = append(nodes, nodeServer(o.redis, dir, i))
	}
	return nodes, []*server{redsyncSide(nodes), quorumServer(program, dir, nodes)}, nil
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	var clients, settings, links string
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&o.rounds, "rounds", 5, "rounds of each setting; every round measures all servers")
	fs.DurationVar(&o.duration, "duration", 2500*time.Millisecond, "time measured per server, setting and round")
	fs.DurationVar(&o.warmUp, "warmup", 300*time.Millisecond, "time before that which is not counted")
	fs.IntVar(&o.nodes, "nodes", 0, "compare quorum mode over so many redis-servers with redsync that talks to them itself; 0: raft mode with redis-server")
	fs.BoolVar(&o.etcd, "etcd", false, "compare a cluster of three members with one of three etcd servers")
	fs.BoolVar(&o.pass, "pass", false, "compare a redis-server with the same behind redfence (--upstream), and behind a program that only copies bytes")
	fs.StringVar(&links, "link", "", "with -pass: also over networks that take so long for a round trip, such as 100us,500us")
	fs.BoolVar(&o.fence, "fence", false, "compare redfence, asked for the fencing token of each grant, with a build of it that makes none; with -nodes in quorum mode")
	fs.BoolVar(&o.shared, "etcd-shared", false, "let etcd's clients share one connection to each member; redfence's have one each in any case")
	fs.StringVar(&o.etcdPath, "etcd-server", "", "etcd program; built from this module when not given")
	fs.StringVar(&clients, "clients", "1,16,64,256", "numbers of clients in the lock setting")
	fs.StringVar(&settings, "settings", "", "what to measure; all that fit -nodes and -etcd when not given")
	fs.StringVar(&o.redfence, "redfence", "", "redfence program; built from this repository when not given")
	fs.StringVar(&o.redis, "redis", "redis-server", "redis-server program")
	fs.StringVar(&o.logStore, "log-store", "wal", "redfence's log store: wal or bolt")
	fs.DurationVar(&o.park, "park", 0, "redfence's --park")
	fs.StringVar(&o.dir, "dir", "", "where the servers keep their data while they run; the system's temporary directory when not given")
	fs.StringVar(&o.out, "out", "", "markdown file to write the result to, or a directory for bench-<date>.md")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 || o.rounds < 1 || o.duration <= 0 || exclusive(o.nodes > 0, o.etcd, o.pass) || exclusive(o.fence, o.etcd, o.pass) {
		return o, fmt.Errorf("usage: bench [flags]; -rounds and -duration are positive, -nodes, -etcd and -pass exclude each other, and so do -etcd, -pass and -fence")
	}
	if settings == "" {
		settings = "lock,contended,read,redisson"
		switch {
		case o.fence:
			settings = "fence"
		case o.nodes > 0:
			settings = "redlock,redlock-contended,redlock-paused"
		case o.pass:
			settings = "pass"
		case o.etcd:
			settings = "mutex,mutex-contended,txn"
		}
	}
	o.settings = strings.Split(settings, ",")
	for word := range strings.SplitSeq(clients, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > maxClients {
			return o, fmt.Errorf("-clients: %q is no number from 1 to %d", word, maxClients)
		}
		o.clients = append(o.clients, n)
	}
	o.out = resultFile(o.out)
	var err error
	if o.links, err = parseLinks(links); err == nil && len(o.links) > 0 && !o.pass {
		err = errors.New("-link is for -pass")
	}
	return o, err
}

// exclusive tells whether more than one of some flags is given.
func exclusive(flags ...bool) bool {
	n := 0
	for _, given := range flags {
		if given {
			n++
		}
	}
	return n > 1
}

// resultFile names the file in a directory after the day.
func resultFile(path string) string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return path
	}
	return filepath.Join(path, "bench-"+time.Now().UTC().Format(time.DateOnly)+".md")
}
