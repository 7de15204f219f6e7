package ops

import "github.com/prometheus/client_golang/prometheus"

// StoreStats is a moment of the Raft store, as the store itself counts it.
type StoreStats struct {
	Leader       bool
	Term         uint64
	CommitIndex  uint64
	AppliedIndex uint64
	Entries      uint64 // log entries proposed by this process since its start
	Keys         uint64 // keys present, all databases
	MemoryBytes  uint64 // what --max-memory is compared with
}

// WatchStore adds the store's numbers to the metrics. snapshot is called at every scrape, from any goroutine; it
// must not wait for the log.
func (m *Metrics) WatchStore(snapshot func() StoreStats) {
	m.registry.MustRegister(&storeCollector{snapshot: snapshot, series: storeSeries()})
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
		value("log_entries_total", "Log entries proposed by this process.", prometheus.CounterValue,
			func(s StoreStats) float64 { return float64(s.Entries) }),
		value("keys", "Keys present, all databases.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.Keys) }),
		value("memory_bytes", "Size of all keys and values, as --max-memory counts it.", prometheus.GaugeValue,
			func(s StoreStats) float64 { return float64(s.MemoryBytes) }),
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
}

// Collect is part of prometheus.Collector.
func (c *storeCollector) Collect(out chan<- prometheus.Metric) {
	stats := c.snapshot()
	for _, v := range c.series {
		out <- prometheus.MustNewConstMetric(v.desc, v.kind, v.of(stats))
	}
}
