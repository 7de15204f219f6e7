package integration

import (
	"slices"
	"strings"
	"testing"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/integration/matrix"
)

// sentinelRun is a run of one of the programs, told of nothing but Sentinels.
type sentinelRun struct {
	name, program string
	cases         []string
	argv          func(sentinels string) []string
}

// withoutSentinels are variants of libraries that know none.
var withoutSentinels = words("redsync-on-redigo rslock-resp3 rslock-resp2")

// behindSentinels are the programs whose clients know Sentinels.
func behindSentinels() []sentinelRun {
	runs := []sentinelRun{
		{"redisson", "redisson", redissonCases, func(s string) []string { return java("LockSuite", "--sentinels", s) }},
		{"redis-py", "python", pythonCases, func(s string) []string { return append(python("lock_suite.py"), "--sentinels", s) }},
		{"spring", "spring", springSamples, func(s string) []string { return append(samplesOfSpring("--sentinels"), s) }},
	}
	for _, r := range olderRedissons {
		runs = append(runs, sentinelRun{r.name, r.program, r.cases(), func(s string) []string { return r.command("--sentinels", s) }})
	}
	for _, libraries := range [][]library{
		jvmLibraries, springLibraries, rubyLibraries, pythonLibraries, nodeLibraries, goLibraries, rustLibraries,
	} {
		for _, lib := range libraries {
			for _, v := range lib.variants {
				name := lib.name + "-" + v.name
				if !slices.Contains(withoutSentinels, name) {
					runs = append(runs, sentinelRun{name, lib.program, v.cases, func(s string) []string {
						return append(append(sentinelSuite(lib.program), s), v.args...)
					}})
				}
			}
		}
	}
	return runs
}

// sentinelSuite is the command line of a program, up to the Sentinels.
func sentinelSuite(program string) []string {
	switch program {
	case "jvm":
		return jvmSuite("--sentinels")
	case "springlocks", "springlocks7":
		return springSuite(program, "--sentinels")
	case "ruby":
		return words("ruby clients/ruby/suite.rb --sentinels")
	case "python":
		return append(python("lock_libraries.py"), "--sentinels")
	case "node":
		return words("node clients/node/suite.js --sentinels")
	case "rust":
		return words("clients/rust/target/release/suite --sentinels")
	}
	return words("clients/golang/target/suite -sentinels")
}

// facesOn are the deployments with Sentinel addresses, by the backends that they are.
var facesOn = map[string]func(testing.TB, ...string) *harness.Faces{
	"raft3": harness.StartFaceCluster, "quorum3": harness.StartFaceProxies,
}

// TestNamedMasterServesClients lets clients lock that know nothing but the Sentinel addresses of redfence, each of a redfence
// of its own: some of the programs flush.
func TestNamedMasterServesClients(t *testing.T) {
	onlyInLongRun(t)
	programs := buildClients(t)
	for backend, start := range facesOn {
		for _, r := range behindSentinels() {
			t.Run(backend+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				programs.need(t, r.program)
				mark(t, r.name, backend, matrix.Sentinels)
				faces := start(t)
				faces.Named()
				runClient(t, r.cases, r.argv(strings.Join(faces.Sentinels, ","))...)
			})
		}
	}
}
