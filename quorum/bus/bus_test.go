package bus

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/quorum/envelope"
)

// patience is how long tests wait for what must happen.
const patience = 20 * time.Second

// diary is a sink that writes everything down.
type diary struct {
	mu   sync.Mutex
	told []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	d.told = append(d.told, fmt.Sprintf(format, args...))
	d.mu.Unlock()
}

func (d *diary) Message(m commands.Message) int {
	kind := "message"
	if m.Shard {
		kind = "smessage"
	}
	d.note("%s %s %s", kind, m.Channel, m.Payload)
	return 1
}

func (d *diary) Ready(db int, key string) { d.note("ready %d %s", db, key) }
func (d *diary) ReadyAll(db int)          { d.note("readyall %d", db) }

func (d *diary) Accessed(_ int64, list []commands.Access) {
	for _, a := range list {
		if a.Kind == commands.FlushedKeys {
			d.note("flushed")
			continue
		}
		d.note("changed %s", a.Key)
	}
}

// all are the notes that begin so.
func (d *diary) all(prefix string) (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.told {
		if strings.HasPrefix(line, prefix) {
			list = append(list, line)
		}
	}
	return list
}

func (d *diary) await(t *testing.T, note string, times int) {
	t.Helper()
	if !harness.Poll(patience, func() bool { return len(d.all(note)) >= times }) {
		t.Fatalf("%q was not told %d times, but %q", note, times, d.all(""))
	}
}

// quorum is a number of servers with buses over them.
type quorum struct {
	t     *testing.T
	nodes []*harness.Server
	last  envelope.Sender
}

func newQuorum(t *testing.T) *quorum {
	t.Helper()
	q := &quorum{t: t}
	for range 3 {
		q.nodes = append(q.nodes, harness.StartRedis(t))
	}
	return q
}

// open starts a bus as another process would.
func (q *quorum) open() (*Bus, *diary) {
	d := &diary{}
	q.last++
	cfg := Config{Sink: d, Sender: q.last, Patience: patience}
	for i, s := range q.nodes {
		cfg.Nodes = append(cfg.Nodes, Node{Name: "node" + strconv.Itoa(i), Options: redis.Options{Addr: s.Addr}})
	}
	b := Open(cfg)
	q.t.Cleanup(b.Close)
	return b, d
}

// client speaks to one of the nodes directly.
func (q *quorum) client(node int) *harness.Conn { return harness.Dial(q.t, q.nodes[node].Addr) }

// subscribed waits until nodes send what is published on a channel to so many subscribers.
func (q *quorum) subscribed(channel string, subscribers int64, nodes ...int) {
	q.t.Helper()
	for _, i := range nodes {
		c := q.client(i)
		harness.Eventually(q.t, patience, func() bool {
			n, _ := c.Do("PUBSUB", "NUMSUB", channel).Elems[1].Int()
			return n == subscribers
		})
	}
}

func channel(name string) commands.Topic {
	return commands.Topic{Kind: commands.TopicChannel, Name: name}
}

// listen waits until a topic is heard.
func listen(t *testing.T, b *Bus, topic commands.Topic) {
	t.Helper()
	answer := make(chan error, 1)
	b.Listen(topic, func(err error) { answer <- err })
	require.NoError(t, <-answer)
}

// numbers are n messages in order.
func numbers(channel string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("message %s %d", channel, i))
	}
	return list
}

// Whatever happens to a minority of the nodes, each message arrives once everywhere, in the order of its publisher.
func TestEachMessageOnceAndInOrder(t *testing.T) {
	const n = 300
	tests := map[string]struct{ before, between func(s *harness.Server) }{
		"all nodes":        {},
		"a node is away":   {before: (*harness.Server).Kill},
		"a node goes away": {between: (*harness.Server).Kill},
		"a node is paused": {between: (*harness.Server).Pause},
		"a node restarts":  {between: func(s *harness.Server) { s.Kill(); s.Restart() }},
		"a node comes": {
			before:  (*harness.Server).Kill,
			between: (*harness.Server).Restart,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			q := newQuorum(t)
			if tt.before != nil {
				tt.before(q.nodes[1])
			}
			one, near := q.open()
			other, far := q.open()
			listen(t, one, channel("ch"))
			listen(t, other, channel("ch"))
			for i := range n {
				if i == n/2 && tt.between != nil {
					tt.between(q.nodes[1])
				}
				require.Equal(t, 1, one.Publish(commands.Message{Channel: "ch", Payload: strconv.Itoa(i)}))
			}
			require.Len(t, near.all(""), n, "local subscribers need not wait for the nodes")
			far.await(t, "message", n)
			q.nodes[1].Resume()
			other.Publish(commands.Message{Channel: "ch", Payload: "last"})
			near.await(t, "message ch last", 1)
			require.Equal(t, numbers("ch", n), far.all("message ch")[:n])
			require.Equal(t, append(numbers("ch", n), "message ch last"), near.all("message ch"))
			require.Zero(t, one.Lost())
		})
	}
}

// Two publishers at once: no message is lost, none comes twice, and those of each are in order.
func TestTwoPublishers(t *testing.T) {
	const n = 500
	q := newQuorum(t)
	buses, diaries := make([]*Bus, 2), make([]*diary, 2)
	for i := range buses {
		buses[i], diaries[i] = q.open()
		listen(t, buses[i], channel("a"))
		listen(t, buses[i], channel("b"))
	}
	var sending sync.WaitGroup
	for i, name := range []string{"a", "b"} {
		sending.Go(func() {
			for k := range n {
				buses[i].Publish(commands.Message{Channel: name, Payload: strconv.Itoa(k)})
			}
		})
	}
	sending.Wait()
	for _, d := range diaries {
		d.await(t, "message", 2*n)
		require.Equal(t, numbers("a", n), d.all("message a"))
		require.Equal(t, numbers("b", n), d.all("message b"))
	}
}

// After a restart a node is subscribed to again, so that the next one may go.
func TestNodesRestartOneAfterAnother(t *testing.T) {
	q := newQuorum(t)
	one, _ := q.open()
	other, far := q.open()
	topics := []commands.Topic{channel("ch"), {Kind: commands.TopicPattern, Name: "p*"}, {Kind: commands.TopicShard, Name: "s"}}
	for _, topic := range topics {
		listen(t, other, topic)
	}
	for i := range q.nodes {
		q.nodes[i].Kill()
		for _, m := range []commands.Message{{Channel: "ch"}, {Channel: "p1"}, {Channel: "s", Shard: true}} {
			m.Payload = strconv.Itoa(i)
			one.Publish(m)
		}
		for _, want := range []string{"message ch", "message p1", "smessage s"} {
			far.await(t, want+" "+strconv.Itoa(i), 1)
		}
		q.nodes[i].Restart()
		q.subscribed("ch", 1, i)
		q.subscribed("__redfence__:shard:s", 1, i)
	}
	require.Len(t, far.all(""), 9)
}

// What somebody publishes on a node directly comes as it is, once, whatever matches it.
func TestRawMessages(t *testing.T) {
	q := newQuorum(t)
	b, d := q.open()
	topics := []commands.Topic{channel("ab"), {Kind: commands.TopicPattern, Name: "a*"}, {Kind: commands.TopicPattern, Name: "*c"}}
	for _, topic := range topics {
		listen(t, b, topic)
	}
	q.subscribed("ab", 1, 0, 1, 2)
	node := q.client(2)
	harness.Eventually(t, patience, func() bool { return node.Int("PUBSUB", "NUMPAT") == 2 })
	for _, c := range []string{"ab", "ac", "xc"} {
		node.Do("PUBLISH", c, "hi")
	}
	node.Do("PUBLISH", "__redfence__:notices", "noise")
	node.Do("PUBLISH", "__redfence__:notices", envelope.Wrap(envelope.Letter{From: 99, Number: 1, Payload: "later 1"}))
	node.Do("PUBLISH", "ab", "last")
	d.await(t, "message ab last", 1)
	require.Equal(t, []string{"message ab hi", "message ac hi", "message xc hi", "message ab last"}, d.all(""))
}

// Without a majority a subscription fails with a reason for each node, and publications are counted as lost.
func TestWithoutAMajority(t *testing.T) {
	q := newQuorum(t)
	q.nodes[0].Kill()
	q.nodes[2].Kill()
	d := &diary{}
	cfg := Config{Sink: d, Sender: 7, Patience: 200 * time.Millisecond, Keep: 200 * time.Millisecond}
	for i, s := range q.nodes {
		cfg.Nodes = append(cfg.Nodes, Node{Name: "node" + strconv.Itoa(i), Options: redis.Options{Addr: s.Addr}})
	}
	b := Open(cfg)
	t.Cleanup(b.Close)
	q.subscribed(envelope.Notices, 1, 1)
	answer := make(chan error, 1)
	b.Listen(channel("ch"), func(err error) { answer <- err })
	err := <-answer
	require.ErrorContains(t, err, "CLUSTERDOWN quorum lost: 1 of 3 nodes confirmed the subscription (node0: connection refused, node2: connection refused)")
	b.Publish(commands.Message{Channel: "ch", Payload: "x"})
	harness.Eventually(t, patience, func() bool { return b.Lost() == 1 })
	b.Unlisten(channel("ch"))
	q.nodes[0].Restart()
	answer = make(chan error, 1)
	harness.Eventually(t, patience, func() bool {
		b.Listen(channel("ch"), func(err error) { answer <- err })
		if <-answer == nil {
			return true
		}
		b.Unlisten(channel("ch"))
		return false
	})
}

// An unsubscription and a subscription again, without waiting: the confirmation of the first one does not count.
func TestListeningInTurn(t *testing.T) {
	q := newQuorum(t)
	one, _ := q.open()
	other, far := q.open()
	for i := range 100 {
		if i%2 == 1 {
			other.Listen(channel("ch"), func(error) {})
			other.Unlisten(channel("ch"))
		}
		listen(t, other, channel("ch"))
		one.Publish(commands.Message{Channel: "ch", Payload: strconv.Itoa(i)})
		far.await(t, fmt.Sprintf("message ch %d", i), 1)
		other.Unlisten(channel("ch"))
	}
}

func TestThousandsOfChannels(t *testing.T) {
	const n = 3000
	q := newQuorum(t)
	one, _ := q.open()
	other, far := q.open()
	var ready sync.WaitGroup
	for i := range n {
		ready.Add(1)
		other.Listen(channel("ch"+strconv.Itoa(i)), func(err error) {
			if err != nil {
				t.Error(err)
			}
			ready.Done()
		})
	}
	ready.Wait()
	for i := range n {
		one.Publish(commands.Message{Channel: "ch" + strconv.Itoa(i), Payload: "x"})
	}
	far.await(t, "message", n)
	for i := range n {
		other.Unlisten(channel("ch" + strconv.Itoa(i)))
	}
	q.subscribed("ch0", 0, 0, 1, 2)
	q.subscribed("ch2999", 0, 0, 1, 2)
}

func TestNotices(t *testing.T) {
	q := newQuorum(t)
	one, near := q.open()
	_, far := q.open()
	q.subscribed(envelope.Notices, 2, 0, 1, 2)
	one.Ready(3, "a list")
	one.ReadyAll(5)
	far.await(t, "readyall 5", 1)
	want := []string{"ready 3 a list", "readyall 5"}
	require.Equal(t, want, far.all(""))
	require.Equal(t, want, near.all(""))
}

// What clients may not listen to is answered at once, and never heard.
func TestReservedChannels(t *testing.T) {
	q := newQuorum(t)
	b, d := q.open()
	for _, name := range []string{envelope.Notices, "__redfence__:x", invalidations} {
		listen(t, b, channel(name))
		b.Unlisten(channel(name))
	}
	b.Publish(commands.Message{Channel: "__redfence__:notices", Payload: "ready 1 x"})
	require.Empty(t, d.all("ready"))
}

// While keys are tracked, changes are heard from whoever makes them, and of whatever kind they are.
func TestChanges(t *testing.T) {
	q := newQuorum(t)
	b, d := q.open()
	listen(t, b, changes)
	node := q.client(1)
	harness.Eventually(t, patience, func() bool { return strings.Contains(node.Do("CLIENT", "LIST").Text, "flags=tB") })
	node.Want("OK", "SET", "direct", "1", "PX", "50")
	node.Want("OK", "SET", "__redfence__:direct", "companion")
	d.await(t, "changed direct", 2) // set, and expired
	require.Empty(t, d.all("changed __redfence__"))
	node.Want("OK", "FLUSHALL")
	d.await(t, "flushed", 1)
	b.Unlisten(changes)
	harness.Eventually(t, patience, func() bool { return !strings.Contains(node.Do("CLIENT", "LIST").Text, "flags=tB") })
}

// When changes may have been missed, all keys may have changed. One node away is no reason.
func TestChangesThatMayBeMissed(t *testing.T) {
	q := newQuorum(t)
	b, d := q.open()
	listen(t, b, changes)
	tracked := func(node int) {
		c := q.client(node)
		harness.Eventually(t, patience, func() bool { return strings.Contains(c.Do("CLIENT", "LIST").Text, "flags=tB") })
	}
	for i := range q.nodes {
		tracked(i)
	}
	q.nodes[0].Kill()
	q.client(1).Do("SET", "k", "1")
	d.await(t, "changed k", 1)
	require.Empty(t, d.all("flushed"))
	q.nodes[1].Kill()
	d.await(t, "flushed", 1)
	q.nodes[0].Restart()
	d.await(t, "flushed", 2)
	tracked(0)
	q.client(0).Do("SET", "k", "2")
	d.await(t, "changed k", 2)
	// The connection that asked for tracking is cut: tracking is over, and nobody says so.
	c := q.client(2)
	for line := range strings.Lines(c.Do("CLIENT", "LIST").Text) {
		if strings.Contains(line, "flags=tB") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			c.Want("(integer) 1", "CLIENT", "KILL", "ID", id)
		}
	}
	d.await(t, "flushed", 3)
	d.await(t, "flushed", 4)
}

// The end of a key is told when a majority of the nodes says so: once, and each time.
func TestKeyEvents(t *testing.T) {
	const ch = "__keyevent@0__:expired"
	q := newQuorum(t)
	b, d := q.open()
	listen(t, b, channel(ch))
	q.subscribed(ch, 1, 0, 1, 2)
	for round := range 3 {
		q.client(0).Do("SET", "minority", "1", "PX", "1")
		for i := range q.nodes {
			q.client(i).Do("SET", "k", "1", "PX", "1")
			q.client(i).Do("SET", "__redfence__:k", "1", "PX", "1")
		}
		d.await(t, "message "+ch+" k", round+1)
	}
	last := q.client(0)
	last.Do("PUBLISH", ch, "end")
	q.client(1).Do("PUBLISH", ch, "end")
	d.await(t, "message "+ch+" end", 1)
	require.Len(t, d.all("message "+ch+" k"), 3)
	require.Empty(t, d.all("message "+ch+" __redfence__"))
	require.Empty(t, d.all("message "+ch+" minority"))
}

func TestEventsAreCountedByNode(t *testing.T) {
	type tell struct {
		node  int
		after time.Duration
		want  bool
	}
	tests := map[string][]tell{
		"a majority":              {{0, 0, false}, {1, 0, true}, {2, 0, false}},
		"one node alone":          {{0, 0, false}, {0, 0, false}, {0, 0, false}},
		"the next time":           {{0, 0, false}, {1, 0, true}, {2, 0, false}, {2, 0, false}, {0, 0, true}, {1, 0, false}},
		"too far apart":           {{0, 0, false}, {1, 2 * longestRound, false}, {2, 0, true}},
		"one late for the first":  {{0, 0, false}, {1, 0, true}, {0, 0, false}, {1, 0, true}},
		"a straggler of long ago": {{0, 0, false}, {1, 0, true}, {2, 2 * longestRound, false}},
	}
	for name, tells := range tests {
		t.Run(name, func(t *testing.T) {
			e, now := events{need: 2}, time.Now()
			for i, tell := range tells {
				now = now.Add(tell.after)
				require.Equal(t, tell.want, e.told(tell.node, "c", "k", now), "tell %d", i)
			}
		})
	}
	e := events{need: 2}
	for i := range 3 * mostRounds {
		e.told(0, "c", strconv.Itoa(i), time.Now())
		require.LessOrEqual(t, len(e.rounds), mostRounds)
	}
}

// A node that is away does not make the memory grow: the oldest publications are dropped for it.
func TestAQueueIsBounded(t *testing.T) {
	b := &Bus{cfg: Config{Keep: time.Hour}, need: 1}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	m := newMouth(b, Node{Options: redis.Options{Addr: "127.0.0.1:1"}})
	parcels := make([]*parcel, mostWaiting+10)
	for i := range parcels {
		parcels[i] = &parcel{text: "x", born: time.Now(), lost: &losses{}}
		parcels[i].left.Store(2)
		m.push(parcels[i])
	}
	require.Len(t, m.queue, mostWaiting)
	require.Equal(t, mostWaiting, m.bytes)
	require.EqualValues(t, 1, parcels[9].left.Load())
	require.EqualValues(t, 2, parcels[10].left.Load())
	b.cancel()
}

// A bus that ends has published what it was given.
func TestCloseSendsWhatIsLeft(t *testing.T) {
	q := newQuorum(t)
	other, far := q.open()
	listen(t, other, channel("ch"))
	one, _ := q.open()
	for i := range 1000 {
		one.Publish(commands.Message{Channel: "ch", Payload: strconv.Itoa(i)})
	}
	one.Close()
	far.await(t, "message ch", 1000)
	require.True(t, slices.Equal(numbers("ch", 1000), far.all("message ch")))
}
