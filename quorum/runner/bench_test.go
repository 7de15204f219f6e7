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
// lean forms, and with the general program.
func BenchmarkLockCycle(b *testing.B) {
	n := newNode(b)
	release := lockScripts["redis.io"].text
	sha, err := n.c.ScriptLoad(b.Context(), release).Result()
	require.NoError(b, err)
	plain := func(i int, key string) [][]any {
		owner := "owner" + strconv.Itoa(i)
		return [][]any{{"SET", key, owner, "NX", "PX", "30000"}, {"EVALSHA", sha, "1", key, owner}}
	}
	wrapped := func(general bool) func(i int, key string) [][]any {
		text := NewText(release)
		return func(i int, key string) [][]any {
			owner := "owner" + strconv.Itoa(i)
			set := runOf(b, "0123456789abcdef", "SET", key, owner, "NX", "PX", "30000")
			del := runOf(b, "0123456789abcdef", "EVALSHA", "x", "1", key, owner)
			del.Text = text
			set.built.general, del.built.general = general, general
			return [][]any{lineOfOne(b, set), lineOfOne(b, del)}
		}
	}
	text := NewText(release)
	for _, p := range []*Program{leanLocks, commandLines, text.wrapped()} {
		require.NoError(b, n.c.ScriptLoad(b.Context(), p.Text).Err())
	}
	b.Run("plain", func(b *testing.B) { cycles(b, n, plain) })
	b.Run("lean", func(b *testing.B) { cycles(b, n, wrapped(false)) })
	b.Run("general", func(b *testing.B) { cycles(b, n, wrapped(true)) })
}

// lineOfOne is the command line of an operation alone.
func lineOfOne(b *testing.B, op *Run) []any {
	b.Helper()
	if !Joins(op) {
		return Args(op, Target{})
	}
	line, _ := AddLock(BeginLocks(nil, LockWords(op)), op, nil)
	return wordsOfLine(b, EndLocks(line, Target{}))
}

// cycles runs b.N cycles in pipelines.
func cycles(b *testing.B, n *node, lines func(i int, key string) [][]any) {
	b.Helper()
	const batch = 128
	before := n.cpu()
	for done := 0; done < b.N; done += batch {
		pipe := n.c.Pipeline()
		var last []*redis.Cmd
		for i := range min(batch, b.N-done) {
			for _, line := range lines(i, "lock"+strconv.Itoa(i)) {
				last = append(last, pipe.Do(b.Context(), line...))
			}
		}
		_, _ = pipe.Exec(b.Context())
		for _, cmd := range last {
			require.NoError(b, cmd.Err())
		}
	}
	b.ReportMetric(float64((n.cpu()-before).Microseconds())/float64(2*b.N), "node-µs/request")
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
