package integration

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/cmd/redfence/demo"
	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/integration/matrix"
)

// startWorld starts one of the demonstration's worlds.
func startWorld(t *testing.T, start func(context.Context, string, demo.Tools) (*demo.World, error)) *demo.World {
	t.Helper()
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("skipped: redis-server is not installed")
	}
	w, err := start(t.Context(), filepath.Join(t.TempDir(), "world"), demo.Tools{Redis: server, Redfence: harness.Binary(t, harness.Options{})})
	if w != nil {
		t.Cleanup(w.Close)
	}
	require.NoError(t, err)
	return w
}

// TestDemoFailover runs what people run: it tells that Redis has two holders, and redfence one in each mode.
func TestDemoFailover(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("skipped: redis-server is not installed")
	}
	out, err := exec.Command(harness.Binary(t, harness.Options{}), "demo", "failover").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, 1, strings.Count(string(out), "TWO HOLDERS"), "%s", out)
	assert.Equal(t, 2, strings.Count(string(out), "ONE HOLDER"), "%s", out)
	assert.Equal(t, 2, strings.Count(string(out), "alice lets go, and bob takes the lock"), "%s", out)
}

// storyteller is a program with two users of one lock, who know nothing but Sentinels; see clients/README.md.
type storyteller struct {
	client string
	argv   func(sentinels, key string) []string
}

var storytellers = []storyteller{
	{"redisson", func(s, key string) []string { return java("Failover", "--sentinels", s, "--key", key) }},
	{"jedis", func(s, key string) []string { return jvm("jedis", s, key) }},
	{"lettuce", func(s, key string) []string { return jvm("lettuce", s, key) }},
	{"redis-py", func(s, key string) []string {
		return []string{"clients/python/.venv/bin/python", "clients/python/failover.py", s, key}
	}},
	{"ioredis", func(s, key string) []string { return []string{"node", "clients/node/failover.js", s, key} }},
	{"go-redis", func(s, key string) []string {
		return []string{"clients/golang/target/suite", "-failover", s, "-key", key}
	}},
}

// programOf is which of the client programs a storyteller belongs to.
var programOf = map[string]string{
	"redisson": "redisson", "jedis": "jvm", "lettuce": "jvm", "redis-py": "python", "ioredis": "node", "go-redis": "golang",
}

// jvm is the command line of the program with Jedis and Lettuce.
func jvm(args ...string) []string {
	return append([]string{"java", "-Xmx256m", "-cp", "clients/jvm/target/classes:clients/jvm/target/lib/*", "locks.Failover"}, args...)
}

// story is a storyteller that runs.
type story struct {
	t      *testing.T
	name   string
	orders io.Writer
	lines  chan string
	stderr strings.Builder
}

func (s storyteller) begin(t *testing.T, w *demo.World) *story {
	t.Helper()
	argv := s.argv(strings.Join(w.Sentinels, ","), "lock:"+s.client)
	st := &story{t: t, name: s.client, lines: make(chan string, 16)}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = &st.stderr
	orders, err := cmd.StdinPipe()
	require.NoError(t, err)
	printed, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	read := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-read
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("standard error of %s:\n%s", s.client, st.stderr.String())
		}
	})
	st.orders = orders
	go func() {
		defer close(read)
		defer close(st.lines)
		for scan := bufio.NewScanner(printed); scan.Scan(); {
			st.lines <- scan.Text()
		}
	}()
	return st
}

// tell gives an order.
func (s *story) tell(order string) {
	s.t.Helper()
	_, err := fmt.Fprintln(s.orders, order)
	require.NoError(s.t, err, s.name)
}

// hears waits for the next line.
func (s *story) hears() string {
	s.t.Helper()
	select {
	case line, open := <-s.lines:
		require.True(s.t, open, "%s ended", s.name)
		return line
	case <-time.After(clientTimeout):
		s.t.Fatalf("%s says nothing", s.name)
		return ""
	}
}

const (
	watchHolders = 3 * time.Second  // how long the one who waits is watched after the master was lost
	wokenWithin  = 10 * time.Second // of a release; the lease is far from over then
)

// TestNamedMasterIsKilledUnderClients kills the member that the faces name while six clients hold locks and others wait for
// them: all find another one, no lock is lost or counted twice, nobody else gets it, and its release wakes who waits.
func TestNamedMasterIsKilledUnderClients(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out the client programs")
	}
	programs := buildClients(t)
	for backend, start := range map[string]func(context.Context, string, demo.Tools) (*demo.World, error){
		"raft3": demo.NewRaft, "quorum3": demo.NewQuorum,
	} {
		t.Run(backend, func(t *testing.T) {
			if backend != "raft3" && os.Getenv("REDFENCE_LONG") != "1" {
				t.Skip("skipped: the gate has the clients of one mode; REDFENCE_LONG=1 has both")
			}
			w := startWorld(t, start)
			var stories []*story
			for _, s := range storytellers {
				if reason, missing := programs[programOf[s.client]]; missing {
					t.Logf("without %s: %s", s.client, reason)
					continue
				}
				mark(t, s.client, backend, matrix.Sentinels)
				stories = append(stories, s.begin(t, w))
			}
			each(stories, "connected", "lock")
			each(stories, "held", "")
			was, is, err := w.Fail(t.Context())
			require.NoError(t, err)
			t.Logf("%s was killed, %s is named", was, is)
			each(stories, "", "failed")
			each(stories, "alice 1", "")
			<-time.After(watchHolders)
			each(stories, "", "watched")
			each(stories, "bob waits", "release")
			each(stories, "released 1", "")
			released := time.Now()
			each(stories, "bob got", "")
			assert.Less(t, time.Since(released), wokenWithin)
		})
	}
}

// each waits for a line of all, and then gives all an order; empty is none.
func each(stories []*story, line, order string) {
	for _, s := range stories {
		s.t.Helper()
		if line != "" {
			require.Equal(s.t, line, s.hears(), s.name)
		}
		if order != "" {
			s.tell(order)
		}
	}
}

// TestRedissonLosesALockToRedis is what the other tests are there for: the same program before a real Redis with Sentinels has
// two holders when its master is killed.
func TestRedissonLosesALockToRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out the client programs")
	}
	buildClients(t).need(t, "redisson")
	w := startWorld(t, demo.NewRedis)
	s := storytellers[0].begin(t, w)
	require.Equal(t, "connected", s.hears())
	require.NoError(t, w.Before(t.Context()))
	s.tell("lock")
	require.Equal(t, "held", s.hears())
	_, _, err := w.Fail(t.Context())
	require.NoError(t, err)
	s.tell("failed")
	require.Equal(t, "alice 0", s.hears(), "the lock was not lost")
}
