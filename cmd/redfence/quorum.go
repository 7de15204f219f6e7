package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy"
	"github.com/redfence/redfence/proxy/ops"
	"github.com/redfence/redfence/proxy/sentinel"
	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/bus"
	"github.com/redfence/redfence/quorum/envelope"
	redisnode "github.com/redfence/redfence/quorum/node"
	"github.com/redfence/redfence/quorum/roster"
	"github.com/redfence/redfence/raftstore"
)

// quorumStore keeps the locks on a majority of Redis nodes.
type quorumStore struct {
	*quorum.Engine
	*bus.Bus
	nodes     []*redisnode.Node
	admission *quorum.Admission
	roster    *roster.Roster // nil without addresses that answer as Sentinels
	name      string
	log       *logger
}

var _ opener = openQuorum

func openQuorum(cfg Config, log *logger, events proxy.Events) (_ store, err error) {
	logging.Disable() // the go-redis library writes to standard error; what matters is logged here
	name, wall := rand.Uint64(), raftstore.DefaultConfig("").Wall
	s := &quorumStore{log: log, name: strconv.FormatUint(name, 36)}
	clock := steadyClock{time.Now()}
	members, voters := make([]quorum.Member, len(cfg.Nodes)), make([]quorum.Node, len(cfg.Nodes))
	for i, url := range cfg.Nodes {
		n, err := redisnode.Open(redisnode.Options{Proxy: s.name, URL: url, Clock: clock, Logger: log.Logger})
		if err != nil {
			s.closeNodes()
			return nil, fmt.Errorf("--node number %d: %w", i+1, err)
		}
		s.nodes = append(s.nodes, n)
		members[i], voters[i] = n, n
	}
	if s.Bus, err = openBus(cfg, log, events, envelope.Sender(name)); err != nil {
		s.closeNodes()
		return nil, err
	}
	s.admission = quorum.NewAdmission(quorum.AdmissionConfig{
		Members: members, Clock: clock, Logger: log.Logger, MaxLockTTL: cfg.MaxLockTTL, Timeout: cfg.NodeTimeout, Wall: wall,
	})
	if len(cfg.SentinelListen) > 0 {
		s.roster = roster.Open(roster.Config{Nodes: nodeOptions(cfg), ID: s.name, Logger: log.Logger})
	}
	s.Engine = quorum.New(quorum.Config{
		Nodes: voters, Clock: clock, ID: s.name, Wall: wall, Random: rand.Int64N,
		Timeout: cfg.NodeTimeout, FenceMemory: cfg.FenceMemory, Sink: quorumSink{events, s.Bus}, MaxTTL: s.admission.MaxTTL,
	})
	return s, nil
}

func openBus(cfg Config, log *logger, events proxy.Events, name envelope.Sender) (*bus.Bus, error) {
	nodes := make([]bus.Node, len(cfg.Nodes))
	for i, url := range cfg.Nodes {
		o, err := redis.ParseURL(url)
		if err != nil { // it may hold a password
			return nil, fmt.Errorf("--node number %d is not a Redis URL", i+1)
		}
		nodes[i] = bus.Node{Name: o.Addr, Options: *o}
	}
	return bus.Open(bus.Config{Nodes: nodes, Sink: events, Sender: name, Logger: log.Logger}), nil
}

// Open is part of proxy.Backend.
func (s *quorumStore) Open() proxy.Stream { return s.Engine.Open() }

// Ready is part of proxy.Backend.
func (s *quorumStore) Ready(ctx context.Context) error { return s.admission.Ready(ctx) }

// waitReport is how often a process that waits for its nodes says so.
const waitReport = 5 * time.Second

// Wait is part of store.
func (s *quorumStore) Wait(ctx context.Context) error {
	for {
		round, cancel := context.WithTimeout(ctx, waitReport)
		err := s.admission.Ready(round)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		s.log.Warn("waiting for a majority of the nodes", "error", err)
	}
}

// Close is part of store.
func (s *quorumStore) Close() error {
	if s.roster != nil {
		s.roster.Close()
	}
	s.Bus.Close()
	s.admission.Close()
	s.closeNodes()
	return nil
}

func (s *quorumStore) closeNodes() {
	for _, n := range s.nodes {
		n.Close()
	}
}

// Info is part of proxy.Backend: one line for each node, then what became of requests.
func (s *quorumStore) Info() []proxy.InfoSection {
	report, st := s.admission.Report(), s.Stats()
	counted := 0
	var nodes []string
	for i, n := range report {
		if n.Standing == quorum.Counted {
			counted++
		}
		nodes = append(nodes, fmt.Sprintf("quorum_node_%d:%s", i+1, nodeLine(n)))
	}
	lines := slices.Concat([]string{
		fmt.Sprintf("quorum_nodes:%d", len(report)),
		fmt.Sprintf("quorum_majority:%d", len(report)/2+1),
		fmt.Sprintf("quorum_counted:%d", counted),
	}, nodes, []string{
		fmt.Sprintf("quorum_won:%d", st.Won),
		fmt.Sprintf("quorum_lost:%d", st.Lost),
		fmt.Sprintf("quorum_retried:%d", st.Retried),
		fmt.Sprintf("quorum_undone:%d", st.Undone),
		fmt.Sprintf("quorum_copied:%d", st.Copied),
		fmt.Sprintf("quorum_unknown:%d", st.Unknown),
		fmt.Sprintf("quorum_too_late:%d", st.TooLate),
		fmt.Sprintf("quorum_publications_lost:%d", s.Lost()),
	})
	return []proxy.InfoSection{{Name: "Quorum", Lines: lines}}
}

// nodeLine tells of a node in the manner of the lines of INFO replication: fields with commas between them. The reason,
// which may hold any character, is the last.
func nodeLine(n quorum.NodeReport) string {
	return fmt.Sprintf("addr=%s,state=%s,keys=%d,latency_us=%d,clock_offset_ms=%d,version=%s,run_id=%s,reason=%s",
		n.Name, n.Standing, n.Keys, n.Latency.Microseconds(), n.Offset.Milliseconds(), n.Version, n.RunID, n.Reason)
}

// standings are those that metrics tell apart.
func standings() []string {
	return []string{quorum.Counted.String(), quorum.Quarantined.String(), quorum.Down.String(), quorum.Refused.String()}
}

// Resign is part of store. Every proxy can do what this one does, but one is named to clients.
func (s *quorumStore) Resign() {
	if s.roster != nil {
		s.roster.Leave()
	}
}

// Introduce is part of directory.
func (s *quorumStore) Introduce(card string) {
	if s.roster != nil {
		s.roster.SetCard(card)
	}
}

// keepName is for how long a proxy stays named when the nodes do not tell who is to be.
const keepName = 30 * time.Second

// NamingRules is part of directory.
func (*quorumStore) NamingRules() sentinel.Rules { return sentinel.Rules{Keep: keepName} }

// View is part of directory.
func (s *quorumStore) View() sentinel.View {
	lead, since := s.roster.Leader()
	v := sentinel.View{Self: s.name, Lead: sentinel.Lead{ID: lead, For: since}}
	for _, p := range s.roster.Peers() {
		v.Members = append(v.Members, sentinel.Member{ID: p.ID, Card: parseCard(p.Card), Silent: p.Silent})
	}
	return v
}

// nodeOptions are how to connect to the nodes. Their URLs are good: the nodes were opened with them.
func nodeOptions(cfg Config) (list []redis.Options) {
	for _, url := range cfg.Nodes {
		if o, err := redis.ParseURL(url); err == nil {
			list = append(list, *o)
		}
	}
	return list
}

// Failed is part of store. Nodes that are lost may come back.
func (*quorumStore) Failed() <-chan error { return nil }

// Measure is part of store.
func (s *quorumStore) Measure(m *ops.Metrics) {
	m.WatchQuorum(standings(), func() ops.QuorumStats {
		st := s.Stats()
		stats := ops.QuorumStats{
			Won: st.Won, Lost: st.Lost, TooLate: st.TooLate, Unknown: st.Unknown, Retried: st.Retried, Undone: st.Undone,
			Copied: st.Copied, Unpublished: uint64(s.Lost()),
		}
		for _, n := range s.admission.Report() {
			stats.Nodes = append(stats.Nodes, ops.NodeStats{Name: n.Name, Standing: n.Standing.String(), Latency: n.Latency})
		}
		return stats
	})
}

// quorumSink is where the engine's events go: over the bus when those who wait for them may be at another proxy.
type quorumSink struct {
	proxy.Events
	bus *bus.Bus
}

var _ quorum.Sink = quorumSink{}

func (s quorumSink) Publish(m commands.Message) int { return s.bus.Publish(m) }
func (s quorumSink) Ready(db int, key string)       { s.bus.Ready(db, key) }
func (s quorumSink) ReadyAll(db int)                { s.bus.ReadyAll(db) }

// steadyClock is the monotonic clock of this process.
type steadyClock struct{ began time.Time }

func (c steadyClock) Now() time.Duration { return time.Since(c.began) }

func (steadyClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}
