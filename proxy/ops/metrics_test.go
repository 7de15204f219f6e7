package ops

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scrape returns the sample lines of all redfence metrics.
func scrape(t *testing.T, m *Metrics) []string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	body, err := io.ReadAll(answer.Result().Body)
	require.NoError(t, err)
	var samples []string
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "redfence_") {
			samples = append(samples, strings.TrimSpace(line))
		}
	}
	return samples
}

func TestCommandsAreCountedByResult(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1", []string{"SET", "get"})
	m.CommandDone("set", ResultOK, 120*time.Microsecond)
	m.CommandDone("set", ResultOK, 4*time.Second)
	m.CommandDone("set", ResultUnknown, time.Millisecond)
	m.CommandDone("set", ResultUnavailable, time.Millisecond)
	m.CommandDone("set", "WRONGTYPE", time.Millisecond)
	m.CommandDone("invented-by-a-client", ResultError, time.Millisecond)

	samples := scrape(t, m)
	for _, want := range []string{
		`redfence_commands_total{command="set",result="ok"} 2`,
		`redfence_commands_total{command="set",result="unknown"} 1`,
		`redfence_commands_total{command="set",result="unavailable"} 1`,
		`redfence_commands_total{command="set",result="error"} 1`,
		`redfence_commands_total{command="other",result="error"} 1`,
		`redfence_command_duration_seconds_count{command="set"} 5`,
		`redfence_command_duration_seconds_bucket{command="set",le="0.0001"} 0`,
		`redfence_command_duration_seconds_bucket{command="set",le="0.0002"} 1`,
		`redfence_command_duration_seconds_bucket{command="set",le="+Inf"} 5`,
		`redfence_build_info{version="v1"} 1`,
	} {
		assert.Contains(t, samples, want)
	}
	assert.NotContains(t, strings.Join(samples, "\n"), `command="get"`, "a command that nobody sent has no series")
}

func TestConnections(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1", nil)
	m.ConnOpened()
	m.ConnOpened()
	m.ConnClosed()

	samples := scrape(t, m)
	for _, want := range []string{
		`redfence_connections 1`,
		`redfence_connections_accepted_total 2`,
	} {
		assert.Contains(t, samples, want)
	}
}

func TestStoreIsReadAtEachScrape(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1", nil)
	now := StoreStats{
		Leader: true, Term: 2, CommitIndex: 7, AppliedIndex: 6, Entries: 5, Calls: 35, WithoutLog: 3, Keys: 4,
		Voters: 3, LastContact: 250 * time.Millisecond,
	}
	m.WatchStore(func() StoreStats { return now })

	samples := scrape(t, m)
	for _, want := range []string{
		`redfence_raft_leader 1`, `redfence_raft_term 2`, `redfence_raft_commit_index 7`,
		`redfence_raft_applied_index 6`, `redfence_log_entries_total 5`, `redfence_keys 4`,
		`redfence_raft_voters 3`, `redfence_raft_last_contact_seconds 0.25`,
		`redfence_answered_without_log_total 3`, `redfence_batch_size_sum 35`, `redfence_batch_size_count 5`,
	} {
		assert.Contains(t, samples, want)
	}

	now = StoreStats{Keys: 9}
	samples = scrape(t, m)
	assert.Contains(t, samples, `redfence_keys 9`)
	assert.Contains(t, samples, `redfence_raft_leader 0`)
}

func TestLocksAreReadAtEachScrape(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1", nil)
	m.WatchStore(func() StoreStats {
		return StoreStats{Locks: LockStats{
			Granted: 9, Contended: 8, Failed: 7,
			Hold: Histogram{Counts: []uint64{1, 2, 0, 4}, Sum: 1500 * time.Millisecond},
			Wait: Histogram{Counts: []uint64{0, 1, 0, 0}, Sum: 2 * time.Millisecond},
		}}
	})
	samples := scrape(t, m)
	for _, want := range []string{
		`redfence_locks_granted_total 9`, `redfence_locks_contended_total 8`, `redfence_locks_failed_total 7`,
		`redfence_lock_hold_seconds_bucket{le="0.001"} 1`, `redfence_lock_hold_seconds_bucket{le="0.002"} 3`,
		`redfence_lock_hold_seconds_bucket{le="0.004"} 3`, `redfence_lock_hold_seconds_bucket{le="+Inf"} 7`,
		`redfence_lock_hold_seconds_sum 1.5`, `redfence_lock_hold_seconds_count 7`,
		`redfence_lock_wait_seconds_bucket{le="0.002"} 1`, `redfence_lock_wait_seconds_count 1`,
	} {
		assert.Contains(t, samples, want)
	}
}

func TestQuorumIsReadAtEachScrape(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1", nil)
	now := QuorumStats{
		Nodes: []NodeStats{{Name: "a:1", Standing: "counted", Latency: 2 * time.Millisecond}, {Name: "b:1", Standing: "down"}},
		Won:   9, Lost: 8, TooLate: 7, Unknown: 6, Retried: 5, Undone: 4, Copied: 3, Unpublished: 2,
	}
	m.WatchQuorum([]string{"counted", "down"}, func() QuorumStats { return now })
	samples := scrape(t, m)
	for _, want := range []string{
		`redfence_quorum_node_standing{node="a:1",standing="counted"} 1`, `redfence_quorum_node_standing{node="a:1",standing="down"} 0`,
		`redfence_quorum_node_standing{node="b:1",standing="down"} 1`, `redfence_quorum_node_latency_seconds{node="a:1"} 0.002`,
		`redfence_quorum_votes_total{result="won"} 9`, `redfence_quorum_votes_total{result="lost"} 8`,
		`redfence_quorum_votes_total{result="too_late"} 7`, `redfence_quorum_votes_total{result="unknown"} 6`,
		`redfence_quorum_retries_total 5`, `redfence_quorum_undone_total 4`, `redfence_quorum_copied_total 3`,
		`redfence_quorum_publications_lost_total 2`,
	} {
		assert.Contains(t, samples, want)
	}
	now.Nodes[0].Standing = "down"
	assert.Contains(t, scrape(t, m), `redfence_quorum_node_standing{node="a:1",standing="counted"} 0`)
}

// Two servers in one process, as tests start them, must not count into each other's series.
func TestRegistriesAreSeparate(t *testing.T) {
	t.Parallel()
	one, other := NewMetrics("v1", nil), NewMetrics("v1", nil)
	one.ConnOpened()
	assert.Contains(t, scrape(t, other), `redfence_connections 0`)
}

func TestCommandDoneDoesNotAllocate(t *testing.T) {
	m := NewMetrics("v1", []string{"set"})
	allocs := testing.AllocsPerRun(1000, func() { m.CommandDone("set", ResultOK, time.Millisecond) })
	assert.Zero(t, allocs)
}

func BenchmarkCommandDone(b *testing.B) {
	m := NewMetrics("v1", []string{"set"})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.CommandDone("set", ResultOK, time.Millisecond)
		}
	})
}
