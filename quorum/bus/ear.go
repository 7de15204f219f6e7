package bus

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/envelope"
)

const (
	pulse      = time.Second            // how often a silent connection is asked for a sign of life
	longestGap = 3 * time.Second        // without one it is given up
	mostNames  = 512                    // in one SUBSCRIBE
	longestLag = 500 * time.Millisecond // between two attempts to connect; the first follows at once
)

// errSilent is the end of a connection that gives no sign of life.
var errSilent = errors.New("no answer")

// ear listens to one node: on one subscribed connection, and while keys are tracked on a second one. Whenever
// something is wrong with either, both are given up, and all is asked for again on new ones.
type ear struct {
	bus    *Bus
	index  int
	node   Node
	client *redis.Client
	lastID atomic.Int64 // the node's ID of the connection that was opened last
	why    atomic.Pointer[string]

	wake chan struct{} // there are changes
	// The bus guards these.
	changes []change
	asked   map[commands.Topic]int // SUBSCRIBEs that are not confirmed
	deaf    bool                   // there is no connection: a new one will ask for everything
}

// change is a topic to be subscribed to, or not any more.
type change struct {
	topic commands.Topic
	on    bool
}

func newEar(b *Bus, index int, n Node) *ear {
	e := &ear{bus: b, index: index, node: n, wake: make(chan struct{}, 1), deaf: true}
	o := client(n)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.OnConnect = func(ctx context.Context, c *redis.Conn) error {
		id, err := c.ClientID(ctx).Result()
		e.lastID.Store(id)
		return err
	}
	e.client = redis.NewClient(o)
	e.fail("connecting")
	return e
}

func (e *ear) fail(why string) { e.why.Store(&why) }

// want and unwant are called with the bus locked.
func (e *ear) want(t commands.Topic)   { e.change(change{t, true}) }
func (e *ear) unwant(t commands.Topic) { e.change(change{t, false}) }

func (e *ear) change(c change) {
	if e.deaf {
		return
	}
	if c.on {
		e.asked[c.topic]++
	}
	e.changes = append(e.changes, c)
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run listens until the bus is closed.
func (e *ear) run() {
	defer e.client.Close()
	var lag time.Duration
	for e.bus.ctx.Err() == nil {
		heard, err := e.listen()
		e.stopHearing()
		if e.bus.ctx.Err() != nil {
			return
		}
		if lag = min(2*lag+10*time.Millisecond, longestLag); heard {
			lag = 0
			e.bus.log.Warn("lost the subscriptions on a node", "node", e.node.Name, "error", err)
		}
		e.fail(reason(err))
		sleep(e.bus.ctx, lag)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// begin notes that a new connection is to ask for everything.
func (e *ear) begin() {
	e.bus.mu.Lock()
	defer e.bus.mu.Unlock()
	e.deaf, e.changes, e.asked = false, nil, map[commands.Topic]int{}
	for t := range e.bus.topics {
		e.want(t)
	}
}

func (e *ear) stopHearing() {
	e.bus.mu.Lock()
	e.deaf, e.changes, e.asked = true, nil, nil
	e.bus.mu.Unlock()
	e.bus.void(e.index)
}

// session is one connection of an ear.
type session struct {
	*ear
	sub  *redis.PubSub
	side *redis.Conn  // tracks keys for sub; nil when none are
	last atomic.Int64 // when something was heard, in ns since from
	from time.Time
	id   int64 // the node's ID of sub
}

// listen serves one connection to its end. It tells whether there was one.
func (e *ear) listen() (heard bool, err error) {
	ctx, cancel := context.WithCancelCause(e.bus.ctx)
	defer cancel(nil)
	s := &session{ear: e, sub: e.client.Subscribe(ctx), from: time.Now()}
	closed := sync.OnceFunc(func() { _ = s.sub.Close() }) // the connection may be gone already
	defer closed()
	defer context.AfterFunc(ctx, closed)()
	// The first subscription, which never ends, makes it a subscriber, as redirection wants it.
	if err := s.sub.Subscribe(ctx, envelope.Notices); err != nil {
		return false, err
	}
	if _, err := s.sub.ReceiveTimeout(ctx, longestGap); err != nil {
		return false, err
	}
	s.id = e.lastID.Load()
	e.begin()
	var asking sync.WaitGroup
	defer asking.Wait()
	asking.Go(func() { cancel(s.ask(ctx)) })
	err = s.receive(ctx)
	cancel(err)
	return true, context.Cause(ctx)
}

// ask subscribes and unsubscribes as the bus wants it, and looks for signs of life.
func (s *session) ask(ctx context.Context) error {
	defer s.untrack()
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	for {
		for _, batch := range s.take() {
			if err := s.send(ctx, batch); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
		case <-beat.C:
			if err := s.probe(ctx); err != nil {
				return err
			}
		}
	}
}

// take returns the changes that are due, in order, in runs of one kind.
func (s *session) take() (batches [][]change) {
	s.bus.mu.Lock()
	list := s.changes
	s.changes = nil
	s.bus.mu.Unlock()
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(c change) bool { return c.on != list[0].on || kindOnNode(c) != kindOnNode(list[0]) })
		if n < 0 {
			n = len(list)
		}
		n = min(n, mostNames)
		batches, list = append(batches, list[:n]), list[n:]
	}
	return batches
}

// kindOnNode is the kind of subscription that a change makes on a node, where shard channels are plain ones.
func kindOnNode(c change) commands.TopicKind {
	if c.topic.Kind == commands.TopicShard {
		return commands.TopicChannel
	}
	return c.topic.Kind
}

func (s *session) send(ctx context.Context, batch []change) error {
	names := make([]string, len(batch))
	for i, c := range batch {
		names[i] = c.topic.Name
		if c.topic.Kind != commands.TopicPattern {
			names[i], _ = envelope.OnNode(c.topic.Name, c.topic.Kind == commands.TopicShard)
		}
	}
	pattern := kindOnNode(batch[0]) == commands.TopicPattern
	switch on := batch[0].on; {
	case kindOnNode(batch[0]) == commands.TopicChanges:
		return s.trackKeys(ctx, batch)
	case pattern && on:
		return s.sub.PSubscribe(ctx, names...)
	case pattern:
		return s.sub.PUnsubscribe(ctx, names...)
	case on:
		return s.sub.Subscribe(ctx, names...)
	default:
		return s.sub.Unsubscribe(ctx, names...)
	}
}

// probe asks for a sign of life, and ends a connection that gives none.
func (s *session) probe(ctx context.Context) error {
	if time.Since(s.from)-time.Duration(s.last.Load()) > longestGap {
		return errSilent
	}
	if s.side != nil {
		if err := s.side.Ping(ctx).Err(); err != nil {
			return err
		}
	}
	return s.sub.Ping(ctx)
}

// receive takes what the node sends until the connection ends.
func (s *session) receive(ctx context.Context) error {
	for {
		// No time-out: one in the middle of a message would lose its first part.
		got, err := s.sub.Receive(ctx)
		s.last.Store(int64(time.Since(s.from)))
		if isFlush(err) {
			s.bus.unheard(changes)
			continue
		}
		if err != nil {
			return err
		}
		switch m := got.(type) {
		case *redis.Subscription:
			s.subscribed(m)
		case *redis.Message:
			s.bus.hear(s.index, m)
		}
	}
}

// isFlush knows the invalidation that stands for all keys, whose payload is null. The client library does not know
// it, and says so.
func isFlush(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "unsupported pubsub message payload: <nil>")
}

// subscribed takes a confirmation. Only the last one counts of those that are due.
func (s *session) subscribed(m *redis.Subscription) {
	var t commands.Topic
	switch m.Kind {
	case "psubscribe":
		t = commands.Topic{Kind: commands.TopicPattern, Name: m.Channel}
	case "subscribe":
		name, shard, _ := envelope.FromNode(m.Channel)
		t = commands.Topic{Kind: commands.TopicChannel, Name: name}
		if shard {
			t.Kind = commands.TopicShard
		}
	default:
		return
	}
	s.settle(t)
}

// settle counts a confirmation of a topic.
func (s *session) settle(t commands.Topic) {
	s.bus.mu.Lock()
	s.asked[t]--
	left := s.asked[t]
	if left <= 0 {
		delete(s.asked, t)
	}
	s.bus.mu.Unlock()
	if left == 0 {
		s.bus.confirm(s.index, t)
	}
}

// notSubscribed is the error of a topic that too few nodes have confirmed. b.mu is held.
func (b *Bus) notSubscribed(t *topic) error {
	var reasons []string
	for i, e := range b.ears {
		if t.confirmed&(1<<i) == 0 {
			why := "no answer in time"
			if e.deaf {
				why = *e.why.Load()
			}
			reasons = append(reasons, e.node.Name+": "+why)
		}
	}
	return resp.NotSubscribed(t.count(), len(b.ears), strings.Join(reasons, ", "))
}
