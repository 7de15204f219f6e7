package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
)

// passing compares a redis-server that clients talk to themselves with the same server behind redfence, and behind a
// program that only copies: what that costs no proxy can save.
func passing(ctx context.Context, o options, program, dir string) (nodes, servers []*server, err error) {
	copier := filepath.Join(dir, "copier-program")
	if err := goBuild(ctx, copier, ".", "./copier"); err != nil {
		return nil, nil, err
	}
	node := nodeServer(o.redis, dir, 0)
	nodes = []*server{node}
	direct := &server{name: "redis-server", about: "asked directly", behind: nodes, version: node.version}
	copied := &server{
		name: "copied", about: "a program that does nothing but copy bytes between two sockets, in front of the same redis-server",
		dir: filepath.Join(dir, "copier"), behind: nodes,
		version: []string{"go", "version"}, ready: regexp.MustCompile(`copier ready listen=(\S+)`),
	}
	copied.late = func() []string { return []string{copier, node.addr} }
	through := &server{
		name: "redfence", about: "in front of the same redis-server; processor time of all is with that one's",
		dir: filepath.Join(dir, "redfence"), behind: nodes,
		version: []string{program, "version"}, ready: regexp.MustCompile(`redfence ready listen=(\S+)`),
	}
	through.late = func() []string {
		return []string{
			program, "--listen", "127.0.0.1:0", "--http-listen", "", "--data-dir", "data", "--log-level", "warn",
			"--upstream", "redis://" + node.addr, "--lock-keys", "lock:*",
		}
	}
	servers = []*server{direct, through, copied}
	return nodes, servers, linkAll(ctx, o.links, servers, dir)
}

// passSettings are those without a network between clients and server, and then with each.
func passSettings(o options) []setting {
	plan := forAll(o.clients, passSetting)
	for i, roundTrip := range o.links {
		for _, s := range forAll(o.clients, passSetting) {
			s.name, s.link = fmt.Sprintf("pass, link of %v", roundTrip), i+1
			plan = append(plan, s)
		}
	}
	return plan
}

// passSetting reads a key that is no lock.
func passSetting(clients int) setting {
	const key, value = "bench:passed", "a value of some twenty bytes"
	set, get := encode("SET", key, value), encode("GET", key)
	return setting{
		name: "pass", clients: clients,
		about:  fmt.Sprintf("every client asks for a key that is no lock: GET of %d bytes", len(value)),
		ops:    []op{{"GET", true}},
		before: func(c *conn) error { return c.must(set.wire, wantOK) },
		after:  func(c *conn) error { return c.must(encode("DEL", key).wire, wantOne) },
		enlist: func(c *client) cycle {
			return func() error { return c.timed(0, get.wire, want{'$', value}) }
		},
	}
}
