package quorum

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redfence/redfence/quorum/tally"
)

// Times of the admission.
const (
	// margin is what the clocks of proxies and nodes may differ by as they judge that a request comes too late.
	margin = 200 * time.Millisecond
	// abandoned is how long another proxy's attempt to admit a node may stand still before this one takes over.
	abandoned = 10 * time.Second
	// again is the pause after an attempt, doubled up to five times after those that failed.
	again = 250 * time.Millisecond
)

// ErrNotReady is returned by Ready when fewer nodes than a majority are counted.
var ErrNotReady = errors.New("not enough nodes")

// AdmissionConfig is what an Admission needs.
type AdmissionConfig struct {
	Members    []Member
	Clock      Clock
	Logger     *slog.Logger
	MaxLockTTL time.Duration // how long a node waits that no others can bring up to date; 1 min when 0
	Timeout    time.Duration // of votes, the longest of all proxies; 100 ms when 0
	Wall       func() int64  // the wall clock in µs since the Unix epoch, for reports
}

// Admission decides which nodes are counted, sets up new ones, and brings those up to date that may have forgotten
// something. It has one goroutine, and one more for each attempt to admit a node.
type Admission struct {
	cfg  AdmissionConfig
	log  *slog.Logger
	wake chan struct{} // a node was looked at, or an attempt has ended

	mu       sync.Mutex // guards what follows
	cluster  cluster
	standing []Standing      // of each node, when last seen
	mine     []string        // by node: the marker of this proxy's last attempt
	busy     []bool          // by node: an attempt runs
	next     []time.Duration // by node: no attempt before
	fails    []int           // by node: attempts that failed in a row
	acted    []time.Duration // by node: what was seen before is out of date
	changed  chan struct{}   // closed and renewed when a verdict changes
	limited  time.Duration   // not 0: no longer TTLs may be given
	claimed  string          // what was told to other proxies last
	setting  bool            // a new installation is being set up

	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewAdmission starts to judge the members. It must be closed, before they are.
func NewAdmission(cfg AdmissionConfig) *Admission {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxLockTTL == 0 {
		cfg.MaxLockTTL = time.Minute
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 100 * time.Millisecond
	}
	n := len(cfg.Members)
	a := &Admission{
		cfg: cfg, log: cfg.Logger, wake: make(chan struct{}, 1),
		cluster:  cluster{nodes: make([]nodeState, n)},
		standing: make([]Standing, n), mine: make([]string, n),
		busy: make([]bool, n), next: make([]time.Duration, n), acted: make([]time.Duration, n), fails: make([]int, n), changed: make(chan struct{}),
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	for i, m := range cfg.Members {
		a.cluster.nodes[i] = nodeState{name: m.Name(), immortal: -1}
		m.Watch(a.nudge)
	}
	a.running.Go(a.run)
	return a
}

// Close ends all attempts.
func (a *Admission) Close() {
	a.stop()
	for _, m := range a.cfg.Members {
		m.Watch(func() {})
	}
	a.running.Wait()
}

// settling is how long after its quarantine began a node waits before others are copied to it: what was under way to them
// by then has arrived or will be refused as too late.
func (a *Admission) settling() time.Duration { return a.cfg.Timeout + margin }

func (a *Admission) nudge() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run is the goroutine. Nodes are looked at every second, so it needs no timer of its own.
func (a *Admission) run() {
	for {
		a.review()
		select {
		case <-a.wake:
		case <-a.ctx.Done():
			return
		}
	}
}

// review judges all nodes by their latest facts and begins what has to be done about them.
func (a *Admission) review() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.cfg.Clock.Now()
	for i, m := range a.cfg.Members {
		a.cluster.nodes[i].facts = m.Facts()
	}
	a.cluster.meet()
	if a.cluster.id == "" {
		a.cluster.learn()
	}
	changed := false
	for i, m := range a.cfg.Members {
		standing, _ := m.Standing() // a node that comes or goes is no new verdict
		changed = changed || standing != a.standing[i]
		a.standing[i] = standing
	}
	for i := range a.cluster.nodes {
		a.cluster.nodes[i].settleSteps()
		changed = a.apply(i, a.cluster.judge(i), now) || changed
		a.remind(&a.cluster.nodes[i], now)
	}
	a.claim()
	a.limited = a.cluster.limit(a.cfg.MaxLockTTL)
	if changed {
		close(a.changed)
		a.changed = make(chan struct{})
	}
	a.begin(now)
}

// claim tells other proxies which nodes count, at once when that has changed. a.mu is held.
func (a *Admission) claim() {
	claims := a.cluster.claims()
	for _, m := range a.cfg.Members {
		m.Claim(claims)
		if claims != a.claimed {
			m.Look()
		}
	}
	a.claimed = claims
}

// apply passes a verdict on to its node. It tells whether it is a new one.
func (a *Admission) apply(i int, v Verdict, now time.Duration) bool {
	n := &a.cluster.nodes[i]
	old := n.verdict
	if v.Standing == Quarantined && a.cluster.id == "" && firstOf(n.facts.Canaries) == "" {
		v.Reason = a.cluster.waitsFor()
	}
	n.verdict = v
	if !n.reachable() {
		return false
	}
	a.cfg.Members[i].Judge(v)
	switch v.Standing {
	case Counted:
		n.since, n.immortal = 0, n.facts.Immortal
	case Quarantined:
		if n.since == 0 {
			n.since = now
		}
		if text := firstOf(n.facts.Canaries); text != n.marker {
			n.marker, n.markerAt = text, now
		}
	case Down, Refused:
	}
	if old.Standing == v.Standing && old.Reason == v.Reason && old.Canary == v.Canary && old.RunID == v.RunID {
		return false
	}
	a.tell(n, v)
	return true
}

// aMoment is how long a node may not count, which this process has never counted, before that is worth a line: setting
// up new nodes takes less.
const aMoment = 2 * time.Second

// tell logs a new verdict. That of a node which never counted is left to remind.
func (a *Admission) tell(n *nodeState, v Verdict) {
	switch v.Standing {
	case Quarantined:
		if n.immortal >= 0 {
			n.told = true
			a.log.Warn("node quarantined: its votes count only for locks that it demonstrably knows", "node", n.name, "reason", string(v.Reason))
		}
	case Counted:
		level := slog.LevelDebug
		if n.told {
			level = slog.LevelInfo
		}
		n.told = false
		a.log.Log(a.ctx, level, "node counts", "node", n.name, "run_id", v.RunID, "version", n.facts.Version)
	case Refused:
		n.told = true
		a.log.Error("node refused", "node", n.name, "reason", string(v.Reason))
	case Down:
	}
}

// remind logs that a node has not counted for a moment.
func (a *Admission) remind(n *nodeState, now time.Duration) {
	if n.reachable() && n.verdict.Standing == Quarantined && !n.told && now-n.since >= aMoment {
		n.told = true
		a.log.Warn("node does not count", "node", n.name, "reason", string(n.verdict.Reason))
	}
}

// begin starts what has to be done: to set up a new installation, or to bring nodes up to date. It acts on nothing that
// was seen before the last act was over.
func (a *Admission) begin(now time.Duration) {
	idle, fresh := !a.setting, true
	for i := range a.busy {
		idle = idle && !a.busy[i]
		fresh = fresh && a.fresh(i)
	}
	if idle && fresh {
		if s := a.cluster.setUpStep(); s != nothing {
			a.setting = true
			u := a.newSetUp(s)
			a.running.Go(func() { a.setUp(u) })
		}
	}
	if a.setting || a.cluster.id == "" {
		return
	}
	for i := range a.cluster.nodes {
		if !a.busy[i] && now >= a.next[i] && a.fresh(i) {
			if t, ok := a.task(i, now); ok {
				a.busy[i] = true
				a.running.Go(func() { a.attempt(t) })
			}
		}
	}
}

func (a *Admission) fresh(i int) bool { return a.cluster.nodes[i].facts.Began >= a.acted[i] }

// Ready returns when a majority of the nodes is counted, or when ctx is done, with an error that names the others.
func (a *Admission) Ready(ctx context.Context) error {
	for {
		a.mu.Lock()
		missing, changed := a.missing(), a.changed
		a.mu.Unlock()
		if len(a.cfg.Members)-len(missing) >= tally.Majority(len(a.cfg.Members)) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %d of %d are not counted: %s", ErrNotReady, len(missing), len(a.cfg.Members), strings.Join(missing, ", "))
		}
	}
}

// missing lists the nodes that are not counted, and why.
func (a *Admission) missing() []string {
	var list []string
	for _, m := range a.cfg.Members {
		if standing, reason := m.Standing(); standing != Counted {
			list = append(list, m.Name()+" ("+string(reason)+")")
		}
	}
	return list
}

// MaxTTL is the longest TTL that may be given now, and false when any may.
func (a *Admission) MaxTTL() (time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.limited, a.limited != 0
}

// NodeReport is a node as INFO quorum shows it.
type NodeReport struct {
	Name     string
	Standing Standing
	Reason   tally.Reason // why it is not counted
	RunID    string
	Version  string
	Latency  time.Duration
	Offset   time.Duration // its wall clock less this machine's
	Keys     int64
}

// Report describes all nodes, in the order of the configuration.
func (a *Admission) Report() []NodeReport {
	list := make([]NodeReport, len(a.cfg.Members))
	for i, m := range a.cfg.Members {
		f := m.Facts()
		list[i] = NodeReport{Name: m.Name(), RunID: f.RunID, Version: f.Version, Latency: f.Latency, Keys: f.Keys}
		if a.cfg.Wall != nil && f.Look > 0 {
			list[i].Offset = f.Offset + a.cfg.Clock.Now() - time.Duration(a.cfg.Wall())*time.Microsecond
		}
		list[i].Standing, list[i].Reason = m.Standing()
	}
	return list
}

// String is the standing as INFO quorum shows it.
func (s Standing) String() string {
	switch s {
	case Down:
		return "down"
	case Quarantined:
		return "quarantined"
	case Counted:
		return "counted"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// newID is random: the name of a cluster, or of an attempt.
func newID() string { return rand.Text() }
