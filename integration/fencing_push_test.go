package integration

import (
	"strconv"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// TestClientFencing takes locks in every way on a connection that wants to be told of tokens, and looks at what stands in
// front of each reply.
func TestClientFencing(t *testing.T) {
	const script = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 30000) then return 1 end return 0"
	tests := []struct {
		line   []string
		tokens []string // keys of the pushes in front of the reply
	}{
		{[]string{"SET", "lock", "a", "NX", "PX", "30000"}, []string{"lock"}},
		{[]string{"SET", "lock", "b", "NX", "PX", "30000"}, nil},
		{[]string{"SET", "lock", "a", "PX", "60000"}, nil},
		{[]string{"GET", "lock"}, nil},
		{[]string{"PEXPIRE", "lock", "20000"}, nil},
		{[]string{"SET", "lock", "b", "PX", "30000"}, []string{"lock"}},
		{[]string{"SET", "fenced", "a", "NX", "PX", "30000", "FENCE"}, []string{"fenced"}},
		{[]string{"EVAL", script, "1", "scripted", "a"}, []string{"scripted"}},
		{[]string{"EVAL", script, "1", "scripted", "b"}, nil},
		{[]string{"EVAL", enterLock, "1", "hash", "30000", "8743c9c0-0795-4907-87fd-6c719a6b4586:1"}, []string{"hash"}},
		{[]string{"EVAL", enterLock, "1", "hash", "30000", "8743c9c0-0795-4907-87fd-6c719a6b4586:1"}, nil},
		{[]string{"EVAL", enterLock, "1", "hash", "30000", "8743c9c0-0795-4907-87fd-6c719a6b4586:2"}, nil},
		{[]string{"EVAL", "redis.call('SET', 'gone', 1) redis.call('DEL', 'gone') return redis.call('SET', 'stays', 1)", "0"}, []string{"stays"}},
		{[]string{"DEL", "lock"}, nil},
		{[]string{"MSET", "one", "1", "two", "2"}, []string{"one", "two"}},
	}
	onFencingBackends(t, func(t *testing.T, d deployment) {
		c, other := harness.Dial(t, d.Address()), harness.Dial(t, d.Address())
		bystander := harness.Dial(t, d.Address()) // is told of its own locks only
		bystander.Do("HELLO", "3")
		bystander.Want("OK", "CLIENT", "FENCING", "ON")
		if reply := c.Do("CLIENT", "FENCING", "ON"); !reply.IsError() {
			t.Errorf("RESP2 was answered %s", reply)
		}
		c.Do("HELLO", "3")
		c.Want("OK", "SET", "before", "a", "NX", "PX", "30000")
		c.Want("OK", "CLIENT", "FENCING", "ON")
		for _, tt := range tests {
			wantTold(t, c, other, tt.line, tt.tokens)
		}
		c.Want("OK", "MULTI")
		c.Want("QUEUED", "SET", "in block", "a", "NX", "PX", "30000")
		c.Want("QUEUED", "GET", "in block")
		wantTold(t, c, other, []string{"EXEC"}, []string{"in block"})
		for _, key := range words("first second") { // in one go: each push stands in front of its own reply
			c.Send("SET", key, "a", "NX", "PX", "30000")
		}
		for _, key := range words("first second") {
			if push, reply := c.Receive(), c.Receive(); len(push.Elems) != 3 || push.Elems[1].Text != key || reply.Text != "OK" {
				t.Errorf("pipelined, %s: %s, %s", key, push, reply)
			}
		}
		c.Want("OK", "CLIENT", "FENCING", "OFF")
		wantTold(t, c, other, []string{"SET", "after", "a", "NX", "PX", "30000"}, nil)
		c.Want("OK", "CLIENT", "FENCING", "ON")
		c.Do("RESET")
		c.Do("HELLO", "3")
		wantTold(t, c, other, []string{"SET", "after reset", "a", "NX", "PX", "30000"}, nil)
		bystander.Want("PONG", "PING")
		wantTold(t, bystander, other, []string{"SET", "own", "a", "NX", "PX", "30000"}, []string{"own"})
	})
}

// wantTold sends a command and wants a push for each of keys in front of the reply, with the token that FENCE and
// GET __fence__: tell another connection.
func wantTold(t *testing.T, c, other *harness.Conn, line, keys []string) {
	t.Helper()
	c.Send(line...)
	for _, key := range keys {
		push := c.Receive()
		if push.Kind != '>' || len(push.Elems) != 3 || push.Elems[0].Text != "fencing" || push.Elems[1].Text != key {
			t.Fatalf("%q: told %s, want a token of %s", line, push, key)
		}
		token, _ := push.Elems[2].Int()
		wantToken(t, other, token, "FENCE", key)
		other.Want(strconv.Quote(strconv.FormatInt(token, 10)), "GET", "__fence__:"+key)
	}
	if reply := c.Receive(); reply.Kind == '>' || reply.IsError() {
		t.Fatalf("%q was answered %s", line, reply)
	}
}
