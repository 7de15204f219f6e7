package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/hub"
)

// publisher is a backend that publishes at once, as a state machine does.
func publisher(h *hub.Hub) *fakeBackend {
	return &fakeBackend{submit: func(c *Call) {
		r := c.Requests[0]
		if !strings.HasSuffix(r.Spec.Name, "publish") {
			echoBack(c)
			return
		}
		n := h.Message(Message{Channel: r.Args[1], Payload: r.Args[2], Shard: r.Spec.Name == "spublish"})
		c.Done(Result{Reply: resp.Int(int64(n))})
	}}
}

func startPubSub(t *testing.T, limits Limits) (*Server, *hub.Hub, string) {
	h := hub.New()
	srv, addr := start(t, Config{Backend: publisher(h), Hub: h, Limits: limits})
	return srv, h, addr
}

func TestSubscribersGetMessages(t *testing.T) {
	tests := map[string]struct{ hello, subscribe, ack, publish, message string }{
		"channel, RESP2": {
			"", "SUBSCRIBE a", "*3 $9 subscribe $1 a :1", "PUBLISH a hi", "*3 $7 message $1 a $2 hi",
		},
		"channel, RESP3": {
			"HELLO 3", "SUBSCRIBE a", ">3 $9 subscribe $1 a :1", "PUBLISH a hi", ">3 $7 message $1 a $2 hi",
		},
		"pattern, RESP2": {
			"", "PSUBSCRIBE a*", "*3 $10 psubscribe $2 a* :1", "PUBLISH ab hi", "*4 $8 pmessage $2 a* $2 ab $2 hi",
		},
		"pattern, RESP3": {
			"HELLO 3", "PSUBSCRIBE a*", ">3 $10 psubscribe $2 a* :1", "PUBLISH ab hi", ">4 $8 pmessage $2 a* $2 ab $2 hi",
		},
		"shard channel": {
			"", "SSUBSCRIBE a", "*3 $10 ssubscribe $1 a :1", "SPUBLISH a hi", "*3 $8 smessage $1 a $2 hi",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, addr := startPubSub(t, Limits{})
			subscriber, other := dial(t, addr), dial(t, addr)
			if tt.hello != "" {
				subscriber.do(tt.hello)
			}
			require.Equal(t, tt.ack, subscriber.do(tt.subscribe))
			require.Equal(t, ":1", other.do(tt.publish))
			require.Equal(t, tt.message, subscriber.next())
			require.Equal(t, ":0", other.do("PUBLISH nobody hi"))
		})
	}
}

func TestShardChannelsAreANamespaceOfTheirOwn(t *testing.T) {
	_, _, addr := startPubSub(t, Limits{})
	subscriber, other := dial(t, addr), dial(t, addr)
	subscriber.do("SSUBSCRIBE a")
	require.Equal(t, ":0", other.do("PUBLISH a hi"))
	require.Equal(t, "*1 $1 a", other.do("PUBSUB SHARDCHANNELS"))
	require.Equal(t, "*0", other.do("PUBSUB CHANNELS"))
	require.Equal(t, "*2 $1 a :1", other.do("PUBSUB SHARDNUMSUB a"))
	require.Equal(t, "*2 $1 a :0", other.do("PUBSUB NUMSUB a"))
}

func TestAMessageForChannelAndPatternComesTwice(t *testing.T) {
	_, _, addr := startPubSub(t, Limits{})
	subscriber, other := dial(t, addr), dial(t, addr)
	subscriber.send("SUBSCRIBE ab\r\nPSUBSCRIBE a* *b\r\n")
	require.Equal(t, "*3 $9 subscribe $2 ab :1", subscriber.next())
	require.Equal(t, "*3 $10 psubscribe $2 a* :2", subscriber.next())
	require.Equal(t, "*3 $10 psubscribe $2 *b :3", subscriber.next())
	require.Equal(t, ":3", other.do("PUBLISH ab hi"))
	require.Equal(t, "*3 $7 message $2 ab $2 hi", subscriber.next())
	require.Contains(t, subscriber.next(), "pmessage")
	require.Contains(t, subscriber.next(), "pmessage")
	require.Equal(t, ":2", other.do("PUBSUB NUMPAT"))
}

// One subscription a session over again, while another publishes without end: the first frame is always the
// acknowledgement, and none follows that of the end.
func TestAcknowledgementsFrameTheMessages(t *testing.T) {
	_, h, addr := startPubSub(t, Limits{})
	bursts, stopped := make(chan struct{}), make(chan struct{})
	go func() { // not without pause: on one processor nothing else would get on
		defer close(stopped)
		for range bursts {
			for range 100 {
				h.Message(Message{Channel: "a", Payload: "hi"})
			}
		}
	}()
	defer func() {
		close(bursts)
		<-stopped
	}()
	c := dial(t, addr)
	for range 200 {
		bursts <- struct{}{}
		require.Equal(t, "*3 $9 subscribe $1 a :1", c.do("SUBSCRIBE a"))
		bursts <- struct{}{}
		c.send("UNSUBSCRIBE\r\n")
		frame := c.next()
		for strings.Contains(frame, "message") {
			frame = c.next()
		}
		require.Equal(t, "*3 $11 unsubscribe $1 a :0", frame)
	}
	require.Equal(t, "+PONG", c.do("PING"))
}

// Effects of one connection take place in the order sent: a PUBLISH that is still on its way when SUBSCRIBE is read
// must not reach the subscription behind it, one sent after it must.
func TestASubscriptionBeginsBehindEarlierCommands(t *testing.T) {
	h := hub.New()
	var waiting held
	_, addr := start(t, Config{Hub: h, Backend: &fakeBackend{submit: waiting.take}})
	c := dial(t, addr)
	c.do("HELLO 3")
	c.send("PUBLISH a early\r\nSUBSCRIBE a\r\nPUBLISH a late\r\n")
	for i, call := range waiting.await(t, 2) {
		n := h.Message(Message{Channel: "a", Payload: call.Requests[0].Args[2]})
		require.Equal(t, i, n)
		call.Done(Result{Reply: resp.Int(int64(n))})
		if i == 0 {
			require.Equal(t, ":0", c.next())
			require.Equal(t, ">3 $9 subscribe $1 a :1", c.next())
		}
	}
	require.ElementsMatch(t, []string{":1", ">3 $7 message $1 a $4 late"}, []string{c.next(), c.next()})
}

// A message that waits behind an unanswered command is dropped when the subscription ends before its turn.
func TestNoMessageFollowsTheEndOfItsSubscription(t *testing.T) {
	h := hub.New()
	var waiting held
	_, addr := start(t, Config{Hub: h, Backend: &fakeBackend{submit: waiting.take}})
	c := dial(t, addr)
	c.do("HELLO 3")
	c.do("SUBSCRIBE a b")
	c.next()
	c.send("GET x\r\nUNSUBSCRIBE a\r\nGET y\r\n")
	gets := waiting.await(t, 2) // so UNSUBSCRIBE has its turn
	h.Message(Message{Channel: "a", Payload: "1"})
	h.Message(Message{Channel: "b", Payload: "2"})
	echoBack(gets[0])
	require.Equal(t, "$1 x", c.next())
	require.Equal(t, ">3 $11 unsubscribe $1 a :1", c.next())
	echoBack(gets[1])
	require.ElementsMatch(t, []string{"$1 y", ">3 $7 message $1 b $1 2"}, []string{c.next(), c.next()})
	require.Equal(t, "+PONG", c.do("PING"))
}

func TestLeavingTheHub(t *testing.T) {
	leave := map[string]func(c *client){
		"RESET":    func(c *client) { require.Equal(t, "+RESET", c.do("RESET")) },
		"QUIT":     func(c *client) { require.Equal(t, "+OK", c.do("QUIT")) },
		"a hangup": func(c *client) { require.NoError(t, c.Close()) },
	}
	for name, leave := range leave {
		t.Run(name, func(t *testing.T) {
			_, h, addr := startPubSub(t, Limits{})
			c := dial(t, addr)
			c.send("SUBSCRIBE a\r\nPSUBSCRIBE b\r\nSSUBSCRIBE c\r\n")
			for range 3 {
				c.next()
			}
			leave(c)
			require.Eventually(t, func() bool {
				return h.Topics(hub.Channel)+h.Topics(hub.Pattern)+h.Topics(hub.Shard) == 0
			}, patience, time.Millisecond)
		})
	}
}

func TestASlowSubscriberIsCutAndNobodyWaits(t *testing.T) {
	srv, h, addr := startPubSub(t, Limits{MaxOutput: 64 << 10})
	slow, quick := dial(t, addr), dial(t, addr)
	for _, c := range []*client{slow, quick} {
		c.do("SUBSCRIBE a")
	}
	payload := strings.Repeat("x", 16<<10)
	sent := 0
	for ; len(srv.all()) == 2; sent++ {
		h.Message(Message{Channel: "a", Payload: payload})
		require.Equal(t, fmt.Sprintf("*3 $7 message $1 a $%d %s", len(payload), payload), quick.next())
	}
	require.Less(t, strings.Count(slow.rest(), "message"), sent)
	require.Eventually(t, func() bool { return h.Subscribers(hub.Channel, "a") == 1 }, patience, time.Millisecond)
	require.Equal(t, int64(1), srv.stats.cutOff.Load())
}

// A client that asks for more than it reads is cut as well, also by a single command line.
func TestASlowReaderOfRepliesIsCut(t *testing.T) {
	value := strings.Repeat("x", 1<<20)
	var h held
	srv, addr := start(t, Config{Backend: &fakeBackend{submit: h.take}, Limits: Limits{MaxOutput: 4 << 20}})
	c := dial(t, addr)
	c.send(gets(20))
	for _, call := range h.await(t, 20)[1:] { // none can be written before the first
		call.Done(Result{Reply: resp.Str(value)})
	}
	require.Empty(t, c.rest())
	require.Eventually(t, func() bool { return srv.stats.cutOff.Load() == 1 }, patience, time.Millisecond)
}

// Reading commands pauses before a client that does read, if slowly, would be cut.
func TestAReaderThatKeepsReadingIsNotCut(t *testing.T) {
	const n = 200
	value := strings.Repeat("x", 64<<10)
	backend := &fakeBackend{submit: func(c *Call) { c.Done(Result{Reply: resp.Str(value)}) }}
	srv, addr := start(t, Config{Backend: backend, Limits: Limits{MaxOutput: 1 << 20}})
	c := dial(t, addr)
	c.send(gets(n))
	require.Eventually(t, func() bool { return srv.stats.bytesOut.Load() > 0 }, patience, time.Millisecond)
	for range n {
		require.Equal(t, "$65536 "+value, c.next())
	}
	require.Equal(t, "+PONG", c.do("PING"))
}

func TestAThousandSubscribers(t *testing.T) {
	const n = 1000
	_, h, addr := startPubSub(t, Limits{})
	clients := make([]*client, n)
	for i := range clients {
		clients[i] = dial(t, addr)
		clients[i].send("SUBSCRIBE a\r\n")
	}
	for _, c := range clients {
		require.Contains(t, c.next(), "subscribe")
	}
	for i := range 3 {
		require.Equal(t, n, h.Message(Message{Channel: "a", Payload: fmt.Sprint(i)}))
	}
	for _, c := range clients {
		for i := range 3 {
			require.Equal(t, fmt.Sprintf("*3 $7 message $1 a $1 %d", i), c.next())
		}
	}
}

// TestWhoMissedAMessageIsCut ends the connection of a subscriber, and no other.
func TestWhoMissedAMessageIsCut(t *testing.T) {
	_, h, addr := startPubSub(t, Limits{})
	subscriber, waiter := dial(t, addr), dial(t, addr)
	subscriber.do("SUBSCRIBE news")
	waiter.do("SUBSCRIBE redisson_lock__channel:{l}")
	h.Missed(func(string) bool { return true })
	require.Empty(t, subscriber.rest())
	require.Equal(t, "*3 $7 message $26 redisson_lock__channel:{l} $1 0", waiter.next())
	require.Contains(t, waiter.do("PING"), "pong")
}
