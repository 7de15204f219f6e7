package bus

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/quorum/envelope"
)

const (
	mostWaiting = 1 << 14  // publications that wait for a node
	mostBytes   = 64 << 20 // of them
	mostAtOnce  = 256      // in one pipeline
)

// Publish delivers a publication here, at once, and has the nodes carry it to the other proxies. It returns the number
// of receivers here. Publications that are made one after the other arrive everywhere in that order.
func (b *Bus) Publish(m commands.Message) int {
	n := b.cfg.Sink.Message(m)
	if channel, ok := envelope.OnNode(m.Channel, m.Shard); ok {
		b.send(channel, m.Payload)
	}
	return n
}

// Ready tells all proxies that a list or sorted set has grown.
func (b *Bus) Ready(db int, key string) {
	b.cfg.Sink.Ready(db, key)
	b.send(envelope.Notices, envelope.Notice{DB: db, Key: key}.String())
}

// ReadyAll tells all proxies that any key of a database may have grown.
func (b *Bus) ReadyAll(db int) {
	b.cfg.Sink.ReadyAll(db)
	b.send(envelope.Notices, envelope.Notice{DB: db, All: true}.String())
}

// send puts a letter into the queues of all nodes.
func (b *Bus) send(channel, payload string) {
	b.sending.Lock()
	defer b.sending.Unlock()
	b.number++
	p := &parcel{
		channel: channel, born: time.Now(), need: b.need, lost: &b.lost,
		text: envelope.Wrap(envelope.Letter{From: b.cfg.Sender, Number: b.number, Payload: payload}),
	}
	p.left.Store(int32(len(b.mouths)))
	for _, m := range b.mouths {
		m.push(p)
	}
}

// parcel is a publication on its way to the nodes.
type parcel struct {
	channel, text string
	born          time.Time
	need          int
	taken         atomic.Int32 // nodes that have published it
	left          atomic.Int32 // nodes that still may
	lost          *losses
}

// done notes that a node has published it, or will not.
func (p *parcel) done(taken bool) {
	if taken {
		p.taken.Add(1)
	}
	if p.left.Add(-1) == 0 && int(p.taken.Load()) < p.need {
		p.lost.add()
	}
}

func (p *parcel) bytes() int { return len(p.channel) + len(p.text) }

// losses counts publications that no majority took, and tells of them now and then.
type losses struct {
	log   *slog.Logger
	count atomic.Int64
	mu    sync.Mutex
	told  time.Time
}

const tellEvery = 5 * time.Second

func (l *losses) add() {
	n := l.count.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.told) < tellEvery {
		return
	}
	l.told = time.Now()
	l.log.Error("publications were not taken by a majority of the nodes; subscribers of other proxies may miss them", "since start", n)
}

// Lost is how many publications no majority of the nodes has taken.
func (b *Bus) Lost() int64 { return b.lost.count.Load() }

// mouth publishes on one node, in order.
type mouth struct {
	bus    *Bus
	client *redis.Client
	keep   time.Duration
	wake   chan struct{}
	ended  chan struct{}

	mu        sync.Mutex
	queue     []*parcel
	bytes     int
	finishing bool
}

func newMouth(b *Bus, n Node) *mouth {
	o := client(n)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &mouth{
		bus: b, client: redis.NewClient(o), keep: b.cfg.Keep,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
}

// push enters a parcel. When too much waits, the oldest is dropped.
func (m *mouth) push(p *parcel) {
	m.mu.Lock()
	m.queue = append(m.queue, p)
	m.bytes += p.bytes()
	var dropped []*parcel
	for len(m.queue) > mostWaiting || m.bytes > mostBytes && len(m.queue) > 1 {
		dropped = append(dropped, m.pop())
	}
	m.mu.Unlock()
	for _, p := range dropped {
		p.done(false)
	}
	m.nudge()
}

func (m *mouth) pop() *parcel {
	p := m.queue[0]
	m.queue[0] = nil
	m.queue = m.queue[1:]
	m.bytes -= p.bytes()
	return p
}

func (m *mouth) nudge() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// finish waits until all is published, or the bus is over.
func (m *mouth) finish() {
	m.mu.Lock()
	m.finishing = true
	m.mu.Unlock()
	m.nudge()
	<-m.ended
}

// run publishes until the bus is over.
func (m *mouth) run() {
	defer close(m.ended)
	defer m.client.Close()
	var lag time.Duration
	for {
		batch, over := m.next()
		switch {
		case over || m.bus.ctx.Err() != nil:
			return
		case len(batch) == 0:
			select {
			case <-m.wake:
			case <-m.bus.ctx.Done():
			}
		case m.publish(batch):
			lag = 0
		default:
			lag = min(2*lag+10*time.Millisecond, longestLag)
			sleep(m.bus.ctx, lag)
		}
	}
}

// next returns the first parcels that wait, without those that have waited for too long. It tells whether there will
// be none any more.
func (m *mouth) next() (batch []*parcel, over bool) {
	m.mu.Lock()
	var late []*parcel
	for len(m.queue) > 0 && time.Since(m.queue[0].born) > m.keep {
		late = append(late, m.pop())
	}
	batch = append(batch, m.queue[:min(len(m.queue), mostAtOnce)]...)
	over = m.finishing && len(m.queue) == 0
	m.mu.Unlock()
	for _, p := range late {
		p.done(false)
	}
	return batch, over
}

// publish sends parcels and takes those off the queue that are done with. It tells whether all are. What was published
// twice is delivered once, since it carries its number.
func (m *mouth) publish(batch []*parcel) bool {
	pipe := m.client.Pipeline()
	replies := make([]*redis.IntCmd, len(batch))
	ctx, cancel := context.WithTimeout(m.bus.ctx, 2*time.Second)
	defer cancel()
	for i, p := range batch {
		replies[i] = pipe.Publish(ctx, p.channel, p.text)
	}
	_, _ = pipe.Exec(ctx) // each reply has its error
	for i, reply := range replies {
		err := reply.Err()
		if mayPass(err) {
			return false
		}
		if m.takeOff(batch[i]) {
			batch[i].done(err == nil)
		}
	}
	return true
}

// mayPass tells whether it is worth offering a publication again: not when the server refused this very one, for lack
// of permission, say.
func mayPass(err error) bool {
	if err == nil {
		return false
	}
	if _, refused := errors.AsType[redis.Error](err); !refused {
		return true
	}
	return redis.IsLoadingError(err) || strings.HasPrefix(err.Error(), "BUSY ") || strings.HasPrefix(err.Error(), "NOAUTH ")
}

// takeOff removes a parcel from the front of the queue; false when it was dropped meanwhile.
func (m *mouth) takeOff(p *parcel) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 || m.queue[0] != p {
		return false
	}
	m.pop()
	return true
}
