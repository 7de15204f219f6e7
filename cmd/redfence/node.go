package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy"
	"github.com/redfence/redfence/proxy/ops"
)

// store is what keeps the locks, behind the front end: all that differs by mode.
type store interface {
	proxy.Backend
	directory
	// Wait returns when calls can be served for the first time, or when ctx ends, with an error then.
	Wait(ctx context.Context) error
	// Measure adds the store's numbers to the metrics.
	Measure(m *ops.Metrics)
	// Resign hands over what only one member can do, before this one stops.
	Resign()
	// Failed gives the reason when the store cannot go on and the process should end; nil for one that always can.
	Failed() <-chan error
	Close() error
}

// opener opens the store of a mode. What happens in it goes to events.
type opener func(cfg Config, log *logger, events proxy.Events) (store, error)

// openers are the modes that can be served.
func openers() map[string]opener {
	return map[string]opener{modeRaft: openRaft, modeQuorum: openQuorum}
}

// node is the running process: a store, the front end before it, and HTTP beside it.
type node struct {
	cfg          Config
	log          *logger
	store        store
	pass         passThrough
	front        *proxy.Server
	faces        *faces
	listener     net.Listener
	http         *ops.Server // nil when turned off, and then its listener too
	httpListener net.Listener
}

// openNode opens the data directory first, so that a second process on it is told that and not of a taken port.
func openNode(cfg Config, log *logger) (_ *node, err error) {
	security, err := serverTLS(cfg)
	if err != nil {
		return nil, err
	}
	warnOfFewDescriptors(log.Logger, descriptorLimit(), cfg.MaxClients)
	n := &node{cfg: cfg, log: log}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	events := proxy.NewEvents()
	if n.store, err = openers()[cfg.Mode](cfg, log, events); err != nil {
		return nil, err
	}
	lost := func(topics []proxy.Topic) { n.front.CutListeners(topics) } // sessions listen, so the front end is there
	if n.pass, err = openUpstream(cfg, log, events, lost); err != nil {
		return nil, err
	}
	if n.listener, err = listen("listen", cfg.Listen); err != nil {
		return nil, err
	}
	metrics := ops.NewMetrics(version(), commandNames())
	front := proxy.Config{
		Backend: n.store, Hub: events.Hub, Wait: events.Registry, Tracking: events.Table, Logger: log.Logger,
		Metrics: metrics, Asleep: cfg.NoWakeups,
		Upstream: n.pass.front(), Rules: n.pass.rules,
		Password: cfg.Password, TLS: security, Version: version(), Limits: limits(cfg),
	}
	if cfg.ReplicaRoles {
		front.Master = func() (string, bool) { return n.faces.shared.Master() }
	}
	n.front = proxy.New(front)
	if n.faces, err = openFaces(cfg, front, n.listener.Addr(), n.store); err != nil {
		return nil, err
	}
	if cfg.HTTPListen == "" {
		return n, nil
	}
	if n.httpListener, err = listen("http-listen", cfg.HTTPListen); err != nil {
		return nil, err
	}
	n.store.Measure(metrics)
	n.http = ops.NewServer(metrics, n.store)
	return n, nil
}

// close gives back what openNode took; the servers have ended before.
func (n *node) close() {
	for _, l := range []net.Listener{n.listener, n.httpListener} {
		if l == nil {
			continue
		}
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			n.log.Warn("closing a listener", "error", err)
		}
	}
	if n.faces != nil {
		n.faces.close()
	}
	n.pass.close()
	if n.store == nil {
		return
	}
	n.closeStore()
}

// closeStore does not wait for a disk that hangs for ever: the process must end.
func (n *node) closeStore() {
	done := make(chan error, 1)
	go func() { done <- n.store.Close() }()
	limit := time.NewTimer(closeTimeout)
	defer limit.Stop()
	select {
	case err := <-done:
		if err != nil {
			n.log.Error("closing the store", "error", err)
		}
	case <-limit.C:
		n.log.Error("the store does not close; what was acknowledged is on disk", "after", closeTimeout)
	}
}

// listen opens an address. One that is IPv4 is not also opened for IPv6, as Go would do with 0.0.0.0.
func listen(flag, address string) (net.Listener, error) {
	network := "tcp"
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Is4() {
		network = "tcp4"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w; stop what uses it or choose another address", flag, err)
	}
	return l, nil
}

func limits(cfg Config) proxy.Limits {
	return proxy.Limits{
		MaxClients:  cfg.MaxClients,
		MaxBulk:     int(cfg.MaxBulk),
		MaxArgs:     cfg.MaxArgs,
		MaxPipeline: cfg.MaxPipeline,
		MaxOutput:   int(cfg.MaxOutput),
		MaxInput:    int(cfg.MaxInput),
	}
}

func commandNames() []string {
	rows := commands.All()
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Name
	}
	return names
}
