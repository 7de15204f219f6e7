// Package roster is the list of the proxies that use the same nodes, and who of them leads. It is kept on the nodes. Nothing that
// locks need depends on it: who leads is only the one whose name clients are given, and every proxy serves.
package roster

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

//go:embed roster.lua
var script string

const (
	every    = 500 * time.Millisecond // from one look to the next
	patience = time.Second            // how long a node has for its answer
	lease    = 5 * time.Second        // after the last look of the leader another one may lead
	remember = 10 * time.Minute       // how long a proxy that is not heard of stays on the list
)

// Names of the keys on the nodes. They begin with the prefix that clients can neither use nor see.
const (
	canaryKey = "__redfence__"
	listKey   = "__redfence__proxies"
	leaderKey = "__redfence__leader"
)

// Config is what a roster needs.
type Config struct {
	Nodes  []redis.Options
	ID     string // tells this proxy from all others
	Logger *slog.Logger
}

// Roster is one proxy's part in the list. Its methods are safe for concurrent use.
type Roster struct {
	cfg     Config
	clients []*redis.Client
	look    *redis.Script
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	card    string
	answers []answer
	lead    string
	since   time.Time
}

// Open begins to look at the nodes. The proxy is on the list once SetCard was called.
func Open(cfg Config) *Roster {
	r := &Roster{cfg: cfg, look: redis.NewScript(script)}
	for _, o := range cfg.Nodes {
		o.Protocol, o.MaxRetries, o.DialerRetries, o.PoolSize = 2, -1, 1, 1
		o.DisableIdentity = true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = patience, patience, patience
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		r.clients = append(r.clients, redis.NewClient(&o))
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.running.Go(func() { r.run(ctx) })
	return r
}

// SetCard says what the others shall know.
func (r *Roster) SetCard(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.card = text
}

// Peers returns the proxies on the list.
func (r *Roster) Peers() []Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return merge(r.answers)
}

// Leader returns who leads in the eyes of a majority of the nodes, and for how long; empty when they do not tell.
func (r *Roster) Leader() (id string, since time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lead == "" {
		return "", 0
	}
	return r.lead, time.Since(r.since)
}

// Leave takes this proxy off the list. Another one may lead at once.
func (r *Roster) Leave() {
	r.cancel()
	r.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r.ask(ctx, "", leave)
}

// Close ends it, as a crash would.
func (r *Roster) Close() {
	r.cancel()
	r.running.Wait()
	for _, c := range r.clients {
		_ = c.Close()
	}
}

// run looks again and again.
func (r *Roster) run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	want := look
	for {
		r.mu.Lock()
		card := r.card
		r.mu.Unlock()
		if card != "" {
			answers := r.ask(ctx, card, want)
			r.take(answers)
			want = wish(r.cfg.ID, answers, len(r.clients))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// take keeps what the nodes said. When too few said anything, the list stays as it was.
func (r *Roster) take(answers []answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(answers) > len(r.clients)/2 {
		r.answers = answers
	}
	if lead := majority(answers, len(r.clients)); lead != r.lead {
		r.lead, r.since = lead, time.Now()
	}
}

// ask asks all nodes at once, and returns the answers of those that gave one.
func (r *Roster) ask(ctx context.Context, card, want string) []answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var mu sync.Mutex
	var answers []answer
	var asked sync.WaitGroup
	for i, c := range r.clients {
		asked.Go(func() {
			reply, err := r.look.Run(ctx, c, []string{canaryKey, listKey, leaderKey},
				r.cfg.ID, card, remember.Milliseconds(), lease.Milliseconds(), want).Slice()
			if err == nil && len(reply) == 0 {
				return // it is new, or has forgotten
			}
			a, bad := parse(reply)
			if err == nil {
				err = bad
			}
			if err != nil {
				r.cfg.Logger.Debug("a node does not tell of the proxies", "node", r.cfg.Nodes[i].Addr, "error", err)
				return
			}
			mu.Lock()
			answers = append(answers, a)
			mu.Unlock()
		})
	}
	asked.Wait()
	return answers
}

// parse reads what the script returns.
func parse(reply []any) (a answer, err error) {
	if len(reply)%3 != 1 {
		return a, fmt.Errorf("a list of %d", len(reply))
	}
	a.leader, _ = reply[0].(string)
	for i := 1; i < len(reply); i += 3 {
		id, _ := reply[i].(string)
		card, _ := reply[i+1].(string)
		silent, ok := reply[i+2].(int64)
		if !ok {
			return a, fmt.Errorf("no number but %v", reply[i+2])
		}
		a.peers = append(a.peers, Peer{ID: id, Card: card, Silent: time.Duration(silent) * time.Millisecond})
	}
	return a, nil
}
