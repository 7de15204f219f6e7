package integration

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestClientRedisBenchmark lets redis-benchmark send its requests of each kind, and some that take locks. It ends with an error
// at the first error of a server.
func TestClientRedisBenchmark(t *testing.T) {
	program, err := exec.LookPath("redis-benchmark")
	if err != nil {
		t.Skip("skipped: redis-benchmark is not installed")
	}
	host, port, err := net.SplitHostPort(startServer(t))
	require.NoError(t, err)
	exercises(t, "redis-benchmark")
	runs := map[string][]string{
		"set-nx-px": words("-r 50 SET lock:__rand_int__ owner NX PX 30000"),
		"eval":      append(words("-r 50 EVAL"), "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 30000)", "1", "lock:__rand_int__", "owner"),
		"resp3":     words("-3 -t set,get"),
		"pipeline":  words("-P 16 -t set,get"),
	}
	for _, kind := range words("ping set get incr lpush rpush lpop rpop sadd hset spop zadd zpopmin lrange_100 mset") {
		runs[kind] = []string{"-t", kind}
	}
	for name, argv := range runs {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(program, append([]string{"-h", host, "-p", port, "-n", "300", "-c", "5", "--csv"}, argv...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.NotContains(t, strings.ToLower(string(out)), "error")
			assert.Greater(t, strings.Count(string(out), "\n"), 1, "a line of figures: %s", out)
		})
	}
}
