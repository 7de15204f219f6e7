package runner

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// BenchmarkLockCycle counts locks taken and released by one redis-server, pipelined: with the plain commands, with the
// lean forms where the proxy believes right, and with the general program.
func BenchmarkLockCycle(b *testing.B) {
	n := newNode(b)
	release := lockScripts["redis.io"].text
	sha, err := n.c.ScriptLoad(b.Context(), release).Result()
	require.NoError(b, err)
	text, memory := NewText(release), &Memory{}
	plain := func(key string, take bool) asking {
		if take {
			return asking{line: []any{"SET", key, "owner", "NX", "PX", "30000"}}
		}
		return asking{line: []any{"EVALSHA", sha, "1", key, "owner"}}
	}
	wrapped := func(general bool) func(key string, take bool) asking {
		return func(key string, take bool) asking {
			op := runOf(b, "0123456789abcdef", "EVALSHA", "x", "1", key, "owner")
			op.Text = text
			if take {
				op = runOf(b, "0123456789abcdef", "SET", key, "owner", "NX", "PX", "30000")
			}
			op.built.general = general
			return askingOne(b, op, memory)
		}
	}
	for _, p := range []*Program{leanLocks, commandLines, text.wrapped()} {
		require.NoError(b, n.c.ScriptLoad(b.Context(), p.Text).Err())
	}
	b.Run("plain", func(b *testing.B) { cycles(b, n, plain) })
	b.Run("lean", func(b *testing.B) { cycles(b, n, wrapped(false)) })
	b.Run("general", func(b *testing.B) { cycles(b, n, wrapped(true)) })
}

// asking is a command line, and who is told the reply.
type asking struct {
	line []any
	told func(reply any)
}

// askingOne asks for an operation alone.
func askingOne(b *testing.B, op *Run, m *Memory) asking {
	b.Helper()
	if !Joins(op) {
		return asking{line: Args(op, Target{})}
	}
	line, asked := AddLock(BeginLocks(nil, LockWords(op)), op, m)
	return asking{wordsOfLine(b, EndLocks(line, Target{})), func(reply any) { DecodeLock(op, reply, 0, asked, m) }}
}

// cycles runs b.N cycles in pipelines: one takes locks, the next one releases them.
func cycles(b *testing.B, n *node, ask func(key string, take bool) asking) {
	b.Helper()
	const batch = 128
	before := n.cpu()
	for done := 0; done < b.N; done += batch {
		for _, take := range []bool{true, false} {
			pipeline(b, n, min(batch, b.N-done), func(i int) asking { return ask("lock"+strconv.Itoa(i), take) })
		}
	}
	b.ReportMetric(float64((n.cpu()-before).Nanoseconds())/1e3/float64(2*b.N), "node-µs/request")
}

func pipeline(b *testing.B, n *node, size int, ask func(i int) asking) {
	b.Helper()
	pipe := n.c.Pipeline()
	asked, replies := make([]asking, size), make([]*redis.Cmd, size)
	for i := range asked {
		asked[i] = ask(i)
		replies[i] = pipe.Do(b.Context(), asked[i].line...)
	}
	_, _ = pipe.Exec(b.Context())
	for i, reply := range replies {
		require.NoError(b, reply.Err())
		if asked[i].told != nil {
			asked[i].told(reply.Val())
		}
	}
}

// cpu is the processor time that the node has used, which other work on the machine hardly changes.
func (n *node) cpu() (used time.Duration) {
	info, err := n.c.Info(n.t.Context(), "cpu").Result()
	require.NoError(n.t, err)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			require.NoError(n.t, err)
			used += time.Duration(seconds * float64(time.Second))
		}
	}
	return used
}
