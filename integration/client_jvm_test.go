package integration

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The cases of the programs below; see clients/README.md.
var (
	lockCases    = words("acquire-release held-is-refused waits extend extend-lost expiry script-flush contention")
	jedisCases   = append(words("pub-sub blocking pipeline transaction"), lockCases...)
	lettuceCases = append(words("pipeline transaction"), lockCases...)
	spinCases    = append(words("reentrant waits-in-vain auto-renewal"), lockCases...)
	pubSubCases  = append(words("woken"), spinCases...)
	shedCases    = append(words("keeps-at-least one-of-many unsafe-update"), lockCases...)
)

// jvmLibraries are clients that lock by hand.
var jvmLibraries = []library{
	{"jvm", "jedis", []variant{
		{"resp3", words("--library jedis --protocol 3"), jedisCases},
		{"resp2", words("--library jedis --protocol 2"), jedisCases},
	}},
	{"jvm", "lettuce", []variant{
		{"resp3", words("--library lettuce --protocol 3"), append(words("cache"), lettuceCases...)},
		{"resp2", words("--library lettuce --protocol 2"), lettuceCases},
	}},
}

var (
	registryVariants = []variant{
		{"lettuce-spin", words("--library registry --driver lettuce --wait spin"), spinCases},
		{"lettuce-pubsub", words("--library registry --driver lettuce --wait pubsub"), pubSubCases},
		{"jedis-spin", words("--library registry --driver jedis --wait spin"), spinCases},
		{"jedis-pubsub", words("--library registry --driver jedis --wait pubsub"), pubSubCases},
	}
	shedVariants = []variant{
		{"lettuce", words("--library shedlock --driver lettuce"), shedCases},
		{"jedis", words("--library shedlock --driver jedis"), shedCases},
	}
	springLibraries = []library{
		{"springlocks", "registry-6", registryVariants},
		{"springlocks7", "registry-7", registryVariants},
		{"springlocks", "shedlock-6", shedVariants},
		{"springlocks7", "shedlock-7", shedVariants},
	}
)

// jvmSuite is the program of Jedis and Lettuce; the option says how it finds its server.
func jvmSuite(option string) []string {
	return words("java -Xmx256m -cp clients/jvm/target/classes:clients/jvm/target/lib/* locks.Suite " + option)
}

// springSuite is the program of Spring's libraries with those of a directory; its classes are the same for all.
func springSuite(program, option string) []string {
	return words("java -Xmx256m -cp clients/springlocks/target/classes:clients/" + program + "/target/lib/* locks.SpringSuite " + option)
}

// TestClientLibrariesOfJava lets Jedis and Lettuce lock.
func TestClientLibrariesOfJava(t *testing.T) {
	testLibraries(t, jvmLibraries, jvmSuite("--addr")...)
}

// TestClientCasesOfJavaNotice shows that the cases fail a lock that everybody gets at once.
func TestClientCasesOfJavaNotice(t *testing.T) {
	onlyInLongRun(t)
	buildClients(t).need(t, "jvm")
	run := execClient(append(jvmSuite("--addr"), startServer(t), "--library", "none")...)
	for _, name := range words("held-is-refused waits extend extend-lost expiry contention") {
		assert.Contains(t, run.failures, name)
	}
	require.Error(t, run.err, "the program's exit code is 0")
}

// TestClientLibrariesOfSpring lets RedisLockRegistry and ShedLock lock, each over Lettuce and over Jedis.
func TestClientLibrariesOfSpring(t *testing.T) {
	onlyInLongRun(t)
	for _, lib := range springLibraries {
		testLibraries(t, []library{lib}, springSuite(lib.program, "--addr")...)
	}
}

// olderRedisson is a version that runs the programs of the newest one.
type olderRedisson struct {
	name, program string
	lacks         []string // cases of locks that it does not have
	args          []string
}

var olderRedissons = []olderRedisson{
	{"redisson-327", "redisson327", words("non-reentrant"), nil},
	{
		"redisson-316", "redisson316", words("non-reentrant fenced-tokens-increase fenced-waiter fenced-watchdog"),
		words("--protocol none"),
	},
}

// command is that of the suite of locks; where says how it finds its server.
func (r olderRedisson) command(where ...string) []string {
	argv := words("java -Xmx512m -cp clients/redisson/target/classes:clients/" + r.program + "/target/lib/* locks.LockSuite")
	return append(append(append(argv, where...), r.args...), "--without", strings.Join(r.lacks, ","))
}

func (r olderRedisson) cases() []string {
	return slices.DeleteFunc(slices.Clone(redissonCases), func(name string) bool { return slices.Contains(r.lacks, name) })
}

// TestClientsOfOlderRedissons runs the programs with the libraries of older versions, connected to a single server, and to one
// that Redisson takes for a master with replicas.
func TestClientsOfOlderRedissons(t *testing.T) {
	onlyInLongRun(t)
	programs := buildClients(t)
	for _, r := range olderRedissons {
		for _, where := range words("--addr --replicated") {
			t.Run(r.name+where, func(t *testing.T) {
				t.Parallel()
				programs.need(t, r.program)
				exercises(t, r.name)
				runClient(t, r.cases(), r.command(where, startServer(t))...)
			})
		}
	}
}

// onlyInLongRun skips what the gate has no time for.
func onlyInLongRun(t *testing.T) {
	t.Helper()
	if testing.Short() || os.Getenv("REDFENCE_LONG") != "1" {
		t.Skip("skipped: set REDFENCE_LONG=1 to run it")
	}
}
