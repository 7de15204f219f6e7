package bus

import (
	"math/bits"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/quorum/envelope"
)

// mostHeld is how many letters of late nodes a topic holds back.
const mostHeld = 1024

// late are the nodes that confirmed a topic when it had been acknowledged already. The first letter of such a node may
// be one before which others have come that it did not send, and it may be ahead of the nodes that do send them. So for
// as long as publications are kept, what it sends waits until another node sends it too.
type late struct {
	until map[int]time.Time // by node; until then it is late
	held  []held
}

// held is a letter that waits.
type held struct {
	channel string
	letter  envelope.Letter
}

// note makes a node late on a topic.
func (l *late) note(node int, until time.Time) {
	if l.until == nil {
		l.until = map[int]time.Time{}
	}
	l.until[node] = until
}

// is tells whether a node is late.
func (l *late) is(node int) bool { return time.Now().Before(l.until[node]) }

// steady is the number of nodes that send all letters of the topic.
func (t *topic) steady() int {
	nodes := t.confirmed
	for node := range t.late.until {
		if t.late.is(node) {
			nodes &^= 1 << node
		}
	}
	return bits.OnesCount64(nodes)
}

// of is the topic that a node sends a message for; nil when nobody listens to it any more. The lock is held.
func (b *Bus) of(m *redis.Message) (commands.Topic, *topic) {
	name := commands.Topic{Kind: commands.TopicPattern, Name: m.Pattern}
	if m.Pattern == "" {
		channel, shard, _ := envelope.FromNode(m.Channel)
		name = commands.Topic{Kind: commands.TopicChannel, Name: channel}
		if shard {
			name.Kind = commands.TopicShard
		}
	}
	return name, b.topics[name]
}

// hold keeps a letter of a late node back. It tells whether it did. The lock is held.
func (b *Bus) hold(node int, m *redis.Message, l envelope.Letter) bool {
	name, t := b.of(m)
	if t == nil || t.late.until[node].IsZero() {
		return false
	}
	if !t.late.is(node) {
		delete(t.late.until, node)
		b.release(t)
		return false
	}
	if len(t.late.held) == 0 {
		time.AfterFunc(time.Until(t.late.until[node]), func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.topics[name] == t && b.ctx.Err() == nil {
				b.release(t)
			}
		})
	}
	t.late.held = append(t.late.held, held{m.Channel, l})
	if len(t.late.held) == mostHeld {
		b.release(t)
	}
	return true
}

// release delivers what is held back of a topic and has not come from another node. The lock is held.
func (b *Bus) release(t *topic) {
	list := t.late.held
	t.late.held = nil
	for _, h := range list {
		b.deliver(h.channel, h.letter)
	}
}

// rely ends that nodes are late on a topic: too few others are left that send all of it. The lock is held.
func (b *Bus) rely(t *topic) {
	if len(t.late.until) > 0 && t.steady() < b.need {
		t.late.until = nil
		b.release(t)
	}
}
