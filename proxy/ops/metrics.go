package ops

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const namespace = "redfence"

// The results that commands are counted by. Any other class counts as [ResultError].
const (
	ResultOK          = "ok"
	ResultError       = "error"       // the client's own error, such as WRONGTYPE
	ResultUnavailable = "unavailable" // surely not executed: CLUSTERDOWN, TRYAGAIN
	ResultUnknown     = "unknown"     // may have been executed
)

// otherCommand is the label of commands that the table does not have, so that clients cannot invent labels.
const otherCommand = "other"

// Metrics counts what happens in one process. Its methods are safe for concurrent use and cheap: a command that
// was seen before costs two atomic updates and no allocation.
type Metrics struct {
	registry    *prometheus.Registry
	commands    map[string]*commandSeries // by lower-case name; never changed after NewMetrics
	connections prometheus.Gauge
	accepted    prometheus.Counter
}

// NewMetrics prepares series for the named commands in a registry of its own.
func NewMetrics(version string, commands []string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), commands: make(map[string]*commandSeries, len(commands)+1)}
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "commands_total",
		Help: "Commands answered, by name and result (ok, error, unavailable, unknown).",
	}, []string{"command", "result"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "command_duration_seconds",
		Help: "Time from a command's last byte read to its reply, by name.",
		// 50 us (a read) to 3 s (past the 2.5 s after which an outcome is unknown), each bucket twice the last.
		Buckets: prometheus.ExponentialBuckets(50e-6, 2, 17),
	}, []string{"command"})
	for _, name := range append([]string{otherCommand}, commands...) {
		name = strings.ToLower(name)
		m.commands[name] = &commandSeries{name: name, totals: total, durations: took}
	}
	m.connections = prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "connections", Help: "Client connections open now.",
	})
	m.accepted = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "connections_accepted_total", Help: "Client connections accepted since the start.",
	})
	m.registry.MustRegister(total, took, m.connections, m.accepted, buildInfo(version),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func buildInfo(version string) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; the label says which version runs.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	return info
}

// CommandDone counts one answered command: its lower-case name, one of the Result classes, and how long it took.
func (m *Metrics) CommandDone(name, class string, took time.Duration) {
	series, known := m.commands[name]
	if !known {
		series = m.commands[otherCommand]
	}
	series.done(class, took)
}

// ConnOpened counts a client that connected.
func (m *Metrics) ConnOpened() {
	m.connections.Inc()
	m.accepted.Inc()
}

// ConnClosed counts a client that is gone.
func (m *Metrics) ConnClosed() { m.connections.Dec() }

// Handler answers with all metrics in the Prometheus text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// commandSeries is the series of one command. They come into being with the first use, so that a scrape does not
// list two hundred commands that nobody sends.
type commandSeries struct {
	name      string
	totals    *prometheus.CounterVec
	durations *prometheus.HistogramVec

	once                          sync.Once
	ok, err, unavailable, unknown prometheus.Counter
	took                          prometheus.Observer
}

func (s *commandSeries) done(class string, took time.Duration) {
	s.once.Do(s.resolve)
	s.counter(class).Inc()
	s.took.Observe(took.Seconds())
}

func (s *commandSeries) resolve() {
	s.ok = s.totals.WithLabelValues(s.name, ResultOK)
	s.err = s.totals.WithLabelValues(s.name, ResultError)
	s.unavailable = s.totals.WithLabelValues(s.name, ResultUnavailable)
	s.unknown = s.totals.WithLabelValues(s.name, ResultUnknown)
	s.took = s.durations.WithLabelValues(s.name)
}

func (s *commandSeries) counter(class string) prometheus.Counter {
	switch class {
	case ResultOK:
		return s.ok
	case ResultUnavailable:
		return s.unavailable
	case ResultUnknown:
		return s.unknown
	default:
		return s.err
	}
}
