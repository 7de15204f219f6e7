package ops

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// StoreStats is a moment of the Raft store, as the store itself counts it.
type StoreStats struct {
	Leader       bool
	Term         uint64
	CommitIndex  uint64
	AppliedIndex uint64
	Voters       uint64        // members with a vote
	LastContact  time.Duration // since this node has heard of its leader; 0 when it leads, negative when never
	Entries      uint64        // log entries that this process has applied
	Calls        uint64        // calls in those entries
	WithoutLog   uint64        // calls answered without the log: reads, and attempts that changed nothing
	Keys         uint64        // keys present, all databases
	Memory       uint64        // size of the state in bytes
	MaxMemory    uint64        // the size over which it may not grow, 0 for none
	Locks        LockStats
}

// LockStats are counts of locks since the start.
type LockStats struct {
	Granted, Contended, Failed uint64
	Hold, Wait                 Histogram
}

// Histogram is a distribution of times: Counts of those up to 1 ms, up to 2 ms, up to 4 ms and so on, and last of all
// longer ones.
type Histogram struct {
	Counts []uint64
	Sum    time.Duration
}

// buckets are the counts in the form of Prometheus: of all times up to each bound, which is in seconds.
func (h Histogram) buckets() (total uint64, upTo map[float64]uint64) {
	upTo = make(map[float64]uint64, len(h.Counts))
	for i, n := range h.Counts {
		total += n
		if i < len(h.Counts)-1 {
			upTo[float64(uint64(1)<<i)/1000] = total
		}
	}
	return total, upTo
}

// WatchStore adds the store's numbers to the metrics. snapshot is called at every scrape, from any goroutine; it
// must not wait for the log.
func (m *Metrics) WatchStore(snapshot func() StoreStats) {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, nil)
	}
	m.registry.MustRegister(&storeCollector{
		snapshot: snapshot, series: storeSeries(),
		batches: desc("batch_size", "Calls in one log entry (group commit)."),
		hold:    desc("lock_hold_seconds", "Time from the grant of a lock to its end, by release or by expiry."),
		wait:    desc("lock_wait_seconds", "Time from the first refused SET NX to the grant, of attempts that repeat."),
	})
}

type storeValue struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(StoreStats) float64
}

// storeCollector turns one snapshot into values that belong together, at each scrape.
type storeCollector struct {
	snapshot func() StoreStats
	series   []storeValue
	batches  *prometheus.Desc // a summary without quantiles: the sum of calls and the count of entries
	hold     *prometheus.Desc
	wait     *prometheus.Desc
}

func storeSeries() []storeValue {
	value := func(name, help string, kind prometheus.ValueType, of func(StoreStats) float64) storeValue {
		return storeValue{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, nil), kind, of}
	}
	return []storeValue{
		value("raft_leader", "1 when this node leads, else 0.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return oneIf(s.Leader) }),
		value("raft_term", "Raft term of this node.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.Term) }),
		value("raft_commit_index", "Index of the last committed log entry.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.CommitIndex) }),
		value("raft_applied_index", "Index of the last log entry in the state machine.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.AppliedIndex) }),
		value("raft_voters", "Members with a vote, as far as this node knows.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.Voters) }),
		value("raft_last_contact_seconds", "Time since this node has heard of its leader; 0 on the leader, -0.001 when never.",
			prometheus.GaugeValue, func(s StoreStats) float64 { return s.LastContact.Seconds() }),
		value("log_entries_total", "Log entries that this process has applied.", prometheus.CounterValue,
			func(s StoreStats) float64 { return float64(s.Entries) }),
		value("keys", "Keys present, all databases.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.Keys) }),
		value("memory_bytes", "Size of all keys and values, as --max-memory counts it.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.Memory) }),
		value("memory_limit_bytes", "Size over which growth is refused, 0 for none.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.MaxMemory) }),
		value("locks_granted_total", "Locks granted: keys with a TTL that came into being or got another value.",
			prometheus.CounterValue, func(s StoreStats) float64 { return float64(s.Locks.Granted) }),
		value("locks_contended_total", "Attempts to set an absent key that found it present.",
			prometheus.CounterValue, func(s StoreStats) float64 { return float64(s.Locks.Contended) }),
		value("locks_failed_total", "SETs with NX that were answered with an error.",
			prometheus.CounterValue, func(s StoreStats) float64 { return float64(s.Locks.Failed) }),
		value("answered_without_log_total", "Calls answered without the log: reads, and attempts that changed nothing.",
			prometheus.CounterValue, func(s StoreStats) float64 { return float64(s.WithoutLog) }),
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe is part of prometheus.Collector.
func (c *storeCollector) Describe(out chan<- *prometheus.Desc) {
	for _, v := range c.series {
		out <- v.desc
	}
	out <- c.batches
	out <- c.hold
	out <- c.wait
}

// Collect is part of prometheus.Collector.
func (c *storeCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.snapshot()
	for _, v := range c.series {
		out <- prometheus.MustNewConstMetric(v.desc, v.kind, v.of(stats))
	}
	out <- prometheus.MustNewConstSummary(c.batches, stats.Entries, float64(stats.Calls), nil)
	for desc, h := range map[*prometheus.Desc]Histogram{c.hold: stats.Locks.Hold, c.wait: stats.Locks.Wait} {
		total, upTo := h.buckets()
		out <- prometheus.MustNewConstHistogram(desc, total, h.Sum.Seconds(), upTo)
	}
}
