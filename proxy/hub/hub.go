// Package hub fans publications out to the sessions that subscribed. It does no IO and never waits: a receiver takes
// a message or drops it.
package hub

import (
	"sync"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/glob"
)

// Kind tells the three kinds of subscription apart; each has a namespace of its own.
type Kind = commands.TopicKind

// The kinds of subscription.
const (
	Channel = commands.TopicChannel
	Pattern = commands.TopicPattern
	Shard   = commands.TopicShard

	kinds = 3
)

// Receiver is a session as the hub sees it. It is called with the hub locked for reading, so it must neither wait nor
// call the hub.
type Receiver interface {
	// Deliver takes one message. A receiver that subscribed to a channel and to patterns gets it once for each.
	Deliver(d *Delivery)
	// Cut ends the session.
	Cut()
}

// Hub knows who subscribed to what in this process. Its methods are safe for concurrent use.
type Hub struct {
	mu     sync.RWMutex
	topics [kinds]map[string]map[Receiver]struct{}
}

// New returns a hub without subscribers.
func New() *Hub {
	h := &Hub{}
	for k := range h.topics {
		h.topics[k] = map[string]map[Receiver]struct{}{}
	}
	return h
}

// Add subscribes r. A message that is published after Add returned reaches r.
func (h *Hub) Add(r Receiver, k Kind, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	topic := h.topics[k][name]
	if topic == nil {
		topic = map[Receiver]struct{}{}
		h.topics[k][name] = topic
	}
	topic[r] = struct{}{}
}

// Remove ends a subscription. No Deliver for it begins after Remove returned.
func (h *Hub) Remove(r Receiver, k Kind, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	topic := h.topics[k][name]
	delete(topic, r)
	if len(topic) == 0 {
		delete(h.topics[k], name)
	}
}

// Message delivers a publication and returns how many times it was delivered, which is what PUBLISH answers. Calls
// that are made one after the other reach every receiver in that order.
func (h *Hub) Message(m commands.Message) int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if m.Shard {
		return deliver(h.topics[Shard][m.Channel], &Delivery{Kind: Shard, Topic: m.Channel, Message: m})
	}
	n := deliver(h.topics[Channel][m.Channel], &Delivery{Kind: Channel, Topic: m.Channel, Message: m})
	for pattern, topic := range h.topics[Pattern] {
		if glob.Match(pattern, m.Channel) {
			n += deliver(topic, &Delivery{Kind: Pattern, Topic: pattern, Message: m})
		}
	}
	return n
}

func deliver(topic map[Receiver]struct{}, d *Delivery) int {
	for r := range topic {
		r.Deliver(d)
	}
	return len(topic)
}

// Names returns the channels of a kind that have subscribers and match pattern, in no order.
func (h *Hub) Names(k Kind, pattern string) []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var names []string
	for name := range h.topics[k] {
		if glob.Match(pattern, name) {
			names = append(names, name)
		}
	}
	return names
}

// Subscribers is the number of receivers of one channel or pattern.
func (h *Hub) Subscribers(k Kind, name string) int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.topics[k][name])
}

// Topics is the number of channels or patterns of a kind that have subscribers.
func (h *Hub) Topics(k Kind) int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.topics[k])
}
