package node

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
)

// lookOn is the goroutine that looks at the node, every second and when asked to, on a connection of its own.
func (n *Node) lookOn() {
	l := &lookout{node: n}
	defer l.hangUp()
	tick := time.NewTicker(n.o.LookEvery)
	defer tick.Stop()
	for {
		l.look()
		select {
		case <-tick.C:
		case <-n.poke:
		case <-n.stop:
			return
		}
	}
}

// lookout is the connection that a node is looked at through.
type lookout struct {
	node *Node
	conn *connection
}

// look asks the node for its facts and publishes them.
func (l *lookout) look() {
	n := l.node
	n.mu.Lock()
	n.began++
	facts := n.facts
	facts.Look = n.began
	n.mu.Unlock()
	facts.Began = n.o.Clock.Now()
	err := l.ask(&facts)
	facts.Reason = ""
	if err != nil {
		facts.Reason = reasonOfError(err)
		l.relieve(err)
	}
	l.publish(facts)
}

func (l *lookout) publish(facts quorum.Facts) {
	n := l.node
	n.mu.Lock()
	facts.Steps, facts.Step = n.clock.stepsSeen()
	facts.Offset, _ = n.clock.offset()
	next := *n.judged.Load()
	cameUp := next.down != "" && facts.Reason == ""
	next.down = facts.Reason
	n.judged.Store(&next)
	n.facts = facts
	watch, streams := n.watch, n.streams
	n.mu.Unlock()
	for _, s := range streams {
		if s != nil && cameUp {
			s.retry()
		}
	}
	watch()
}

// relieve drops a connection that failed, and ends a script of ours that keeps the node busy.
func (l *lookout) relieve(err error) {
	if isReply(err) && reasonOfError(err) == refusals["BUSY"] && l.node.owed() {
		_ = l.conn.do(redis.NewStatusCmd(context.Background(), "script", "kill")) // the next look tells
		return
	}
	l.hangUp()
}

func (l *lookout) hangUp() {
	if l.conn != nil {
		l.conn.close()
		l.conn = nil
	}
}

// owed tells whether the node owes an answer to one of the streams, or owed one lately when a stream gave up.
func (n *Node) owed() bool {
	now := n.o.Clock.Now()
	if at := time.Duration(n.timeout.Load()); at != 0 && now-at < time.Minute {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.streams {
		if s == nil {
			continue
		}
		if at := time.Duration(s.owing.Load()); at != 0 && now-at > n.o.LookEvery {
			return true
		}
	}
	return false
}

// ask fills in the facts. TIME goes first and alone, so that it tells latency and offset well.
func (l *lookout) ask(facts *quorum.Facts) error {
	if err := l.connect(); err != nil {
		return err
	}
	ctx := context.Background()
	at := redis.NewTimeCmd(ctx, "time")
	sent := l.node.o.Clock.Now()
	if err := errors.Join(l.conn.do(at), at.Err()); err != nil {
		return err
	}
	received := l.node.o.Clock.Now()
	facts.Latency = received - sent
	l.node.observe(sent, received, sinceEpoch(at.Val()))

	info := redis.NewStringCmd(ctx, "info")
	config := redis.NewMapStringStringCmd(ctx, "config", "get", "appendfsync")
	databases := redis.NewMapStringStringCmd(ctx, "config", "get", "databases")
	if err := errors.Join(l.conn.do(info, config, databases), info.Err()); err != nil {
		return err
	}
	readInfo(facts, info.Val(), config.Val()["appendfsync"])
	if err := l.askCanaries(facts, databases.Val()["databases"]); err != nil {
		return err
	}
	readKeyspace(facts, info.Val())
	return nil
}

func (l *lookout) connect() error {
	if l.conn != nil && l.conn.wire.alive() {
		return nil
	}
	l.hangUp()
	c, err := l.node.open(0, 2*l.node.o.DialTimeout)
	if err != nil {
		return err
	}
	l.conn = c
	return nil
}

// askCanaries reads the canary of each database that the node has, up to the 16 that clients know, and tells what this proxy
// counts, and reads what others do.
func (l *lookout) askCanaries(facts *quorum.Facts, databases string) error {
	ctx := context.Background()
	count := maxDatabases
	if n, err := strconv.Atoi(databases); err == nil { // CONFIG may be forbidden
		count = min(max(n, 1), maxDatabases)
	}
	cmds := make([]redis.Cmder, 0, 2*count+2)
	gets := make([]*redis.StringCmd, count)
	for db := range count {
		gets[db] = redis.NewStringCmd(ctx, "get", runner.CanaryKey)
		cmds = append(cmds, redis.NewStatusCmd(ctx, "select", db), gets[db])
	}
	claims := l.node.exchangeClaims()
	cmds = append(cmds, redis.NewStatusCmd(ctx, "select", 0), claims)
	if err := l.conn.do(cmds...); err != nil {
		return err
	}
	facts.Others = claims.Val()
	facts.Canaries = make([]string, count)
	for db, get := range gets {
		if err := get.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		facts.Canaries[db] = get.Val()
	}
	return nil
}

// readInfo reads what INFO says of the server.
func readInfo(facts *quorum.Facts, info, fsync string) {
	facts.RunID = infoField(info, "run_id")
	facts.Version = infoField(info, "redis_version")
	if v := infoField(info, "valkey_version"); v != "" {
		facts.Version = "valkey " + v
	}
	facts.Role = infoField(info, "role")
	facts.Policy = infoField(info, "maxmemory_policy")
	facts.MaxMemory = infoNumber(info, "maxmemory")
	facts.Always = infoField(info, "aof_enabled") == "1" && fsync == "always"
}

// readKeyspace counts the keys of all databases, and those without TTL, from the lines "db0:keys=3,expires=1,...".
func readKeyspace(facts *quorum.Facts, info string) {
	facts.Keys, facts.Immortal = 0, 0
	for db, canary := range facts.Canaries {
		line := "," + infoField(info, "db"+strconv.Itoa(db))
		keys, expires := listNumber(line, "keys"), listNumber(line, "expires")
		if canary != "" && keys > expires {
			keys-- // the canary has no TTL
		}
		facts.Keys += keys
		facts.Immortal += keys - expires
	}
}

func listNumber(list, name string) int64 {
	_, after, _ := strings.Cut(list, ","+name+"=")
	text, _, _ := strings.Cut(after, ",")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
