package integration

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/integration/clients/resource"
)

// clientTimeout bounds one run of a client program.
const clientTimeout = 3 * time.Minute

// The cases that each program must report, each as ok.
var (
	redissonCases = words(`
		lock-watchdog lock-watchdog-many lock-dead-owner lock-lease-expires trylock-no-wait trylock-wait-in-vain
		trylock-wait-woken lock-reentrant lock-force-unlock lock-not-owner lock-script-flush
		fenced-tokens-increase fenced-waiter fenced-watchdog spin-exclusion spin-lease-and-owner non-reentrant
		rw-read-watchdog rw-read-reentrant rw-write-watchdog rw-write-wakes-readers rw-downgrade rw-upgrade-refused
		rw-read-lease rw-force-unlock`)
	wakeupCases = words(`wakeup-latency wakeup-without-message`)
	pythonCases = cross(words(`resp2 resp3`), cross(words(`sync asyncio`), words(`
		acquire-release blocking-timeout expiry release-errors extend extend-outlives reacquire reacquire-lost
		no-timeout context-manager script-flush pipeline pipeline-error contention`)))
	goRedisCases = words(`
		go-redis/set-nx-px go-redis/set-nx-ex go-redis/set-options go-redis/script go-redis/script-flush
		go-redis/script-replies go-redis/pipeline go-redis/pipeline-errors go-redis/tx-pipeline go-redis/subscribe
		go-redis/psubscribe`)
	redisCLICases = words(`set-nx-px eval-file resp3 pipe-mode inline repeated script-load`)
	fenceCases    = words(`fence fence-hash fence-key set-fence`)
)

// TestClients lets real client libraries do their lock work, each with a server of its own. Those that measure, or
// load the machine, go first and alone; the others mostly wait for time-outs and run side by side.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out the client programs")
	}
	programs := buildClients(t)
	t.Logf("on %s", clientBackend(t).name)
	t.Run("redisson/wakeup", programs.testWakeup)
	t.Run("redisson/contention", programs.testContention)
	t.Run("redisson/contention-is-noticed", programs.testContentionIsNoticed)
	for _, protocol := range rotated(t, words("RESP2 RESP3")) {
		t.Run("redisson/"+protocol, func(t *testing.T) {
			t.Parallel()
			programs.need(t, "redisson")
			exercises(t, "redisson")
			runClient(t, redissonCases, java("LockSuite", "--addr", startServer(t), "--protocol", protocol)...)
		})
	}
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		programs.need(t, "python")
		exercises(t, "redis-py")
		runClient(t, pythonCases, append(python("lock_suite.py"), "--addr", startServer(t))...)
	})
	t.Run("rediscli", func(t *testing.T) {
		t.Parallel()
		programs.need(t, "rediscli")
		exercises(t, "redis-cli")
		argv := []string{"clients/rediscli/suite.sh", "--addr", startServer(t)}
		if onRedis() {
			runClient(t, redisCLICases, argv...)
			return
		}
		runClient(t, append(redisCLICases, fenceCases...), append(argv, "--redfence")...)
	})
}

// testWakeup asserts that a waiter comes by the message of the unlock; how fast is printed, and belongs to the
// machine: the program itself asserts only that it is far from the lease.
func (p clientPrograms) testWakeup(t *testing.T) {
	p.need(t, "redisson")
	exercises(t, "redisson")
	cases, wakeups := wakeupCases, "yes"
	if onRedis() {
		cases, wakeups = words("wakeup-latency wakeup-only-by-message"), "no"
	}
	details := runClient(t, cases, java("Wakeup", "--addr", startServer(t), "--samples", "250", "--wakeups", wakeups)...)
	fmt.Printf("redisson wake-up: %s\n", details["wakeup-latency"])
}

// testContention lets 20 threads in each of two JVMs contend for one RLock around a counter.
func (p clientPrograms) testContention(t *testing.T) {
	const threads, iterations = 20, 25
	p.need(t, "redisson")
	exercises(t, "redisson")
	addr, counter := startServer(t), startResource(t)
	groups := []string{"jvm1", "jvm2"}
	results := make([]clientRun, len(groups))
	var jvms sync.WaitGroup
	for i, group := range groups {
		jvms.Go(func() {
			results[i] = execClient(java("Contend", "--addr", addr, "--resource", counter.Addr(), "--key", "contend",
				"--group", group, "--threads", fmt.Sprint(threads), "--iterations", fmt.Sprint(iterations),
				"--parties", fmt.Sprint(threads*len(groups)))...)
		})
	}
	jvms.Wait()
	for i, group := range groups {
		t.Run(group, func(t *testing.T) { results[i].check(t, words("contend")) })
	}
	result := counter.Result()
	assert.Empty(t, result.Violations)
	assert.Equal(t, threads*iterations*len(groups), result.Counter, "uses of the resource")
	assert.Positive(t, result.Handovers, "the lock never went from one JVM to the other")
	fmt.Printf("redisson contention: %d grants, %d handovers between JVMs, %s\n",
		result.Counter, result.Handovers, results[0].details["contend"])
}

// testContentionIsNoticed shows that the contention test can fail: without a lock, users meet inside.
func (p clientPrograms) testContentionIsNoticed(t *testing.T) {
	p.need(t, "redisson")
	counter := startResource(t)
	run := execClient(java("Contend", "--addr", startServer(t), "--resource", counter.Addr(), "--key", "contend",
		"--group", "jvm", "--lock", "none")...)
	assert.Contains(t, run.failures, "contend")
	assert.NotEmpty(t, counter.Result().Violations)
	require.Error(t, run.err, "the program does not notice users that meet inside")
}

// onRedis tells whether the programs are to judge a real redis-server, which shows that they ask for nothing else.
func onRedis() bool { return os.Getenv("REDFENCE_CLIENTS_ON") == "redis-server" }

// clientBackend is what the programs of this run talk to: what REDFENCE_CLIENTS_ON names, else raft mode on one node.
// The long run goes through all of Redfence's own, see .ci/long.
func clientBackend(t *testing.T) backend {
	t.Helper()
	name, all := cmp.Or(os.Getenv("REDFENCE_CLIENTS_ON"), "raft"), append(slices.Clone(backends), onKilledLeaders)
	i := slices.IndexFunc(all, func(b backend) bool { return b.name == name })
	if i < 0 {
		t.Fatalf("REDFENCE_CLIENTS_ON is %q, which is none of the backends", name)
	}
	return all[i]
}

// startServer starts the server under test and answers its address.
func startServer(t *testing.T) string {
	t.Helper()
	return clientBackend(t).start(t).Address()
}

func startResource(t *testing.T) *resource.Resource {
	t.Helper()
	r, err := resource.Start()
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// clientPrograms are the clients whose programs are built; the others map to the reason why they are not.
type clientPrograms map[string]string

// buildClients builds all programs that are not up to date, where their tools are installed.
func buildClients(t *testing.T) clientPrograms {
	t.Helper()
	out, err := exec.Command("clients/build.sh").CombinedOutput()
	require.NoError(t, err, "%s", out)
	programs := clientPrograms{}
	for line := range strings.Lines(string(out)) {
		if client, reason, found := strings.Cut(line, ": skipped, "); found {
			programs[client] = strings.TrimSpace(reason)
		}
	}
	return programs
}

// need skips the test when the client's programs could not be built.
func (p clientPrograms) need(t *testing.T, client string) {
	t.Helper()
	if reason, missing := p[client]; missing {
		t.Skipf("skipped: %s: %s", client, reason)
	}
}

// java is the command line of one of the Redisson programs.
func java(program string, args ...string) []string {
	const classPath = "clients/redisson/target/classes:clients/redisson/target/lib/*"
	return append([]string{"java", "-Xmx512m", "-cp", classPath, "locks." + program}, args...)
}

// python is the command line of one of the Python programs.
func python(program string) []string {
	return []string{"clients/python/.venv/bin/python", "clients/python/" + program}
}

// clientRun is what a program has printed, and how it ended.
type clientRun struct {
	details  map[string]string // of the cases that passed
	failures map[string]string // the reasons of the others
	stdout   string
	stderr   string
	err      error // exit code other than 0, or out of time
}

// runClient runs a program, and reports each of its cases as a subtest; it answers the details of those that passed.
func runClient(t *testing.T, cases []string, argv ...string) map[string]string {
	t.Helper()
	run := execClient(argv...)
	run.check(t, cases)
	return run.details
}

func execClient(argv ...string) clientRun {
	ctx, cancel := context.WithTimeout(context.Background(), clientTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	run := clientRun{stdout: stdout.String(), stderr: stderr.String(), err: errors.Join(err, ctx.Err())}
	run.details, run.failures = parseCases(&stdout)
	return run
}

// check reports the cases as subtests: each that is wanted must have passed, and no other may have run.
func (r clientRun) check(t *testing.T, cases []string) {
	t.Helper()
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			if reason, failed := r.failures[name]; failed {
				t.Fatal(reason)
			}
			details, passed := r.details[name]
			if !passed {
				t.Fatal("the program did not report this case")
			}
			t.Log(details)
		})
	}
	if r.err != nil {
		t.Errorf("the program failed: %v", r.err)
	}
	assert.Len(t, cases, len(r.details)+len(r.failures), "cases that ran: %v %v", r.details, r.failures)
	if t.Failed() && r.stderr != "" {
		t.Logf("standard error of the program:\n%s", r.stderr)
	}
}

// parseCases reads the lines "ok NAME DETAILS" and "not ok NAME REASON" that programs print.
func parseCases(stdout *bytes.Buffer) (details, failures map[string]string) {
	details, failures = map[string]string{}, map[string]string{}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		line := lines.Text()
		into := details
		if rest, failed := strings.CutPrefix(line, "not "); failed {
			line, into = rest, failures
		}
		if rest, isCase := strings.CutPrefix(line, "ok "); isCase {
			name, text, _ := strings.Cut(rest, " ")
			into[name] = text
		}
	}
	return details, failures
}

// words are the words of a text.
func words(text string) []string { return strings.Fields(text) }

// cross is every a/b.
func cross(as, bs []string) []string {
	var all []string
	for _, a := range as {
		for _, b := range bs {
			all = append(all, a+"/"+b)
		}
	}
	return all
}

func TestParseCasesOfClients(t *testing.T) {
	details, failures := parseCases(bytes.NewBufferString(
		"ok one\nok two a=1 b=2\nnot ok three out of luck\nnoise\nokay four\nnot okay five\n"))
	assert.Equal(t, map[string]string{"one": "", "two": "a=1 b=2"}, details)
	assert.Equal(t, map[string]string{"three": "out of luck"}, failures)
}
