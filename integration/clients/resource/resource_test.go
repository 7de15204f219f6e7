package resource

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// script is what users a and b ask in turns, and the answers they must get.
type script []struct{ user, ask, want string }

func TestResource(t *testing.T) {
	tests := map[string]struct {
		script     script
		counter    int
		handovers  int
		violations int
	}{
		"taking turns is fine": {
			script: script{
				{"a", "enter one/a", "ok 0"},
				{"a", "leave 1", "ok left"},
				{"b", "enter two/b", "ok 1"},
				{"b", "leave 2", "ok left"},
				{"b", "enter two/b", "ok 2"},
				{"b", "leave 3", "ok left"},
			},
			counter: 3, handovers: 1,
		},
		"two inside at once is a violation": {
			script: script{
				{"a", "enter one/a", "ok 0"},
				{"b", "enter two/b", "violation two/b entered while one/a was inside"},
				{"a", "leave 1", "ok left"},
			},
			counter: 1, violations: 1,
		},
		"a lost update is a violation": {
			script: script{
				{"a", "enter one/a", "ok 0"},
				{"a", "leave 1", "ok left"},
				{"b", "enter one/b", "ok 1"},
				{"b", "leave 1", "violation one/b set the counter from 1 to 1"},
				{"b", "leave 2", "ok left"},
			},
			counter: 2, violations: 1,
		},
		"leaving from outside is a violation": {
			script:     script{{"a", "leave 1", "violation a user left that was not inside"}},
			violations: 1,
		},
		"noise is a violation": {
			script:     script{{"a", "dance 1", `violation "dance 1" is not understood`}},
			violations: 1,
		},
		"users start together": {
			script: script{{"a", "join 1", "ok go"}, {"b", "join 2", "ok go"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			users := map[string]*client{"a": dial(t, r), "b": dial(t, r)}
			for _, line := range test.script {
				assert.Equal(t, line.want, users[line.user].ask(t, line.ask))
			}
			result := r.Result()
			assert.Equal(t, test.counter, result.Counter)
			assert.Equal(t, test.handovers, result.Handovers)
			assert.Len(t, result.Violations, test.violations, "%q", result.Violations)
		})
	}
}

func TestHangUpInsideIsAViolation(t *testing.T) {
	r := start(t)
	a := dial(t, r)
	require.Equal(t, "ok 0", a.ask(t, "enter one/a"))
	a.conn.Close()
	require.Eventually(t, func() bool { return len(r.Result().Violations) == 1 }, 5*time.Second, time.Millisecond)
	require.Equal(t, "ok 0", dial(t, r).ask(t, "enter one/b"), "the dead user still blocks the door")
}

func start(t *testing.T) *Resource {
	t.Helper()
	r, err := Start()
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

type client struct {
	conn  net.Conn
	lines *bufio.Scanner
}

func dial(t *testing.T, r *Resource) *client {
	t.Helper()
	conn, err := net.Dial("tcp", r.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &client{conn, bufio.NewScanner(conn)}
}

func (c *client) ask(t *testing.T, line string) string {
	t.Helper()
	_, err := fmt.Fprintln(c.conn, line)
	require.NoError(t, err)
	require.True(t, c.lines.Scan(), "no answer to %q: %v", line, c.lines.Err())
	return c.lines.Text()
}
