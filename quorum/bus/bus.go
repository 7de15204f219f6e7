// Package bus carries publications and notices between the proxies of a quorum, over the pub/sub of the nodes. See
// DESIGN.md for what it guarantees.
package bus

import (
	"context"
	"log/slog"
	"math/bits"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/quorum/envelope"
)

// Sink takes what the bus hears, in this process. Its methods never block.
type Sink interface {
	// Message delivers a publication and returns the number of local receivers.
	Message(m commands.Message) int
	// Ready and ReadyAll say that a key, or any key of a database, may have gained elements.
	Ready(db int, key string)
	ReadyAll(db int)
	// Accessed takes what happened to keys; session is 0.
	Accessed(session int64, list []commands.Access)
}

// Node is a server that the bus goes over.
type Node struct {
	Name    string // for people, without credentials
	Options redis.Options
}

// Config is what a bus needs.
type Config struct {
	Nodes  []Node
	Sink   Sink
	Sender envelope.Sender // names this process among all that use the nodes: a random number
	Logger *slog.Logger    // nil for no logs

	Patience time.Duration // how long a subscription waits for a majority; 2.5 s when 0
	Keep     time.Duration // how long a publication is offered to a node; 5 s when 0
}

const (
	defaultPatience = 2500 * time.Millisecond
	defaultKeep     = 5 * time.Second
)

// Bus is one process's end. Its methods are safe for concurrent use and never block.
type Bus struct {
	cfg    Config
	log    *slog.Logger
	need   int // a majority
	ears   []*ear
	mouths []*mouth
	lost   losses

	ctx     context.Context // ends what goes on
	cancel  context.CancelFunc
	running sync.WaitGroup

	sending sync.Mutex // keeps publications in the order of their numbers, on all nodes
	number  uint64

	mu     sync.Mutex
	topics map[commands.Topic]*topic
	seen   envelope.Seen
	events events
}

// topic is something that is listened to.
type topic struct {
	ready     func(error) // nil once it was called
	timer     *time.Timer // fires when a majority did not confirm in time
	confirmed uint64      // by node, a bit for each
	late      late
}

// count is how many nodes have confirmed.
func (t *topic) count() int { return bits.OnesCount64(t.confirmed) }

// Open starts a bus. It does not wait for the nodes.
func Open(cfg Config) *Bus {
	if cfg.Patience == 0 {
		cfg.Patience = defaultPatience
	}
	if cfg.Keep == 0 {
		cfg.Keep = defaultKeep
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Bus{
		cfg: cfg, log: cfg.Logger, need: len(cfg.Nodes)/2 + 1, topics: map[commands.Topic]*topic{},
		events: events{need: len(cfg.Nodes)/2 + 1},
	}
	b.lost.log = cfg.Logger
	b.ctx, b.cancel = context.WithCancel(context.Background())
	for i, n := range cfg.Nodes {
		e, m := newEar(b, i, n), newMouth(b, n)
		b.ears, b.mouths = append(b.ears, e), append(b.mouths, m)
		b.running.Go(e.run)
		b.running.Go(m.run)
	}
	return b
}

// Close sends what is to be published, as far as the nodes take it within a second, and ends the bus.
func (b *Bus) Close() {
	over := time.AfterFunc(time.Second, b.cancel)
	defer over.Stop()
	for _, m := range b.mouths {
		m.finish()
	}
	b.cancel()
	b.running.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.topics {
		t.timer.Stop()
	}
}

// Listen makes the sink hear of a topic. See proxy.Backend.
func (b *Bus) Listen(name commands.Topic, ready func(error)) {
	if !travels(name) {
		ready(nil)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &topic{ready: ready}
	t.timer = time.AfterFunc(b.cfg.Patience, func() { b.giveUp(name, t) })
	b.topics[name] = t
	for _, e := range b.ears {
		e.want(name)
	}
}

// Unlisten ends it.
func (b *Bus) Unlisten(name commands.Topic) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[name]
	if t == nil {
		return
	}
	t.timer.Stop()
	delete(b.topics, name)
	for _, e := range b.ears {
		e.unwant(name)
	}
}

// invalidations is the channel on which Redis tells RESP2 clients of changed keys. Nobody publishes there.
const invalidations = "__redis__:invalidate"

// travels tells whether the nodes are to be asked for a topic. Nothing for clients comes on the reserved channels.
func travels(t commands.Topic) bool {
	if t.Kind != commands.TopicChannel {
		return true
	}
	_, ok := envelope.OnNode(t.Name, false)
	return ok && t.Name != invalidations
}

// confirm notes that a node sends what is published on a topic.
func (b *Bus) confirm(node int, name commands.Topic) {
	b.mu.Lock()
	t := b.topics[name]
	if t == nil {
		b.mu.Unlock()
		return
	}
	before := t.count()
	if t.ready == nil && t.steady() >= b.need {
		t.late.note(node, time.Now().Add(b.cfg.Keep))
	}
	t.confirmed |= 1 << node
	regained := t.ready == nil && before < b.need && t.count() >= b.need
	var ready func(error)
	if t.count() >= b.need {
		ready, t.ready = t.ready, nil
		t.timer.Stop()
	}
	b.mu.Unlock()
	switch {
	case ready != nil:
		ready(nil)
	case regained:
		b.unheard(name)
	}
}

// void notes that a node sends nothing any more.
func (b *Bus) void(node int) {
	var missed []commands.Topic
	b.mu.Lock()
	for name, t := range b.topics {
		before := t.count()
		t.confirmed &^= 1 << node
		if t.ready == nil && before >= b.need && t.count() < b.need {
			missed = append(missed, name)
		}
		b.rely(t)
	}
	b.mu.Unlock()
	for _, name := range missed {
		b.unheard(name)
	}
}

// unheard makes good what may have been missed of a topic while fewer than a majority were listened to: all keys may
// have changed. A message that was missed is lost, as when a client of Redis is cut off.
func (b *Bus) unheard(name commands.Topic) {
	if name.Kind == commands.TopicChanges {
		b.cfg.Sink.Accessed(0, []commands.Access{{Kind: commands.FlushedKeys}})
	}
}

// giveUp ends the wait for a majority.
func (b *Bus) giveUp(name commands.Topic, t *topic) {
	b.mu.Lock()
	ready := t.ready
	if b.topics[name] != t || ready == nil {
		b.mu.Unlock()
		return
	}
	t.ready = nil
	err := b.notSubscribed(t)
	b.mu.Unlock()
	ready(err)
}

// client returns the options of connections that end and fail quickly, and never repeat anything by themselves.
func client(n Node) *redis.Options {
	o := n.Options
	o.Protocol = 2 // in RESP2 a tracking connection can redirect to a subscriber
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.PoolSize = 2
	o.DisableIdentity = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = time.Second, time.Second, time.Second
	return &o
}

// reason is what is told to clients of a node's error. It repeats no more of it than the last words, which hold no
// credentials.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}
