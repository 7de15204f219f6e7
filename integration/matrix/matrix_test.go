package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFindTakesTheLongestRow(t *testing.T) {
	for name, want := range map[string]string{
		"ioredis-6-resp3": "ioredis", "ioredis-5": "ioredis-5", "rueidislock-tracking": "rueidislock", "rueidis-resp3": "rueidis",
		"redlock-5-on-ioredis-5": "redlock-5", "redisson": "redisson",
	} {
		row, known := Find(name)
		assert.True(t, known, name)
		assert.Equal(t, want, row.ID, name)
	}
	for _, name := range []string{"", "redlock", "redlock-6", "redissonx", "-"} {
		_, known := Find(name)
		assert.False(t, known, name)
	}
}

func TestVersionsArePinned(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"pom.xml":          "<artifactId>jedis</artifactId>\n  <version>6.0.0</version>",
		"requirements.txt": "pottery==3.0.1\npython-redis-lock==4.0.1\nredis==8.1.0\n",
		"package.json":     `{"redlock4": "npm:redlock@4.2.0", "@sesamecare-oss/redlock": "1.4.0", "ioredis": "6.0.0", "ioredis5": "npm:ioredis@5.11.1"}`,
		"Cargo.toml":       "[dependencies]\nredis = { version = \"=1.8.1\", features = [\"tokio-comp\"] }\nrslock = \"=0.10.0\"\n",
		"go.mod":           "require (\n\tgithub.com/bsm/redislock v0.9.4\n\tgithub.com/redis/go-redis/v9 v9.23.0\n)\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	for want, names := range map[string][]string{
		"6.0.0":                          {"pom.xml:jedis"},
		"8.1.0":                          {"requirements.txt:redis"},
		"4.0.1 on redis-py 8.1.0":        {"requirements.txt:python-redis-lock", "requirements.txt:redis"},
		"4.2.0":                          {"package.json:redlock4"},
		"2.0, played":                    {"played:2.0"},
		"0.10.0 on redis-rs 1.8.1":       {"Cargo.toml:rslock", "Cargo.toml:redis"},
		"1.4.0 on ioredis 6.0.0, 5.11.1": {"package.json:@sesamecare-oss/redlock", "package.json:ioredis", "package.json:ioredis5"},
		"0.9.4 on go-redis 9.23.0":       {"go.mod:github.com/bsm/redislock", "go.mod:github.com/redis/go-redis/v9"},
		"0.9.4 on redislock 0.9.4, go-redis 9.23.0": {"go.mod:github.com/bsm/redislock", "go.mod:github.com/bsm/redislock", "go.mod:github.com/redis/go-redis/v9"},
	} {
		version, err := Row{Packages: packages(names...)}.Version(dir)
		require.NoError(t, err)
		assert.Equal(t, want, version)
	}
	_, err := Row{Packages: packages("package.json:redlock5")}.Version(dir)
	assert.ErrorContains(t, err, "pins none")
}

const log = `=== RUN   TestA
=== RUN   TestA/one
=== ATTR  TestA/one client ioredis|6.0.0|raft|direct
=== RUN   TestA/one/x/lock
=== RUN   TestA/one/y/lock
=== RUN   TestA/two
=== ATTR  TestA/two client ioredis|6.0.0|raft|direct
=== RUN   TestA/two/wait
=== RUN   TestA/none
=== RUN   TestA/none/lock
noise
--- FAIL: TestA (1.00s)
    --- PASS: TestA/one (0.10s)
        --- PASS: TestA/one/x/lock (0.00s)
        --- PASS: TestA/one/y/lock (0.00s)
    --- FAIL: TestA/two (0.00s)
        --- FAIL: TestA/two/wait (0.00s)
    --- PASS: TestA/none (0.00s)
        --- PASS: TestA/none/lock (0.00s)
=== RUN   TestA
=== RUN   TestA/one
=== ATTR  TestA/one client ioredis|6.0.0|quorum3|direct
=== RUN   TestA/one/lock
    --- SKIP: TestA/one/lock (0.00s)
--- PASS: TestA (0.00s)
=== RUN   TestB
=== ATTR  TestB client jedis|6.0.0|raft3|sentinels
=== ATTR  TestB client lettuce|7 rc on x|raft3|sentinels
--- PASS: TestB (0.00s)
`

func TestReadLog(t *testing.T) {
	results, err := ReadLog(strings.NewReader(log))
	require.NoError(t, err)
	assert.Equal(t, []Result{
		{Run: Run{"ioredis", "6.0.0", "raft", Direct}, Passed: []string{"lock", "lock"}, Failed: []string{"two", "wait"}},
		{Run: Run{"jedis", "6.0.0", "raft3", Sentinels}, Passed: []string{"TestB"}},
		{Run: Run{"lettuce", "7 rc on x", "raft3", Sentinels}, Passed: []string{"TestB"}},
	}, results)
	_, err = ReadLog(strings.NewReader("=== ATTR  TestB client jedis 6.0.0\n"))
	assert.Error(t, err)
}

func TestMergeReplacesAndDrops(t *testing.T) {
	old := []Result{
		{Run: Run{"jedis", "5", "raft", Direct}, Commit: "old"},
		{Run: Run{"jedis", "5", "raft3", Direct}, Commit: "old"},
		{Run: Run{"no-row", "1", "raft", Direct}, Commit: "old"},
	}
	fresh := []Result{
		{Run: Run{"lettuce", "7", "raft", Direct}, Commit: "new"},
		{Run: Run{"jedis", "6", "raft", Direct}, Commit: "new"},
	}
	assert.Equal(t, []Result{fresh[1], old[1], fresh[0]}, Merge(old, fresh))
	file := filepath.Join(t.TempDir(), "results.json")
	none, err := Load(file)
	require.NoError(t, err)
	assert.Empty(t, none)
	require.NoError(t, Save(file, old))
	loaded, err := Load(file)
	require.NoError(t, err)
	assert.Equal(t, old, loaded)
}

// TestMissing shows that rows without a run, with one of another version, or with one that failed, are refused.
func TestMissing(t *testing.T) {
	versions := map[string]string{}
	var complete []Result
	for _, row := range Rows() {
		versions[row.ID] = "1"
		complete = append(complete, Result{Run: Run{row.ID, "1", "raft", Direct}, Passed: []string{"lock"}})
	}
	assert.Empty(t, Missing(complete, versions))
	assert.Len(t, Missing(complete[1:], versions), 1)
	for name, spoil := range map[string]func(*Result){
		"another version": func(r *Result) { r.Version = "2" },
		"nothing passed":  func(r *Result) { r.Passed = nil },
	} {
		spoilt := append([]Result{}, complete...)
		spoil(&spoilt[0])
		assert.Len(t, Missing(spoilt, versions), 1, name)
	}
	failed := Result{Run: Run{"redisson", "1", "quorum3", Direct}, Passed: []string{"lock"}, Failed: []string{"wait"}}
	assert.Len(t, Missing(append(complete, failed), versions), 1)
}

func TestRender(t *testing.T) {
	doc := Render([]Result{
		{Run: Run{"jedis", "6", "raft", Direct}, Date: "2026-01-02", Commit: "abc", Passed: []string{"wait", "lock", "lock"}},
		{Run: Run{"jedis", "6", "raft3", Sentinels}, Passed: []string{"lock", "raft3", "lock"}},
		{Run: Run{"lettuce", "7", "raft3", Sentinels}, Passed: []string{"raft3"}},
		{Run: Run{"lettuce", "7", "quorum3", Sentinels}, Passed: []string{"lock"}},
		{Run: Run{"jedis", "5", "quorum3", Direct}, Passed: []string{"old"}},
		{Run: Run{"jedis", "6", "quorum5", Direct}, Date: "2026-01-02", Commit: "abc", Failed: []string{"lock"}},
	}, map[string]string{"jedis": "6", "lettuce": "7"})
	assert.Contains(t, doc, "\n| Jedis | 6 | 3 | not run | not run | not run | failed: lock | failover, 2 | not run | `new JedisPooled(")
	assert.Contains(t, doc, "| failover | 1 | `redis://redfence:6380` |")
	assert.Contains(t, doc, "\n| Jedis 6 | lock, wait | 2026-01-02 abc |\n")
	assert.Contains(t, doc, "| redis-py, python-redis-lock, pottery | `Sentinel(")
}
