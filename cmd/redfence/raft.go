package main

import (
	"time"

	"github.com/redfence/redfence/proxy"
	"github.com/redfence/redfence/proxy/ops"
	"github.com/redfence/redfence/proxy/sentinel"
	"github.com/redfence/redfence/raftstore"
)

// raftStore keeps the locks in the replicated log of this process.
type raftStore struct{ *raftstore.Store }

var _ opener = openRaft

func openRaft(cfg Config, log *logger, events proxy.Events) (store, error) {
	security, err := memberTLS(cfg)
	if err != nil {
		return nil, err
	}
	c := storeConfig(cfg, log, events)
	c.Cluster.TLS = security
	s, err := raftstore.Open(c)
	if err != nil {
		return nil, err
	}
	return raftStore{s}, nil
}

func storeConfig(cfg Config, log *logger, sink raftstore.Sink) raftstore.Config {
	store := raftstore.DefaultConfig(cfg.DataDir)
	store.LogStore = raftstore.LogStore(cfg.LogStore)
	store.Logger = log.Logger
	store.Sink = sink
	store.NodeID = cfg.NodeID
	store.MaxMemory, store.FenceMemory = int64(cfg.MaxMemory), cfg.FenceMemory
	store.Park = cfg.Park
	store.Cluster.Listen, store.Cluster.Advertise = cfg.RaftListen, cfg.RaftAdvertise
	store.Cluster.Expect, store.Cluster.Join = cfg.BootstrapExpect, cfg.Join
	return store
}

// Open is part of proxy.Backend.
func (b raftStore) Open() proxy.Stream { return b.Store.Open() }

// Listen is part of proxy.Backend. All that happens comes out of this node's own log. A node that is behind the others first
// runs what they have acknowledged.
func (b raftStore) Listen(_ proxy.Topic, ready func(error)) { b.Barrier(ready) }

// Unlisten is part of proxy.Backend.
func (raftStore) Unlisten(proxy.Topic) {}

// Introduce is part of directory.
func (b raftStore) Introduce(card string) { b.SetCard(card) }

// settle is how long a member must have led before the Sentinel face names it, so that clients do not move for an election
// that does not last.
const settle = 2 * time.Second

// NamingRules is part of directory. A node that hears of no leader knows it within an election timeout, and then names nobody.
func (raftStore) NamingRules() sentinel.Rules { return sentinel.Rules{Settle: settle} }

// View is part of directory.
func (b raftStore) View() sentinel.View {
	lead := b.Leadership()
	v := sentinel.View{Self: b.ID(), Lead: sentinel.Lead{ID: lead.ID, Epoch: lead.Term, For: lead.For}}
	for _, p := range b.Peers() {
		v.Members = append(v.Members, sentinel.Member{ID: p.ID, Card: parseCard(p.Card), Silent: p.Silent})
	}
	return v
}

// Measure is part of store.
func (b raftStore) Measure(m *ops.Metrics) {
	m.WatchStore(func() ops.StoreStats { return storeStats(b.Stats()) })
}

func storeStats(s raftstore.Stats) ops.StoreStats {
	return ops.StoreStats{
		Leader:       s.State == "leader",
		Term:         s.Term,
		CommitIndex:  s.CommitIndex,
		AppliedIndex: s.AppliedIndex,
		Voters:       uint64(s.Voters),
		LastContact:  s.LastContact,
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
