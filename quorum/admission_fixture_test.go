package quorum_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/node"
	"github.com/redfence/redfence/quorum/runner"
)

const patience = 30 * time.Second

type wallClock struct{ start time.Time }

func (c wallClock) Now() time.Duration { return time.Since(c.start) }

func (c wallClock) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// aProxy is what of a proxy has to do with nodes.
type aProxy struct {
	*quorum.Admission
	t     testing.TB
	nodes []*node.Node
	clock quorum.Clock
	log   *logBook
	once  sync.Once
}

// logBook collects a log.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startProxy opens nodes at addresses and an admission over them.
func startProxy(t testing.TB, maxLockTTL time.Duration, addrs ...string) *aProxy {
	t.Helper()
	p := &aProxy{t: t, clock: wallClock{time.Now().Add(-time.Hour)}, log: &logBook{}}
	logger := slog.New(slog.NewTextHandler(p.log, nil))
	members := make([]quorum.Member, len(addrs))
	for i, addr := range addrs {
		n, err := node.Open(node.Options{Proxy: fmt.Sprintf("%p", p), URL: "redis://" + addr, Clock: p.clock, Logger: logger, LookEvery: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		p.nodes, members[i] = append(p.nodes, n), n
	}
	p.Admission = quorum.NewAdmission(quorum.AdmissionConfig{
		Members: members, Clock: p.clock, Logger: logger, MaxLockTTL: maxLockTTL,
		Wall: func() int64 { return time.Now().UnixMicro() },
	})
	t.Cleanup(p.close)
	return p
}

func (p *aProxy) close() {
	p.once.Do(p.end)
}

func (p *aProxy) end() {
	p.Close()
	for _, n := range p.nodes {
		n.Close()
	}
	if p.t.Failed() {
		p.t.Logf("log:\n%s", p.log)
	}
}

// startServers runs three servers without persistence.
func startServers(t testing.TB, args ...string) ([]*harness.Server, []string) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	servers, addrs := make([]*harness.Server, 3), make([]string, 3)
	for i := range servers {
		servers[i] = harness.StartRedis(t, args...)
		addrs[i] = servers[i].Addr
	}
	return servers, addrs
}

func (p *aProxy) wantReady() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Ready(ctx); err != nil {
		p.t.Fatal(err)
	}
}

// standings are those of all nodes, as "counted down refused".
func (p *aProxy) standings() string {
	var list []string
	for _, r := range p.Report() {
		list = append(list, r.Standing.String())
	}
	return strings.Join(list, " ")
}

func (p *aProxy) want(standings string) {
	p.t.Helper()
	if !harness.Poll(patience, func() bool { return p.standings() == standings }) {
		p.t.Fatalf("nodes are %+v, want %s", p.Report(), standings)
	}
}

const allCount = "counted counted counted"

// wantReason waits until the reason of node i holds a text.
func (p *aProxy) wantReason(i int, text string) {
	p.t.Helper()
	if !harness.Poll(patience, func() bool { return strings.Contains(string(p.Report()[i].Reason), text) }) {
		p.t.Fatalf("reason is %q, want %q", p.Report()[i].Reason, text)
	}
}

// do runs a command line on node i.
func (p *aProxy) do(i int, words ...string) quorum.Outcome {
	p.t.Helper()
	request := bind(p.t, words...)
	done := make(chan quorum.Outcome, 1)
	p.nodes[i].Send(quorum.Sending{
		Op:       &runner.Run{ID: fmt.Sprintf("test.%d", p.clock.Now()), Requests: []*commands.Request{request}, Wall: time.Now().UnixMicro()},
		Deadline: p.clock.Now() + 10*time.Second, Done: func(o quorum.Outcome) { done <- o },
	})
	select {
	case o := <-done:
		return o
	case <-time.After(patience):
		p.t.Fatalf("node %d: no outcome", i)
		return quorum.Outcome{}
	}
}

// everywhere runs a command line on all nodes, as the engine does: with one request id.
func (p *aProxy) everywhere(db int, words ...string) {
	p.t.Helper()
	op := &runner.Run{ID: fmt.Sprintf("test.%d", p.clock.Now()), Requests: []*commands.Request{bind(p.t, words...)}, Wall: time.Now().UnixMicro()}
	done := make(chan quorum.Outcome, len(p.nodes))
	for _, n := range p.nodes {
		n.Send(quorum.Sending{DB: db, Op: op, Deadline: p.clock.Now() + 10*time.Second, Done: func(o quorum.Outcome) { done <- o }})
	}
	for range p.nodes {
		<-done
	}
}

func bind(t testing.TB, words ...string) *commands.Request {
	t.Helper()
	r, err := commands.Bind(words, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
