package quorum

import (
	"strings"
	"testing"
	"time"
)

// goodCanary is that of the first server process of node i.
func goodCanary(i int) canary {
	return canary{Cluster: "C", Nodes: 3, RunID: runID(i), At: 7}
}

func runID(i int) string { return "run" + string(rune('0'+i)) }

// threeNodes are counted, of cluster C.
func threeNodes() *cluster {
	c := &cluster{id: "C", nodes: make([]nodeState, 3)}
	for i := range c.nodes {
		text := goodCanary(i).String()
		c.nodes[i] = nodeState{name: "node" + string(rune('0'+i)), immortal: 0, facts: Facts{
			Look: 1, RunID: runID(i), Role: "master", Policy: "noeviction", Canaries: []string{text, text},
		}}
		c.nodes[i].verdict = c.judge(i)
	}
	return c
}

// both sets the canaries of both databases.
func both(f *Facts, c canary) { f.Canaries = []string{c.String(), c.String()} }

func TestJudge(t *testing.T) {
	cases := map[string]struct {
		change func(f *Facts)
		want   Standing
		reason string
	}{
		"as it was admitted":       {func(*Facts) {}, Counted, ""},
		"a canary of before":       {func(f *Facts) { f.RunID = "other" }, Quarantined, "appendfsync always"},
		"restarted, forgets never": {func(f *Facts) { f.RunID, f.Always = "other", true }, Counted, ""},
		"flushed":                  {func(f *Facts) { f.Canaries = []string{"", ""} }, Quarantined, "empty or was flushed"},
		"one database flushed":     {func(f *Facts) { f.Canaries[1] = "" }, Quarantined, "a database of it was flushed"},
		"databases differ": {func(f *Facts) {
			c := goodCanary(2)
			c.At = 9
			f.Canaries[1] = c.String()
		}, Quarantined, "being brought up to date"},
		"marked by another proxy": {func(f *Facts) {
			c := goodCanary(2)
			c.Attempt = "x"
			both(f, c)
		}, Quarantined, "being brought up to date"},
		"its clock stepped": {func(f *Facts) { f.Steps, f.Step = 1, time.Hour }, Quarantined, "its clock stepped by 1h0m0s"},
		"another cluster": {func(f *Facts) {
			c := goodCanary(2)
			c.Cluster = "D"
			both(f, c)
		}, Refused, "another cluster, D"},
		"another number of nodes": {func(f *Facts) {
			c := goodCanary(2)
			c.Nodes = 5
			both(f, c)
		}, Refused, "a cluster of 5 nodes, here are 3"},
		"not a canary":              {func(f *Facts) { f.Canaries[0] = "hello" }, Refused, "not written by this version"},
		"a replica":                 {func(f *Facts) { f.Role = "slave" }, Refused, "replica"},
		"the same server twice":     {func(f *Facts) { f.RunID = runID(1) }, Refused, "same server as node1"},
		"evicts":                    {func(f *Facts) { f.MaxMemory, f.Policy = 1, "allkeys-lru" }, Refused, "noeviction"},
		"would evict, has no limit": {func(f *Facts) { f.Policy = "allkeys-lru" }, Counted, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := threeNodes()
			f := &c.nodes[2].facts
			tc.change(f)
			v := c.judge(2)
			if v.Standing != tc.want || !strings.Contains(string(v.Reason), tc.reason) || (tc.reason == "") != (v.Reason == "") {
				t.Errorf("got %v %q, want %v %q", v.Standing, v.Reason, tc.want, tc.reason)
			}
			if v.Standing == Counted && (v.RunID != f.RunID || v.Canary != f.Canaries[0]) {
				t.Errorf("%+v is not about %+v", v, f)
			}
		})
	}
}

func TestSilenceChangesNoVerdict(t *testing.T) {
	c := threeNodes()
	before := c.nodes[1].verdict
	c.nodes[1].facts.Reason, c.nodes[1].facts.Role = "timeout", "slave"
	if got := c.judge(1); got != before {
		t.Errorf("%+v became %+v", before, got)
	}
}

func TestLearn(t *testing.T) {
	cases := map[string]struct {
		clusters [3]string // "" for a node without canary, "-" for one that was never asked
		want     string
	}{
		"all the same":         {[3]string{"A", "A", "A"}, "A"},
		"one only":             {[3]string{"", "A", ""}, "A"},
		"the majority":         {[3]string{"B", "A", "B"}, "B"},
		"none":                 {[3]string{"", "", ""}, ""},
		"a tie":                {[3]string{"A", "B", ""}, ""},
		"three":                {[3]string{"A", "B", "C"}, ""},
		"one not asked so far": {[3]string{"A", "A", "-"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := threeNodes()
			c.id = ""
			for i, id := range tc.clusters {
				f := &c.nodes[i].facts
				switch text := (canary{Cluster: id, Nodes: 3}).String(); id {
				case "":
					f.Canaries = []string{"", ""}
				case "-":
					f.Look = 0
				default:
					f.Canaries = []string{text, text}
				}
			}
			if c.learn(); c.id != tc.want {
				t.Errorf("cluster %q, want %q", c.id, tc.want)
			}
		})
	}
}

func TestSetUpStep(t *testing.T) {
	cases := map[string]struct {
		nodes string // of each: e empty, m marked, c counted, d down, o marked by an attempt to bring it up to date
		known bool   // a node counted since this proxy started
		want  step
	}{
		"all empty":                            {"eee", false, mark},
		"all empty under a running proxy":      {"eee", true, nothing},
		"one does not answer":                  {"eed", false, nothing},
		"marks are half way":                   {"mee", false, mark},
		"all marked":                           {"mmm", false, mark},
		"one counts, the others are marked":    {"cmm", false, count},
		"a majority counts":                    {"ccm", false, nothing},
		"one counts, the others lost all":      {"cee", false, nothing},
		"one counts, one marked, one lost all": {"cme", false, nothing},
		"all count":                            {"ccc", true, nothing},
		"one is being brought up to date":      {"moo", false, nothing},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := threeNodes()
			for i, kind := range tc.nodes {
				n, text := &c.nodes[i], goodCanary(i)
				n.immortal = -1
				switch kind {
				case 'e':
					n.facts.Canaries = []string{"", ""}
					continue
				case 'm':
					text.Attempt = settingUp
				case 'o':
					text.Attempt = "x"
				case 'd':
					n.facts.Reason = "timeout"
				}
				both(&n.facts, text)
			}
			if tc.known {
				c.nodes[0].immortal = 0
			}
			if got := c.setUpStep(); got != tc.want {
				t.Errorf("got step %d, want %d", got, tc.want)
			}
		})
	}
}

func TestSourcesAreNMinusMPlusOne(t *testing.T) {
	for _, tc := range []struct {
		nodes, counted int // counted others
		want           bool
	}{{3, 2, true}, {3, 1, false}, {5, 4, true}, {5, 3, true}, {5, 2, false}, {1, 0, false}, {2, 1, true}} {
		c := &cluster{nodes: make([]nodeState, tc.nodes)}
		for i := 1; i <= tc.counted; i++ {
			c.nodes[i].facts.Look, c.nodes[i].verdict.Standing = 1, Counted
		}
		if list, enough := c.sources(0); enough != tc.want || len(list) != tc.counted {
			t.Errorf("%d nodes, %d others: %v, %v", tc.nodes, tc.counted, list, enough)
		}
	}
}

func TestCanaryText(t *testing.T) {
	for _, c := range []canary{
		goodCanary(1),
		{Cluster: "C", Nodes: 5, Attempt: settingUp},
		{Cluster: "C", Nodes: 5, RunID: "r", At: 1 << 40, MaxTTL: 60000, Attempt: "a"},
	} {
		if got, err := parseCanary(c.String()); err != nil || got != c {
			t.Errorf("%+v became %q, that is %+v, %v", c, c, got, err)
		}
	}
	for _, text := range []string{"", "redfence1", "redfence2 C 3 r 7 0 -", "redfence1 C x r 7 0 -", "redfence1 C 3 r 7 0 - more"} {
		if _, err := parseCanary(text); err == nil {
			t.Errorf("%q is taken for a canary", text)
		}
	}
}
