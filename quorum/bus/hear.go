package bus

import (
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/glob"
	"github.com/redfence/redfence/quorum/envelope"
)

// ownKeys is the prefix of the keys that proxies keep on the nodes, which clients never see.
const ownKeys = "__redfence__"

// hear takes a message of a node. Calls for one node follow one another.
func (b *Bus) hear(node int, m *redis.Message) {
	if m.Channel == invalidations && m.Pattern == "" {
		b.invalidated(m.PayloadSlice)
		return
	}
	letter, wrapped := envelope.Open(m.Payload)
	switch {
	case wrapped && letter.From == b.cfg.Sender: // this process has delivered it already
	case wrapped:
		b.open(node, m, letter)
	default:
		b.raw(node, m)
	}
}

// open delivers the first copy of a letter. The lock is held meanwhile, so that the letters of one sender are
// delivered in the order in which they come, whatever node they come from.
func (b *Bus) open(node int, m *redis.Message, l envelope.Letter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.hold(node, m, l) {
		b.deliver(m.Channel, l)
	}
}

// deliver passes a letter on that was not yet. The lock is held.
func (b *Bus) deliver(channel string, l envelope.Letter) {
	if !b.seen.First(l.From, l.Number) {
		return
	}
	if channel == envelope.Notices {
		b.notice(l.Payload)
		return
	}
	if name, shard, ok := envelope.FromNode(channel); ok {
		b.cfg.Sink.Message(commands.Message{Channel: name, Payload: l.Payload, Shard: shard})
	}
}

func (b *Bus) notice(text string) {
	switch n, ok := envelope.ReadNotice(text); {
	case !ok: // of a later version
	case n.All:
		b.cfg.Sink.ReadyAll(n.DB)
	default:
		b.cfg.Sink.Ready(n.DB, n.Key)
	}
}

// raw delivers what somebody published without an envelope, on this node only. The node sends it once for the channel
// and once for each pattern that matches; it is delivered once, and the hub does the same for the clients.
func (b *Bus) raw(node int, m *redis.Message) {
	name, shard, ok := envelope.FromNode(m.Channel)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.Pattern != "" && !b.leads(m.Pattern, m.Channel) {
		return
	}
	if isKeyEvent(name) && (strings.Contains(name+m.Payload, ownKeys) || !b.events.told(node, name, m.Payload, time.Now())) {
		return
	}
	b.cfg.Sink.Message(commands.Message{Channel: name, Payload: m.Payload, Shard: shard})
}

// leads tells whether of all subscriptions that a channel's messages come for, the pattern is the one to be heeded.
func (b *Bus) leads(pattern, channel string) bool {
	if b.topics[commands.Topic{Kind: commands.TopicChannel, Name: channel}] != nil {
		return false
	}
	var matching []string
	for t := range b.topics {
		if t.Kind == commands.TopicPattern && glob.Match(t.Name, channel) {
			matching = append(matching, t.Name)
		}
	}
	return len(matching) == 0 || pattern == slices.Min(matching)
}

// invalidated tells of changed keys.
func (b *Bus) invalidated(keys []string) {
	list := make([]commands.Access, 0, len(keys))
	for _, key := range keys {
		if !strings.HasPrefix(key, ownKeys) {
			list = append(list, commands.Access{Kind: commands.ChangedKey, Key: key})
		}
	}
	if len(list) > 0 {
		b.cfg.Sink.Accessed(0, list)
	}
}

// isKeyEvent knows the channels on which a node itself publishes what happens to its keys, when it was told to
// (https://redis.io/docs/latest/develop/use/keyspace-notifications/).
func isKeyEvent(channel string) bool {
	return strings.HasPrefix(channel, "__keyevent@") || strings.HasPrefix(channel, "__keyspace@")
}

// events counts the nodes that tell of the same event of a key. It has happened when a majority says so.
type events struct {
	need   int
	rounds map[event]round
}

type event struct{ channel, payload string }

// round are the nodes that have told of an event, since one of them did.
type round struct {
	nodes uint64
	began time.Time
	told  bool
}

const (
	// longestRound is how far apart nodes may tell of the same event. Nodes look for expired keys ten times a second.
	longestRound = 5 * time.Second
	mostRounds   = 1 << 14
)

// told tells whether a majority has said so with this node, for the first time. A node that says so again has seen
// the next such event.
func (e *events) told(node int, channel, payload string, now time.Time) bool {
	at := event{channel, payload}
	r, known := e.rounds[at]
	if !known || now.Sub(r.began) > longestRound || r.nodes&(1<<node) != 0 {
		r = round{began: now}
	}
	r.nodes |= 1 << node
	first := !r.told && bits.OnesCount64(r.nodes) >= e.need
	r.told = r.told || first
	if e.rounds == nil || len(e.rounds) >= mostRounds {
		e.rounds = map[event]round{}
	}
	e.rounds[at] = r
	return first
}
