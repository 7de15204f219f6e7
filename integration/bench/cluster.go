package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// clusterSize is how many members the clusters have that are compared.
const clusterSize = 3

// clusters are a cluster of etcd and one of redfence.
func clusters(ctx context.Context, o options, program, dir string) (nodes, servers []*server, err error) {
	etcd, err := etcdProgram(ctx, o.etcdPath, dir)
	if err != nil {
		return nil, nil, err
	}
	theirs, errTheirs := etcdMembers(etcd, dir, clusterSize)
	ours, errOurs := members(program, o, dir, clusterSize)
	side := &server{
		name: "redfence", about: fmt.Sprintf("raft, %d members, clients on all of them, log store %s, park %v", clusterSize, o.logStore, o.park),
		behind: ours, version: []string{program, "version"},
	}
	return append(theirs, ours...), []*server{etcdSide(etcd, theirs, o.shared), side}, errors.Join(errTheirs, errOurs)
}

// members is a cluster of redfence.
func members(program string, o options, dir string, n int) (list []*server, err error) {
	ports, err := freeAddrs(n)
	if err != nil {
		return nil, err
	}
	for i, port := range ports {
		name := "node" + strconv.Itoa(i+1)
		list = append(list, &server{
			name: name, dir: filepath.Join(dir, "redfence-"+name), ready: regexp.MustCompile(`redfence ready listen=(\S+)`),
			argv: []string{
				program, "--listen", "127.0.0.1:0", "--http-listen", "", "--data-dir", "data", "--log-store", o.logStore,
				"--log-level", "warn", "--node-id", name, "--raft-listen", port, "--join", strings.Join(ports, ","),
				"--bootstrap-expect", strconv.Itoa(n), "--park", o.park.String(),
			},
		})
	}
	return list, nil
}

// freeAddrs finds different loopback ports that were free a moment ago.
func freeAddrs(n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}
