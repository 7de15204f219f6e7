package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy"
	"github.com/redfence/redfence/proxy/ops"
	"github.com/redfence/redfence/raftstore"
)

// node is the running process: a store, the front end before it, and HTTP beside it.
type node struct {
	cfg          Config
	log          *logger
	store        *raftstore.Store
	front        *proxy.Server
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
	if n.store, err = raftstore.Open(storeConfig(cfg, log, events)); err != nil {
		return nil, err
	}
	if n.listener, err = listen("listen", cfg.Listen); err != nil {
		return nil, err
	}
	metrics := ops.NewMetrics(version(), commandNames())
	n.front = proxy.New(proxy.Config{
		Backend: raftBackend{n.store}, Hub: events.Hub, Wait: events.Registry, Tracking: events.Table, Logger: log.Logger,
		Metrics:  metrics,
		Password: cfg.Password, TLS: security, Version: version(), Limits: limits(cfg),
	})
	if cfg.HTTPListen == "" {
		return n, nil
	}
	if n.httpListener, err = listen("http-listen", cfg.HTTPListen); err != nil {
		return nil, err
	}
	metrics.WatchStore(func() ops.StoreStats { return storeStats(n.store.Stats()) })
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
	if n.store == nil {
		return
	}
	if err := n.store.Close(); err != nil {
		n.log.Error("closing the store", "error", err)
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

func storeConfig(cfg Config, log *logger, sink raftstore.Sink) raftstore.Config {
	store := raftstore.DefaultConfig(cfg.DataDir)
	store.LogStore = raftstore.LogStore(cfg.LogStore)
	store.Logger = log.Logger
	store.Sink = sink
	store.NodeID = cfg.NodeID
	store.MaxMemory = int64(cfg.MaxMemory)
	return store
}

func limits(cfg Config) proxy.Limits {
	return proxy.Limits{
		MaxClients:  cfg.MaxClients,
		MaxBulk:     int(cfg.MaxBulk),
		MaxArgs:     cfg.MaxArgs,
		MaxPipeline: cfg.MaxPipeline,
		MaxOutput:   int(cfg.MaxOutput),
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

// raftBackend is the store as the front end sees it.
type raftBackend struct{ *raftstore.Store }

// Open is part of proxy.Backend.
func (b raftBackend) Open() proxy.Stream { return b.Store.Open() }

// Listen is part of proxy.Backend. All that happens comes out of this node's own log, so nothing is to be done.
func (raftBackend) Listen(_ proxy.Topic, ready func(error)) { ready(nil) }

// Unlisten is part of proxy.Backend.
func (raftBackend) Unlisten(proxy.Topic) {}

func storeStats(s raftstore.Stats) ops.StoreStats {
	return ops.StoreStats{
		Leader:       s.State == "leader",
		Term:         s.Term,
		CommitIndex:  s.CommitIndex,
		AppliedIndex: s.AppliedIndex,
		Entries:      uint64(s.Entries),
		Calls:        uint64(s.Calls),
		WithoutLog:   uint64(s.Tried),
		Keys:         uint64(s.Keys),
		Memory:       uint64(s.Memory),
		MaxMemory:    uint64(s.MaxMemory),
		Locks: ops.LockStats{
			Granted: uint64(s.Locks.Granted), Contended: uint64(s.Locks.Contended), Failed: uint64(s.Locks.Failed),
			Hold: histogram(s.Locks.Hold), Wait: histogram(s.Locks.Wait),
		},
	}
}

func histogram(h raftstore.Histogram) ops.Histogram {
	counts := make([]uint64, len(h.Counts))
	for i, n := range h.Counts {
		counts[i] = uint64(n)
	}
	return ops.Histogram{Counts: counts, Sum: time.Duration(h.SumMs) * time.Millisecond}
}
