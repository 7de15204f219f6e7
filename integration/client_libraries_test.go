package integration

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The cases of the programs below; see clients/README.md.
var (
	nodeLockCases    = words("acquire-release held-is-refused waits extend extend-lost expiry script-flush contention")
	nodeClientCases  = append(words("pub-sub pipeline multi"), nodeLockCases...)
	nodeRedlockCases = append(words("several-keys"), nodeLockCases...)
	nodeUsingCases   = append(words("using"), nodeRedlockCases...)
	nodeMutexCases   = append(words("refresh"), nodeLockCases...)
	semaphoreCases   = words("limit expires refresh several-permits")

	redsyncCases = words(`redsync/lock-unlock redsync/waits redsync/extend redsync/expired redsync/extend-lost
		redsync/setnx-on-extend redsync/contention`)
	redislockCases = words(`redislock/obtain-release redislock/own-token redislock/waits redislock/refresh redislock/lost
		redislock/expiry redislock/contention`)
	rueidisCases = words(`rueidis/lock rueidis/cache rueidis/cache-expiry rueidis/cache-flush rueidis/broadcast
		rueidis/transaction rueidis/subscribe`)
	pythonRedisLockCases = words(`acquire-release signal-wakes many-waiters waits-in-vain expiry extend auto-renewal
		no-expiry reset reset-all script-flush contention`)
	potteryCases = words("acquire-release waits extend expiry context-manager contention")

	rueidislockCases = words("lock-unlock waits waits-for-expiry extends lost forced flushed contention quiet")
)

// library is a lock library, or a client that locks by hand.
type library struct {
	program  string // which of the client programs serves it
	name     string
	variants []variant
}

// variant is one way to run a library's cases: a version, a protocol, a way to wait.
type variant struct {
	name  string
	args  []string // of the program, after the address
	cases []string
}

// nodeLibraries run over ioredis 6, unless they say 5, which speaks RESP2 only.
var nodeLibraries = []library{
	{"node", "ioredis", []variant{
		{"6-resp3", words("--library ioredis --protocol 3"), nodeClientCases},
		{"6-resp2", words("--library ioredis --protocol 2"), nodeClientCases},
		{"5", words("--library ioredis --ioredis 5"), nodeClientCases},
	}},
	{"node", "redlock", []variant{
		{"5", words("--library redlock5"), nodeUsingCases},
		{"5-on-ioredis-5", words("--library redlock5 --ioredis 5"), nodeUsingCases},
		{"4", words("--library redlock4"), nodeRedlockCases},
		{"4-on-ioredis-5", words("--library redlock4 --ioredis 5"), nodeRedlockCases},
	}},
	{"node", "sesamecare-redlock", []variant{
		{"1", words("--library sesamecare"), nodeUsingCases},
		{"1-on-ioredis-5", words("--library sesamecare --ioredis 5"), nodeUsingCases},
	}},
	{"node", "redis-semaphore", []variant{
		{"semaphore", words("--library semaphore"), semaphoreCases},
		{"semaphore-on-ioredis-5", words("--library semaphore --ioredis 5"), semaphoreCases},
	}},
	{"node", "redis-semaphore-mutex", []variant{
		{"mutex", words("--library mutex"), nodeMutexCases},
		{"redlock-mutex", words("--library redlock-mutex"), nodeMutexCases},
	}},
	{"node", "redlock-universal", []variant{
		{"on-ioredis", words("--library universal"), nodeUsingCases},
		{"on-node-redis", words("--library universal-on-node-redis"), nodeUsingCases},
		{"redlock", words("--library universal-redlock"), nodeLockCases},
		{"on-ioredis-5", words("--library universal --ioredis 5"), nodeUsingCases},
	}},
	{"node", "node-redis", []variant{
		{"6-resp3", words("--library node-redis --protocol 3"), nodeClientCases},
		{"6-resp2", words("--library node-redis --protocol 2"), nodeClientCases},
	}},
}

var goLibraries = []library{
	{"golang", "redislock", []variant{
		{"on-go-redis", words("-suite redislock"), cross(words("resp2 resp3"), redislockCases)},
	}},
	{"golang", "go-redis", []variant{
		{"both", words("-suite go-redis"), cross(words("resp2 resp3"), goRedisCases)},
	}},
	{"golang", "redsync", []variant{
		{"on-go-redis", words("-suite redsync"), cross(words("resp2 resp3"), redsyncCases)},
		{"on-redigo", words("-suite redsync-redigo"), cross(words("resp2"), redsyncCases)},
		{"on-rueidis", words("-suite redsync-rueidis"), cross(words("resp2 resp3"), redsyncCases)},
	}},
	{"golang", "rueidis", []variant{
		{"resp3", words("-suite rueidis"), cross(words("resp3"), rueidisCases)},
	}},
	{"golang", "rueidislock", []variant{
		{"tracking", words("-suite rueidislock"), cross(words("resp3/rueidislock/tracking"), rueidislockCases)},
		{"noloop", words("-suite rueidislock-noloop"), cross(words("resp3/rueidislock/noloop"), rueidislockCases)},
		{
			"polling", words("-suite rueidislock-polling"),
			cross(words("resp2/rueidislock/polling resp3/rueidislock/polling"), rueidislockCases),
		},
	}},
}

var pythonLibraries = []library{
	{"python", "python-redis-lock", []variant{
		{"resp3", words("--library python-redis-lock --protocol 3"), pythonRedisLockCases},
		{"resp2", words("--library python-redis-lock --protocol 2"), pythonRedisLockCases},
	}},
	{"python", "pottery", []variant{
		{"resp3", words("--library pottery --protocol 3"), potteryCases},
		{"resp2", words("--library pottery --protocol 2"), potteryCases},
	}},
}

// TestClientLibrariesOfNode and the like let every lock library do its work, each with a server of its own.
func TestClientLibrariesOfNode(t *testing.T) {
	testLibraries(t, nodeLibraries, "node", "clients/node/suite.js", "--addr")
}

// TestClientCasesOfNodeNotice shows that the cases fail a lock that everybody gets at once.
func TestClientCasesOfNodeNotice(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out the client programs")
	}
	buildClients(t).need(t, "node")
	run := execClient("node", "clients/node/suite.js", "--addr", startServer(t), "--library", "none")
	for _, name := range words("held-is-refused waits extend-lost expiry contention") {
		assert.Contains(t, run.failures, name)
	}
	require.Error(t, run.err, "the program's exit code is 0")
}

func TestClientLibrariesOfGo(t *testing.T) {
	testLibraries(t, goLibraries, "clients/golang/target/suite", "-addr")
}

// TestClientHoldingALockIsQuiet shows that rueidislock, which extends a key when it is told that it has changed, comes to
// rest: an extension that changes nothing must not be told. redis-server tells it, and is then busy with nothing else.
func TestClientHoldingALockIsQuiet(t *testing.T) {
	if testing.Short() || onRedis() {
		t.Skip("skipped: -short leaves out the client programs, and redis-server does not come to rest")
	}
	const mostCommands = 300 // of four extensions of three keys, those in scripts included; redis-server has 100,000
	buildClients(t).need(t, "golang")
	name := "rueidislock/tracking/quiet"
	run := execClient("clients/golang/target/suite", "-addr", startServer(t), "-suite", "rueidislock", "-case", name)
	run.check(t, []string{"resp3/" + name})
	sums := map[string]int{}
	addCounts(t, sums, run.details["resp3/"+name])
	assert.Positive(t, sums["commands"])
	assert.Less(t, sums["commands"], mostCommands)
}

func TestClientLibrariesOfPython(t *testing.T) {
	testLibraries(t, pythonLibraries, append(python("lock_libraries.py"), "--addr")...)
}

// hastyLibraries do not wait until there is a new leader.
var hastyLibraries = map[string]string{
	"redis-semaphore": "it counts leases of 600 ms by its own clock",
	"rslock":          "it waits 500 ms for an answer, which cannot be set",
}

// testLibraries runs one variant of each library, or all of them in a long run. Each run is
// `command... ADDRESS args...`, with a server of its own.
func testLibraries(t *testing.T, libraries []library, command ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: -short leaves out the client programs")
	}
	programs := buildClients(t)
	for _, lib := range libraries {
		for _, v := range rotated(t, lib.variants) {
			t.Run(lib.name+"/"+v.name, func(t *testing.T) {
				t.Parallel()
				programs.need(t, lib.program)
				if reason, hasty := hastyLibraries[lib.name]; hasty && clientBackend(t).name == onKilledLeaders.name {
					t.Skipf("skipped: %s, and an election takes longer", reason)
				}
				exercises(t, lib.name+"-"+v.name)
				argv := append(append([]string{}, command...), startServer(t))
				runClient(t, v.cases, append(argv, v.args...)...)
			})
		}
	}
}

// rotated is all of them in a long run (REDFENCE_LONG=1), otherwise one: which, the commit under test decides, so
// that the gate's time stays bounded and each has its turn.
func rotated[T any](t *testing.T, all []T) []T {
	t.Helper()
	if os.Getenv("REDFENCE_LONG") == "1" {
		return all
	}
	i := int(commitNumber(t) % uint64(len(all)))
	return all[i : i+1]
}

// commitNumber is made of the hash of the commit under test; 0 outside of a git checkout.
func commitNumber(t *testing.T) uint64 {
	t.Helper()
	hash, err := exec.Command("git", "rev-parse", "--short=15", "HEAD").Output()
	if err != nil {
		return 0
	}
	number, err := strconv.ParseUint(strings.TrimSpace(string(hash)), 16, 64)
	if err != nil {
		t.Fatalf("git rev-parse answered %q", hash)
	}
	return number
}
