package integration

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/integration/harness"
)

// redissonObjectCases are those of Redisson's other synchronizers.
var redissonObjectCases = words(`
	fair-queue-order fair-waiter-gives-up fair-dead-waiter fair-watchdog-reentrant fair-lease-and-force fair-exclusion
	fair-non-reentrant semaphore-permits semaphore-waits-in-vain semaphore-wakes semaphore-limit permit-ids
	permit-several permit-lease-expires permit-lease-updated permit-wakes permit-set latch-counts latch-wakes
	latch-waits-in-vain latch-deleted multi-all-or-none multi-watchdog multi-lease multi-group many-locks-one-renewal
	many-locks-two-renewals rate-overall rate-per-client id-generator atomic-long`)

// TestClientObjectsOfRedisson lets Redisson's fair locks, semaphores, latches, multi-locks, rate limiters and
// counters do their work.
func TestClientObjectsOfRedisson(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out the client programs")
	}
	programs := buildClients(t)
	programs.need(t, "redisson")
	exercises(t, "redisson")
	t.Run("exact-counts", testExactCounts)
	for _, protocol := range rotated(t, words("RESP2 RESP3")) {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			runClient(t, redissonObjectCases,
				java("LockSuite", "--group", "objects", "--addr", startServer(t), "--protocol", protocol)...)
		})
	}
}

// testExactCounts lets two JVMs send equal requests at once, and counts what was granted: nothing is lost, and no
// request is taken for the repetition of an equal one.
func testExactCounts(t *testing.T) {
	const (
		jvms, threads, iterations = 2, 8, 50
		requests                  = jvms * threads * iterations
		permits                   = requests / 3 // of the scarce semaphores, so that most requests are refused
		left                      = 7            // of the latch
	)
	addr, start := startServer(t), startResource(t)
	results := make([]clientRun, jvms)
	var running sync.WaitGroup
	for i := range results {
		running.Go(func() {
			results[i] = execClient(java("Tally", "--addr", addr, "--resource", start.Addr(),
				"--parties", fmt.Sprint(jvms*threads), "--threads", fmt.Sprint(threads), "--iterations", fmt.Sprint(iterations),
				"--permits", fmt.Sprint(permits), "--count", fmt.Sprint(requests+left))...)
		})
	}
	running.Wait()
	sums := map[string]int{}
	for i, result := range results {
		t.Run(fmt.Sprintf("jvm%d", i+1), func(t *testing.T) { result.check(t, words("tally")) })
		addCounts(t, sums, result.details["tally"])
	}
	assert.Equal(t, map[string]int{"won": 5, "scarce": permits, "leased": permits}, sums, "granted to both JVMs")
	wantCounters(t, addr, map[string]int{"scarce": 0, "leased": 0, "ample": jvms * threads, "latch": left})
	assert.Zero(t, harness.Dial(t, addr).Int("EXISTS", "gate"), "the latch that was counted down is still there")
	assert.EqualValues(t, permits, harness.Dial(t, addr).Int("ZCARD", "{leased}:timeout"), "permits with a lease")
}

// addCounts adds the numbers of a line of details, "a=1 b=2".
func addCounts(t *testing.T, sums map[string]int, details string) {
	t.Helper()
	for field := range strings.FieldsSeq(details) {
		name, text, _ := strings.Cut(field, "=")
		n, err := strconv.Atoi(text)
		require.NoError(t, err, "details %q", details)
		sums[name] += n
	}
}

// wantCounters compares the strings that Redisson counts in.
func wantCounters(t *testing.T, addr string, want map[string]int) {
	t.Helper()
	conn := harness.Dial(t, addr)
	for key, n := range want {
		assert.Equal(t, fmt.Sprint(n), conn.Do("GET", key).Text, "counter of %s", key)
	}
}
