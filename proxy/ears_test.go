package proxy

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/hub"
)

// radio is what a backend was told to listen to. It answers when the test says so.
type radio struct {
	mu     sync.Mutex
	asked  map[Topic]func(error) // listened to now
	log    []string
	atOnce bool
}

func (r *radio) Listen(t Topic, ready func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, "+"+t.Name)
	if r.asked == nil {
		r.asked = map[Topic]func(error){}
	}
	r.asked[t] = ready
	if r.atOnce {
		ready(nil)
	}
}

func (r *radio) Unlisten(t Topic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, "-"+t.Name)
	delete(r.asked, t)
}

func (r *radio) listening() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

func (r *radio) told() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, " ")
}

// answer settles a topic as soon as it was asked for.
func (r *radio) answer(t *testing.T, topic Topic, err error) {
	t.Helper()
	var ready func(error)
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		ready = r.asked[topic]
		return ready != nil
	}, patience, time.Millisecond)
	ready(err)
}

func channel(name string) Topic { return Topic{Kind: hub.Channel, Name: name} }

func startRadio(t *testing.T) (*radio, *hub.Hub, string) {
	r, h := &radio{}, hub.New()
	backend := publisher(h)
	backend.listen, backend.end = r.Listen, r.Unlisten
	_, addr := start(t, Config{Backend: backend, Hub: h})
	return r, h, addr
}

// The acknowledgement waits for the backend; what is published before it does not count as subscribed to.
func TestASubscriptionWaitsForTheBackend(t *testing.T) {
	r, h, addr := startRadio(t)
	c := dial(t, addr)
	c.send("SUBSCRIBE a b\r\nPING\r\n")
	r.answer(t, channel("a"), nil)
	require.Zero(t, h.Message(Message{Channel: "a", Payload: "early"}))
	r.answer(t, channel("b"), nil)
	require.Equal(t, "*3 $9 subscribe $1 a :1", c.next())
	require.Equal(t, "*3 $9 subscribe $1 b :2", c.next())
	require.Equal(t, "*2 $4 pong $0 ", c.next())
	require.Equal(t, 1, h.Message(Message{Channel: "a", Payload: "late"}))
	require.Equal(t, "*3 $7 message $1 a $4 late", c.next())
}

// The first subscriber of this process makes the backend listen, the last one ends it.
func TestTheBackendListensOnceForAll(t *testing.T) {
	r, _, addr := startRadio(t)
	r.atOnce = true
	one, other := dial(t, addr), dial(t, addr)
	require.Equal(t, "*3 $9 subscribe $1 a :1", one.do("SUBSCRIBE a"))
	require.Equal(t, "*3 $9 subscribe $1 a :1", one.do("SUBSCRIBE a"))
	require.Equal(t, "*3 $9 subscribe $1 a :1", other.do("SUBSCRIBE a"))
	require.Equal(t, "*3 $11 unsubscribe $1 a :0", one.do("UNSUBSCRIBE a"))
	require.Equal(t, "*3 $11 unsubscribe $1 a :0", one.do("UNSUBSCRIBE a"))
	require.Equal(t, "+a", r.told())
	require.Equal(t, "*3 $11 unsubscribe $1 a :0", other.do("UNSUBSCRIBE"))
	require.Equal(t, "+a -a", r.told())
	require.Equal(t, "*3 $9 subscribe $1 a :1", other.do("SUBSCRIBE a"))
	require.NoError(t, other.Close())
	require.Eventually(t, func() bool { return r.told() == "+a -a +a -a" }, patience, time.Millisecond)
}

func TestManySubscribersWaitTogether(t *testing.T) {
	r, h, addr := startRadio(t)
	clients := make([]*client, 20)
	for i := range clients {
		clients[i] = dial(t, addr)
		clients[i].send("SUBSCRIBE a\r\n")
	}
	r.answer(t, channel("a"), nil)
	for _, c := range clients {
		require.Equal(t, "*3 $9 subscribe $1 a :1", c.next())
	}
	require.Equal(t, len(clients), h.Subscribers(hub.Channel, "a"))
	require.Equal(t, "+a", r.told())
}

// Whoever cannot be subscribed is told why, and is not left in doubt about what else it is subscribed to.
func TestASubscriptionThatFailsEndsTheConnection(t *testing.T) {
	r, h, addr := startRadio(t)
	failing, next := dial(t, addr), dial(t, addr)
	failing.send("SUBSCRIBE a\r\nSUBSCRIBE b\r\n")
	r.answer(t, channel("a"), resp.NotSubscribed(1, 3, "node2: connection refused"))
	require.Equal(t, "-CLUSTERDOWN quorum lost: 1 of 3 nodes confirmed the subscription (node2: connection refused); "+
		"nothing was subscribed; subscribe again when a majority of the nodes can be reached\r\n", failing.rest())
	require.Eventually(t, func() bool { return r.listening() == 0 }, patience, time.Millisecond)
	next.send("SUBSCRIBE a\r\n")
	r.answer(t, channel("a"), nil)
	require.Equal(t, "*3 $9 subscribe $1 a :1", next.next())
	require.Equal(t, 1, h.Subscribers(hub.Channel, "a"))
}

// After a failure the backend is asked again, also while the session of the first failure is not over.
func TestAFailureIsNotRemembered(t *testing.T) {
	r := &radio{}
	e := newEars(&fakeBackend{listen: r.Listen, end: r.Unlisten})
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	first := e.take(channel("a"), note)
	r.asked[channel("a")](errors.New("down"))
	second := e.take(channel("a"), note)
	r.asked[channel("a")](nil)
	e.give(first)
	require.Equal(t, "+a -a +a", r.told(), "the first one's end must not end the second")
	e.give(second)
	require.Equal(t, "+a -a +a -a", r.told())
	require.Len(t, errs, 2)
	require.Error(t, errs[0])
	require.NoError(t, errs[1])
}

func TestUnsubscribeWhileASubscriptionWaits(t *testing.T) {
	r, h, addr := startRadio(t)
	c := dial(t, addr)
	c.send("SUBSCRIBE a\r\nUNSUBSCRIBE a\r\nSUBSCRIBE a\r\nPING\r\n")
	r.answer(t, channel("a"), nil)
	require.Equal(t, "*3 $9 subscribe $1 a :1", c.next())
	require.Equal(t, "*3 $11 unsubscribe $1 a :0", c.next())
	require.Equal(t, "*3 $9 subscribe $1 a :1", c.next())
	require.Equal(t, "*2 $4 pong $0 ", c.next())
	require.Equal(t, 1, h.Message(Message{Channel: "a", Payload: "hi"}))
	require.Equal(t, "*3 $7 message $1 a $2 hi", c.next())
	require.Equal(t, 1, r.listening())
}

// Whatever a session took is given up when it ends, also what its unanswered commands were to give up.
func TestAHangUpGivesUpWhatWaits(t *testing.T) {
	tests := map[string]string{
		"a subscription that waits":           "SUBSCRIBE a\r\n",
		"one that waits to be ended":          "SUBSCRIBE a\r\nUNSUBSCRIBE a\r\n",
		"the end of one behind another":       "SUBSCRIBE a\r\nSUBSCRIBE b\r\nUNSUBSCRIBE a\r\n",
		"one and the same, and all of it off": "SUBSCRIBE a\r\nUNSUBSCRIBE\r\nSUBSCRIBE a\r\nRESET\r\n",
	}
	for name, sent := range tests {
		t.Run(name, func(t *testing.T) {
			r, h, addr := startRadio(t)
			c := dial(t, addr)
			c.send(sent)
			require.Eventually(t, func() bool { return r.listening() == strings.Count(sent, " b\r\n")+1 }, patience, time.Millisecond)
			require.NoError(t, c.Conn.(interface{ SetLinger(int) error }).SetLinger(0)) // a reset, not an end of input
			require.NoError(t, c.Close())
			require.Eventually(t, func() bool { return r.listening() == 0 }, patience, time.Millisecond)
			require.Zero(t, h.Topics(hub.Channel))
		})
	}
}

// A subscription ends at the hub too, when its UNSUBSCRIBE stands behind a command that is never answered.
func TestAnUnansweredUnsubscribeLeavesNothingAtTheHub(t *testing.T) {
	h := hub.New()
	var waiting held
	_, addr := start(t, Config{Hub: h, Backend: &fakeBackend{submit: waiting.take}})
	c := dial(t, addr)
	c.do("HELLO 3")
	c.do("SUBSCRIBE a")
	c.send("GET x\r\nUNSUBSCRIBE a\r\n")
	waiting.await(t, 1)
	require.NoError(t, c.Conn.(interface{ SetLinger(int) error }).SetLinger(0))
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool { return h.Topics(hub.Channel) == 0 }, patience, time.Millisecond)
}

func TestThousandsOfChannelsInOneCommand(t *testing.T) {
	const n = 5000
	r, h, addr := startRadio(t)
	c := dial(t, addr)
	words := []string{"SUBSCRIBE"}
	for i := range n {
		words = append(words, fmt.Sprint("ch", i))
	}
	c.send(array(words...))
	require.Eventually(t, func() bool { return r.listening() == n }, patience, time.Millisecond)
	for _, name := range words[1:] {
		r.answer(t, channel(name), nil)
	}
	for i, name := range words[1:] {
		require.Equal(t, fmt.Sprintf("*3 $9 subscribe $%d %s :%d", len(name), name, i+1), c.next())
	}
	require.Equal(t, n, h.Topics(hub.Channel))
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool { return r.listening() == 0 && h.Topics(hub.Channel) == 0 }, patience, time.Millisecond)
}

func TestSubscribeInATransactionWaitsForTheBackend(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"heard":     {nil, "*2\r\n+PONG\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n+OK\r\n"},
		"not heard": {resp.Failure("ERR no"), "*2\r\n+PONG\r\n-ERR no\r\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, _, addr := startRadio(t)
			c := dial(t, addr)
			c.do("HELLO 3")
			c.do("MULTI")
			c.do("PING")
			require.Equal(t, "+QUEUED", c.do("SUBSCRIBE a"))
			c.send("EXEC\r\nQUIT\r\n")
			r.answer(t, channel("a"), tt.err)
			require.Equal(t, tt.want, c.rest())
		})
	}
}

// OK means that no change of a key goes unheard from then on.
func TestTrackingWaitsForTheBackend(t *testing.T) {
	topic := Topic{Kind: commands.TopicChanges}
	r, _, addr := startRadio(t)
	c := dial(t, addr)
	c.do("HELLO 3")
	c.send("CLIENT TRACKING ON\r\n")
	r.answer(t, topic, nil)
	require.Equal(t, "+OK", c.next())
	require.Equal(t, "+OK", c.do("CLIENT TRACKING ON")) // it listens already
	require.Equal(t, "+OK", c.do("CLIENT TRACKING OFF"))
	require.Zero(t, r.listening())
	c.send("CLIENT TRACKING ON\r\nCLIENT TRACKING OFF\r\nPING\r\n") // nobody answers
	require.Equal(t, "+OK", c.next())
	require.Equal(t, "+OK", c.next())
	require.Equal(t, "+PONG", c.next())
	c.send("CLIENT TRACKING ON\r\n")
	r.answer(t, topic, resp.Failure("ERR no"))
	require.Equal(t, "-ERR no\r\n", c.rest())
	require.Eventually(t, func() bool { return r.listening() == 0 }, patience, time.Millisecond)
}
