package integration

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// passing runs redfence in front of a Redis, in raft mode.
func passing(t testing.TB, upstream string, args ...string) *harness.Server {
	t.Helper()
	return harness.StartRedfence(t, append([]string{"--upstream", upstream, "--lock-keys", "held:*"}, args...)...)
}

// passedOtherwise are lines that redfence answers differently with an upstream, each with the reason.
func passedOtherwise() []string {
	return []string{
		"SCRIPT EXISTS",  // both sides must have the script, and EVAL gives it to one
		"PUBLISH shared", // all sessions of redfence are one subscriber of the upstream
		"INFO keyspace",  // tells of the locks
	}
}

// TestDifferentialOfPassThrough runs the transcripts on keys that are no locks: what comes back through redfence is what the
// Redis behind it says. Client-side caching is refused with an upstream.
func TestDifferentialOfPassThrough(t *testing.T) {
	var scripts []transcript
	for _, script := range readTranscripts(t) {
		if strings.HasSuffix(script.name, "tracking.txt") {
			continue
		}
		for i, st := range script.steps {
			other := func(text string) bool { return strings.Contains(st.text, text) }
			if st.rule.diff != "" || slices.ContainsFunc(passedOtherwise(), other) {
				script.steps[i].rule = rule{replies: st.rule.replies, save: st.rule.save, regex: regexp.MustCompile("")}
			}
		}
		scripts = append(scripts, script)
	}
	subject := passing(t, "redis://"+harness.StartRedis(t).Addr)
	runTranscripts(t, scripts, "", harness.StartRedis(t), subject, false)
}
