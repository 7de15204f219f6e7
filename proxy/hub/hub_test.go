package hub

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// inbox is a receiver that keeps what it is sent.
type inbox struct {
	got []string
	cut bool
}

func (i *inbox) Deliver(d *Delivery) { i.got = append(i.got, string(d.Frame(resp.RESP2))) }

func (i *inbox) Cut() { i.cut = true }

func TestMessageReachesItsSubscribers(t *testing.T) {
	tests := map[string]struct {
		kind    Kind
		topic   string
		message commands.Message
		want    []string
	}{
		"the channel": {
			Channel, "a",
			commands.Message{Channel: "a", Payload: "hi"},
			[]string{"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n"},
		},
		"another channel": {Channel, "b", commands.Message{Channel: "a"}, nil},
		"a pattern": {
			Pattern, "*",
			commands.Message{Channel: "a", Payload: "hi"},
			[]string{"*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\na\r\n$2\r\nhi\r\n"},
		},
		"a channel is no pattern": {Channel, "*", commands.Message{Channel: "a"}, nil},
		"the shard channel": {
			Shard, "a",
			commands.Message{Channel: "a", Payload: "hi", Shard: true},
			[]string{"*3\r\n$8\r\nsmessage\r\n$1\r\na\r\n$2\r\nhi\r\n"},
		},
		"a shard message is no message": {Channel, "a", commands.Message{Channel: "a", Shard: true}, nil},
		"a message is no shard message": {Shard, "a", commands.Message{Channel: "a"}, nil},
		"patterns get no shard message": {Pattern, "*", commands.Message{Channel: "a", Shard: true}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, r := New(), &inbox{}
			h.Add(r, tt.kind, tt.topic)
			require.Equal(t, len(tt.want), h.Message(tt.message))
			require.Equal(t, tt.want, r.got)
			h.Remove(r, tt.kind, tt.topic)
			require.Zero(t, h.Message(tt.message))
			require.Zero(t, h.Topics(tt.kind))
		})
	}
}

func TestAddAndRemoveAreIdempotent(t *testing.T) {
	h, r := New(), &inbox{}
	h.Add(r, Channel, "a")
	h.Add(r, Channel, "a")
	require.Equal(t, 1, h.Subscribers(Channel, "a"))
	h.Remove(r, Channel, "a")
	h.Remove(r, Channel, "a")
	require.Zero(t, h.Subscribers(Channel, "a"))
}

func TestNames(t *testing.T) {
	h := New()
	for _, name := range []string{"news.1", "news.2", "lock"} {
		h.Add(&inbox{}, Channel, name)
	}
	h.Add(&inbox{}, Shard, "news.3")
	require.Equal(t, []string{"news.1", "news.2"}, slices.Sorted(slices.Values(h.Names(Channel, "news.*"))))
}

func TestSubscribersShareTheBytes(t *testing.T) {
	d := &Delivery{Kind: Channel, Topic: "a", Message: commands.Message{Channel: "a", Payload: "hi"}}
	first, second := d.Frame(resp.RESP2), d.Frame(resp.RESP2)
	require.Same(t, &first[0], &second[0])
	require.Equal(t, ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n", string(d.Frame(resp.RESP3)))
}

func BenchmarkMessage(b *testing.B) {
	h := New()
	for range 1000 {
		h.Add(deaf{new(int)}, Channel, "a")
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Message(commands.Message{Channel: "a", Payload: "0"})
	}
}

type deaf struct{ id *int }

func (deaf) Deliver(*Delivery) {}
func (deaf) Cut()              {}

// TestMissedWakesOrCuts: whoever waits for a message that will not come asks again, or knows.
func TestMissedWakesOrCuts(t *testing.T) {
	message := func(channel, payload string) []string {
		return []string{string(resp.Append(nil, resp.Strs("message", channel, payload), resp.RESP2))}
	}
	tests := map[string]struct {
		kind  Kind
		topic string
		want  []string
		cut   bool
	}{
		"a lock":                 {Channel, "redisson_lock__channel:{l}", message("redisson_lock__channel:{l}", "0"), false},
		"a place in a fair lock": {Channel, "redisson_lock__channel:{l}:id:1", message("redisson_lock__channel:{l}:id:1", "0"), false},
		"a read/write lock":      {Channel, "redisson_rwlock:{l}", message("redisson_rwlock:{l}", "1"), false},
		"a semaphore":            {Channel, "redisson_sc:{s}", message("redisson_sc:{s}", "2147483647"), false},
		"a latch that is gone":   {Channel, "redisson_countdownlatch__channel__{gone}", message("redisson_countdownlatch__channel__{gone}", "0"), false},
		"a latch":                {Channel, "redisson_countdownlatch__channel__{latch}", nil, false},
		"a channel":              {Channel, "news", nil, true},
		"a shard channel":        {Shard, "news", nil, true},
		"a pattern":              {Pattern, "redisson_lock__channel:*", nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, r := New(), &inbox{}
			h.Add(r, tt.kind, tt.topic)
			h.Missed(func(key string) bool { return key == "latch" })
			require.Equal(t, tt.want, r.got)
			require.Equal(t, tt.cut, r.cut)
		})
	}
}
