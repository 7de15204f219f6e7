package hub

import (
	"strings"

	"github.com/redfence/redfence/commands"
)

// wakeUps are the messages that make Redisson's waiters ask again, by the channel on which they listen. Nothing else makes them,
// not even a new connection, before the lease is over that they were told. Who asks in vain waits again.
var wakeUps = []struct{ prefix, payload string }{
	{"redisson_lock__channel:", "0"},
	{"redisson_rwlock:", "1"},                   // all of them, since readers share
	{"redisson_sc:", "2147483647"},              // permits: each waiter takes what it wants of them
	{"redisson_countdownlatch__channel__", "0"}, // only when the latch is gone: it stays open for who waits
}

// Missed says that publications of the recent past will not be delivered. Waiters of locks are woken; other sessions with a
// subscription are cut, so that they know. exists tells whether there is a key, in any database.
func (h *Hub) Missed(exists func(key string) bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for k := range h.topics {
		for name, topic := range h.topics[k] {
			payload, known := wakeUp(name, exists)
			switch {
			case !known || Kind(k) == Pattern:
				for r := range topic {
					r.Cut()
				}
			case payload != "":
				m := commands.Message{Channel: name, Payload: payload, Shard: Kind(k) == Shard}
				deliver(topic, &Delivery{Kind: Kind(k), Topic: name, Message: m})
			}
		}
	}
}

// wakeUp is what wakes those who listen to a channel, empty when nobody must be; and whether the channel is known.
func wakeUp(channel string, exists func(string) bool) (payload string, known bool) {
	for _, w := range wakeUps {
		object, found := strings.CutPrefix(channel, w.prefix)
		if !found {
			continue
		}
		if strings.HasPrefix(w.prefix, "redisson_countdownlatch") && existsLatch(object, exists) {
			return "", true
		}
		return w.payload, true
	}
	return "", false
}

// existsLatch tells whether there is a latch, whose channel has its name in braces.
func existsLatch(object string, exists func(string) bool) bool {
	return exists(object) || exists(strings.TrimSuffix(strings.TrimPrefix(object, "{"), "}"))
}
