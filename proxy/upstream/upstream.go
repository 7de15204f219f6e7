// Package upstream passes requests on to the Redis that has the keys which are no locks. See DESIGN.md.
package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy"
)

// Config is what an upstream needs.
type Config struct {
	URL      string        // see Check
	Sink     Sink          // takes publications
	Lost     func([]Topic) // called when publications on these topics may have been missed; must not block
	MaxReply int           // bytes of one reply
	Logger   *slog.Logger  // nil for no logs
}

// Sink takes what is published at the upstream. Its methods never block.
type Sink interface {
	// Message delivers a publication and returns the number of local receivers.
	Message(m commands.Message) int
}

// Topic is a channel or a pattern.
type Topic = commands.Topic

var (
	errTooLarge = errors.New("the reply is larger than --max-bulk and --max-output together")
	errMoved    = errors.New("another server is the master now")
	errClosed   = errors.New("the connection was given up")
)

// Upstream is one Redis behind Redfence. Its methods are safe for concurrent use.
type Upstream struct {
	cfg      Config
	log      *slog.Logger
	target   target
	listener *listener

	ctx     context.Context // ends what goes on
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	table   table  // nil until the upstream was asked
	addr    string // of the server that was reached last
	up      bool
	failure error // why the last attempt to connect failed
	until   time.Time
	links   map[*link]struct{}
}

var _ proxy.Upstream = (*Upstream)(nil)

// Open starts an upstream. It does not wait for the server: locks must be served without it.
func Open(cfg Config) (*Upstream, error) {
	t, err := parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	u := &Upstream{cfg: cfg, log: cfg.Logger, target: t, links: map[*link]struct{}{}}
	u.ctx, u.cancel = context.WithCancel(context.Background())
	u.listener = newListener(u)
	u.running.Go(u.watch)
	u.running.Go(u.listener.run)
	return u, nil
}

// Close ends all connections.
func (u *Upstream) Close() {
	u.cancel()
	u.dropLinks(errClosed)
	u.listener.wake()
	u.running.Wait()
}

// Listen is part of proxy.Upstream.
func (u *Upstream) Listen(t Topic, ready func(error)) { u.listener.listen(t, ready) }

// Unlisten is part of proxy.Upstream.
func (u *Upstream) Unlisten(t Topic) { u.listener.unlisten(t) }

// Info is part of proxy.Upstream.
func (u *Upstream) Info() proxy.InfoSection {
	u.mu.Lock()
	defer u.mu.Unlock()
	state, reason := "up", ""
	if !u.up {
		state = "down"
		if u.failure != nil {
			reason = reasonOf(u.failure)
		}
	}
	return proxy.InfoSection{Name: "Upstream", Lines: []string{
		"upstream_addr:" + u.addr,
		"upstream_state:" + state,
		fmt.Sprintf("upstream_connections:%d", len(u.links)),
		"upstream_reason:" + reason,
	}}
}

// Describe is part of proxy.Upstream.
func (u *Upstream) Describe(line []string) (proxy.Described, error) {
	u.mu.Lock()
	t := u.table
	u.mu.Unlock()
	if t == nil {
		return proxy.Described{}, u.unreachable()
	}
	return t.describe(line)
}

// unreachable is the error of what could not be sent.
func (u *Upstream) unreachable() resp.Failure {
	u.mu.Lock()
	defer u.mu.Unlock()
	return resp.UpstreamDown(u.target.name, u.failure)
}

// resting tells why nobody should try to connect just now: an attempt has failed a moment ago.
func (u *Upstream) resting() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx.Err() != nil {
		return errClosed
	}
	if u.failure != nil && time.Now().Before(u.until) {
		return u.failure
	}
	return nil
}

// retryPause is how long links do not try to connect behind a failure, and how often the upstream is looked at.
const retryPause = 250 * time.Millisecond

// tried notes the outcome of an attempt to connect.
func (u *Upstream) tried(addr string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if addr != "" {
		u.addr = addr
	}
	switch {
	case err == nil && (!u.up || u.failure != nil):
		u.log.Info("the upstream is reachable", "addr", addr)
	case err != nil && (u.up || u.failure == nil) && u.ctx.Err() == nil:
		u.log.Warn("the upstream is not reachable; locks are served", "upstream", u.target.name, "error", err)
	}
	u.up, u.failure = err == nil, err
	u.until = time.Now().Add(retryPause)
}

func (u *Upstream) dropLinks(why error) {
	u.mu.Lock()
	all := make([]*link, 0, len(u.links))
	for l := range u.links {
		all = append(all, l)
	}
	u.mu.Unlock()
	for _, l := range all {
		l.hangUp(why)
	}
}

func (u *Upstream) enrol(l *link) {
	u.mu.Lock()
	u.links[l] = struct{}{}
	u.mu.Unlock()
}

func (u *Upstream) dismiss(l *link) {
	u.mu.Lock()
	delete(u.links, l)
	u.mu.Unlock()
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return resp.OneLine(err.Error())
}
