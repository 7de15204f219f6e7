package integration

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

var anything = regexp.MustCompile("")

const quorumDoc = "../docs/quorum.md"

// TestDifferentialOfQuorum is TestDifferential for quorum mode. Lines that it does not serve, or answers in another
// way, are sent to neither side. What raft mode does otherwise than Redis, the nodes may do as Redis does. With
// REDFENCE_LONG=1 there are also five nodes.
func TestDifferentialOfQuorum(t *testing.T) {
	var scripts []transcript
	for _, script := range readTranscripts(t) {
		script.steps = slices.DeleteFunc(script.steps, func(s step) bool { return s.rule.noQuorum != "" })
		for i, s := range script.steps {
			if s.rule.diff != "" { // by the way of the nodes or by that of raft mode
				script.steps[i].rule = rule{replies: s.rule.replies, save: s.rule.save, regex: anything}
			}
		}
		scripts = append(scripts, script)
	}
	nodes := []int{3}
	if os.Getenv("REDFENCE_LONG") == "1" {
		nodes = []int{3, 5}
	}
	for _, n := range nodes {
		t.Run(fmt.Sprintf("%d nodes", n), func(t *testing.T) {
			runTranscripts(t, scripts, "", harness.StartRedis(t), harness.StartQuorum(t, n, "--no-wakeups").Server, false)
		})
	}
}

// TestWhatQuorumModeDoesOtherwiseIsDocumented compares the ids in the transcripts with those in docs/quorum.md.
func TestWhatQuorumModeDoesOtherwiseIsDocumented(t *testing.T) {
	text, err := os.ReadFile(quorumDoc)
	if err != nil {
		t.Fatal(err)
	}
	var documented, used []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, m[1])
	}
	for _, script := range readTranscripts(t) {
		for _, st := range script.steps {
			if id := st.rule.noQuorum; id != "" && !slices.Contains(used, id) {
				used = append(used, id)
			}
		}
	}
	slices.Sort(used)
	documented = slices.DeleteFunc(documented, func(id string) bool { return slices.Contains(nodeStates, id) })
	slices.Sort(documented)
	if !slices.Equal(documented, used) {
		t.Fatalf("docs/quorum.md explains %v, the transcripts use %v", documented, used)
	}
}

// nodeStates are the rows of another table in docs/quorum.md.
var nodeStates = []string{"counted", "quarantined", "down", "refused"}
