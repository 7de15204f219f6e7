package ops

import "github.com/prometheus/client_golang/prometheus"

// StoreStats is a moment of the Raft store, as the store itself counts it.
type StoreStats struct {
	Leader       bool
	Term         uint64
	CommitIndex  uint64
	AppliedIndex uint64
	Entries      uint64 // log entries that this process has applied
	Calls        uint64 // calls in those entries
	WithoutLog   uint64 // calls answered without the log: reads, and attempts that changed nothing
	Keys         uint64 // keys present, all databases
	Memory       uint64 // size of the state in bytes
	MaxMemory    uint64 // the size over which it may not grow, 0 for none
}

// WatchStore adds the store's numbers to the metrics. snapshot is called at every scrape, from any goroutine; it
// must not wait for the log.
func (m *Metrics) WatchStore(snapshot func() StoreStats) {
	m.registry.MustRegister(&storeCollector{snapshot: snapshot, series: storeSeries(), batches: prometheus.NewDesc(
		prometheus.BuildFQName(namespace, "", "batch_size"), "Calls in one log entry (group commit).", nil, nil)})
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
		value("log_entries_total", "Log entries that this process has applied.", prometheus.CounterValue,
			func(s StoreStats) float64 { return float64(s.Entries) }),
		value("keys", "Keys present, all databases.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.Keys) }),
		value("memory_bytes", "Size of all keys and values, as --max-memory counts it.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.Memory) }),
		value("memory_limit_bytes", "Size over which growth is refused, 0 for none.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.MaxMemory) }),
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
}

// Collect is part of prometheus.Collector.
func (c *storeCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.snapshot()
	for _, v := range c.series {
		out <- prometheus.MustNewConstMetric(v.desc, v.kind, v.of(stats))
	}
	out <- prometheus.MustNewConstSummary(c.batches, stats.Entries, float64(stats.Calls), nil)
}
