package runner

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/integration/harness"
)

// node is a real redis-server that programs are run on.
type node struct {
	t    testing.TB
	c    *redis.Client
	addr string
}

// newNode starts a redis-server.
func newNode(t testing.TB) *node {
	t.Helper()
	addr := harness.StartRedis(t).Addr
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return &node{t: t, c: c, addr: addr}
}

// send makes the node execute an operation.
func (n *node) send(op Op, at Target) Result {
	n.t.Helper()
	if Joins(op) {
		return n.sendMany(nil, at, op)[0]
	}
	line := Args(op, at)
	reply := n.raw(line...)
	if err, ok := reply.(error); ok && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		require.NoError(n.t, n.c.ScriptLoad(n.t.Context(), Script(op).Text).Err())
		reply = n.raw(line...)
	}
	return Decode(op, reply)
}

// raw is the reply to a command line as go-redis gives it.
func (n *node) raw(line ...any) any {
	n.t.Helper()
	v, err := n.c.Do(n.t.Context(), line...).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil
	case err != nil:
		return err
	}
	return v
}

// bind makes a request of words.
func bind(t testing.TB, line ...string) *commands.Request {
	t.Helper()
	r, err := commands.Bind(line, 0)
	require.NoError(t, err, "%q", line)
	return r
}

const testWall = 1_796_000_000_000_000

// How long a test waits for what must happen, and how often it looks.
const (
	eventually = 10 * time.Second
	tick       = 5 * time.Millisecond
)

// run executes one command line, a script's text included, and wants an answer.
func (n *node) run(line ...string) Result {
	n.t.Helper()
	return n.runID("req", line...)
}

func (n *node) runID(id string, line ...string) Result {
	n.t.Helper()
	op := runOf(n.t, id, line...)
	r := n.send(op, Target{})
	require.Empty(n.t, r.Reason, "%q", line)
	return r
}

func runOf(t testing.TB, id string, line ...string) *Run {
	t.Helper()
	op := &Run{ID: id, Requests: []*commands.Request{bind(t, line...)}, Wall: testWall, Seen: true}
	if strings.HasPrefix(strings.ToLower(line[0]), "eval") {
		op.Text = NewText(line[1])
	}
	return op
}

func (n *node) reply(line ...string) resp.Value {
	n.t.Helper()
	return n.run(line...).Answer.Reply
}

// now is the node's clock.
func (n *node) now() time.Time {
	at, err := n.c.Time(n.t.Context()).Result()
	require.NoError(n.t, err)
	return at
}
