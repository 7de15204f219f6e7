package upstream

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/glob"
	"github.com/redfence/redfence/commands/resp"
)

// patience is how long a subscription waits for the upstream before the client is told that it failed.
const patience = 2500 * time.Millisecond

// listener hears for all sessions what is published at the upstream, over one connection.
type listener struct {
	u *Upstream

	mu     sync.Mutex
	topics map[Topic]*wanted
	owed   map[Topic]int // confirmations that are still to come
	conn   net.Conn      // nil while there is none
	out    []byte        // not yet written
	more   chan struct{}

	heard map[Topic]struct{} // what the server has confirmed; of the goroutine that reads
}

// wanted is a topic that sessions listen to.
type wanted struct {
	ready func(error) // nil once it was called
	timer *time.Timer
}

func newListener(u *Upstream) *listener {
	return &listener{u: u, topics: map[Topic]*wanted{}, more: make(chan struct{}, 1)}
}

// listen is proxy.Upstream's.
func (l *listener) listen(t Topic, ready func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &wanted{ready: ready}
	w.timer = time.AfterFunc(patience, func() { l.giveUp(t, w) })
	l.topics[t] = w
	if l.conn != nil {
		l.subscribe(t)
	}
	l.wake()
}

// unlisten is proxy.Upstream's.
func (l *listener) unlisten(t Topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.topics[t]
	if w == nil {
		return
	}
	w.timer.Stop()
	delete(l.topics, t)
	if l.conn != nil {
		_, end := verbs(t.Kind)
		l.out = appendLine(l.out, []string{end, t.Name})
	}
	l.wake()
}

// subscribe asks for a topic on the connection. l.mu is held.
func (l *listener) subscribe(t Topic) {
	l.owed[t]++
	begin, _ := verbs(t.Kind)
	l.out = appendLine(l.out, []string{begin, t.Name})
}

// verbs are the commands that begin and end a subscription to a kind of topic, and the first words of their confirmations.
func verbs(k commands.TopicKind) (begin, end string) {
	switch k {
	case commands.TopicPattern:
		return "psubscribe", "punsubscribe"
	case commands.TopicShard:
		return "ssubscribe", "sunsubscribe"
	case commands.TopicChannel, commands.TopicChanges:
	}
	return "subscribe", "unsubscribe"
}

func (l *listener) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// giveUp tells that a topic cannot be had now.
func (l *listener) giveUp(t Topic, w *wanted) {
	l.mu.Lock()
	ready := w.ready
	w.ready = nil
	if l.topics[t] != w {
		ready = nil
	}
	l.mu.Unlock()
	if ready != nil {
		ready(l.u.unreachable())
	}
}

// run keeps a connection while something is listened to.
func (l *listener) run() {
	for l.u.ctx.Err() == nil {
		l.mu.Lock()
		needed := len(l.topics) > 0
		l.mu.Unlock()
		if !needed {
			select {
			case <-l.more:
			case <-l.u.ctx.Done():
			}
			continue
		}
		if conn, _, err := l.u.dial(l.u.ctx); err == nil {
			l.serve(conn)
		}
		l.u.pause(retryPause)
	}
}

// serve uses a connection until it ends.
func (l *listener) serve(conn net.Conn) {
	ctx, cancel := context.WithCancel(l.u.ctx)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close()
	t := newTalk(conn)
	if l.u.login(t) != nil {
		cancel()
		return
	}
	l.begin(conn)
	var writer sync.WaitGroup
	writer.Go(func() { l.write(ctx, conn) })
	for {
		v, err := t.receive()
		if err != nil {
			break
		}
		l.take(v)
	}
	cancel()
	writer.Wait()
	l.broken()
}

// begin asks for all topics on a new connection.
func (l *listener) begin(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.heard, l.owed = conn, map[Topic]struct{}{}, map[Topic]int{}
	for t := range l.topics {
		l.subscribe(t)
	}
	l.wake()
}

func (l *listener) write(ctx context.Context, conn net.Conn) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.more:
		}
		l.mu.Lock()
		out := l.out
		l.out = nil
		l.mu.Unlock()
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := conn.Write(out); err != nil {
			_ = conn.Close()
			return
		}
	}
}

// reconnect has the listener connect again, to the server that is the master now.
func (l *listener) reconnect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		_ = l.conn.Close()
	}
}

// broken tells of topics on which messages may be missed from now on. A client of Redis would be cut off.
func (l *listener) broken() {
	l.mu.Lock()
	l.conn, l.out = nil, nil
	var lost []Topic
	for t := range l.heard {
		if w := l.topics[t]; w != nil && w.ready == nil {
			lost = append(lost, t)
		}
	}
	l.mu.Unlock()
	if len(lost) > 0 && l.u.ctx.Err() == nil {
		l.u.cfg.Lost(lost)
	}
}

// take handles what the server sends.
func (l *listener) take(v resp.Value) {
	if len(v.Elems) < 3 {
		return
	}
	word, name := v.Elems[0].Str, v.Elems[1].Str
	switch word {
	case "message":
		l.u.cfg.Sink.Message(commands.Message{Channel: name, Payload: v.Elems[2].Str})
	case "smessage":
		l.u.cfg.Sink.Message(commands.Message{Channel: name, Payload: v.Elems[2].Str, Shard: true})
	case "pmessage":
		if len(v.Elems) == 4 && l.first(name, v.Elems[2].Str) {
			l.u.cfg.Sink.Message(commands.Message{Channel: v.Elems[2].Str, Payload: v.Elems[3].Str})
		}
	case "subscribe", "psubscribe", "ssubscribe":
		l.confirmed(Topic{Kind: kindOf(word), Name: name})
	case "unsubscribe", "punsubscribe", "sunsubscribe":
		delete(l.heard, Topic{Kind: kindOf(word), Name: name})
	}
}

// kindOf is what a confirmation is about.
func kindOf(word string) commands.TopicKind {
	switch word[0] {
	case 'p':
		return commands.TopicPattern
	case 's':
		if word != "subscribe" {
			return commands.TopicShard
		}
	}
	return commands.TopicChannel
}

// first tells whether the copy of a message that came for a pattern is the one to deliver. The server sends one for the
// channel and one for each pattern that is subscribed to, and the sink finds all receivers of one by itself. What is subscribed
// to at the moment of the message is known for certain, since confirmations come in the same stream.
func (l *listener) first(pattern, channel string) bool {
	if _, also := l.heard[Topic{Kind: commands.TopicChannel, Name: channel}]; also {
		return false
	}
	for t := range l.heard {
		if t.Kind == commands.TopicPattern && t.Name < pattern && glob.Match(t.Name, channel) {
			return false
		}
	}
	return true
}

func (l *listener) confirmed(t Topic) {
	l.heard[t] = struct{}{}
	l.mu.Lock()
	l.owed[t]--
	var ready func(error)
	if w := l.topics[t]; w != nil && l.owed[t] <= 0 && w.ready != nil {
		w.timer.Stop()
		ready, w.ready = w.ready, nil
	}
	if l.owed[t] <= 0 {
		delete(l.owed, t)
	}
	l.mu.Unlock()
	if ready != nil {
		ready(nil)
	}
}
