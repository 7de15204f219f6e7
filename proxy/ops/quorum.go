package ops

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// QuorumStats is a moment of quorum mode: its nodes, and what became of requests since the start.
type QuorumStats struct {
	Nodes []NodeStats

	Won     uint64 // requests that a majority agreed on
	Lost    uint64 // attempts that it did not agree on
	TooLate uint64 // attempts that were won after their lease had gone by
	Unknown uint64 // requests whose outcome nobody knows
	Retried uint64 // attempts after the first of their request
	Undone  uint64 // writes that were put back on a node
	Copied  uint64 // keys that were carried over to a node that lagged behind

	Unpublished uint64 // publications that no majority took
}

// NodeStats is a moment of one upstream node.
type NodeStats struct {
	Name     string // without credentials
	Standing string // one of the standings given to WatchQuorum
	Latency  time.Duration
}

// WatchQuorum adds the numbers of quorum mode to the metrics. standings are all values that a node's may have. snapshot
// is called at every scrape, from any goroutine; it must not wait for a node.
func (m *Metrics) WatchQuorum(standings []string, snapshot func() QuorumStats) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "quorum", name), help, labels, nil)
	}
	m.registry.MustRegister(&quorumCollector{
		standings: standings, snapshot: snapshot,
		standing: desc("node_standing", "1 for what the node's answers are worth now, 0 for what they are not.", "node", "standing"),
		latency:  desc("node_latency_seconds", "Time of a small command to the node and back.", "node"),
		votes:    desc("votes_total", "Votes by result (won, lost, too_late, unknown).", "result"),
		retried:  desc("retries_total", "Attempts after the first of their request."),
		undone:   desc("undone_total", "Writes that were put back on a node."),
		copied:   desc("copied_total", "Keys that were carried over to a node that lagged behind."),
		lost:     desc("publications_lost_total", "Publications that no majority of the nodes took."),
	})
}

type quorumCollector struct {
	standings                                               []string
	snapshot                                                func() QuorumStats
	standing, latency, votes, retried, undone, copied, lost *prometheus.Desc
}

// Describe is part of prometheus.Collector.
func (c *quorumCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.standing, c.latency, c.votes, c.retried, c.undone, c.copied, c.lost} {
		out <- d
	}
}

// Collect is part of prometheus.Collector.
func (c *quorumCollector) Collect(out chan<- prometheus.Metric) {
	s := c.snapshot()
	for _, n := range s.Nodes {
		for _, standing := range c.standings {
			out <- prometheus.MustNewConstMetric(c.standing, prometheus.GaugeValue, oneIf(standing == n.Standing), n.Name, standing)
		}
		out <- prometheus.MustNewConstMetric(c.latency, prometheus.GaugeValue, n.Latency.Seconds(), n.Name)
	}
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	count(c.votes, s.Won, "won")
	count(c.votes, s.Lost, "lost")
	count(c.votes, s.TooLate, "too_late")
	count(c.votes, s.Unknown, "unknown")
	count(c.retried, s.Retried)
	count(c.undone, s.Undone)
	count(c.copied, s.Copied)
	count(c.lost, s.Unpublished)
}
