package matrix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// The ways from a client to redfence.
const (
	Direct    = "direct"
	Sentinels = "sentinels"
)

// Run is what was exercised: a client of a version, on a backend of the suites, in a way.
type Run struct {
	Client  string `json:"client"` // ID of a row
	Version string `json:"version"`
	Backend string `json:"backend"`
	Way     string `json:"way"`
}

// Result is what came of a run.
type Result struct {
	Run
	Date   string   `json:"date"`
	Commit string   `json:"commit"`
	Passed []string `json:"passed"` // cases, one for each protocol and library below in which it ran
	Failed []string `json:"failed,omitempty"`
}

// Load reads a file of results; none is no results.
func Load(file string) ([]Result, error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	var results []Result
	if err := json.Unmarshal(text, &results); err != nil {
		return nil, fmt.Errorf("results in %s: %w", file, err)
	}
	return results, nil
}

// Save writes a file of results, one a line.
func Save(file string, results []Result) error {
	var text bytes.Buffer
	text.WriteString("[\n")
	for i, r := range results {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("results: %w", err)
		}
		text.Write(line)
		if i < len(results)-1 {
			text.WriteByte(',')
		}
		text.WriteByte('\n')
	}
	text.WriteString("]\n")
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// Merge puts new results in the place of those of the same client, backend and way, whatever their version; the results
// of clients that have no row any more are dropped.
func Merge(old, fresh []Result) []Result {
	merged := slices.Clone(fresh)
	for _, o := range old {
		_, known := index(o.Client)
		replaced := slices.ContainsFunc(fresh, func(f Result) bool {
			return f.Client == o.Client && f.Backend == o.Backend && f.Way == o.Way
		})
		if known && !replaced {
			merged = append(merged, o)
		}
	}
	slices.SortFunc(merged, func(a, b Result) int {
		i, _ := index(a.Client)
		j, _ := index(b.Client)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(a.Way, b.Way), cmp.Compare(a.Backend, b.Backend))
	})
	return merged
}

// index is the place of a row.
func index(id string) (int, bool) {
	i := slices.IndexFunc(Rows(), func(r Row) bool { return r.ID == id })
	return i, i >= 0
}

// Missing is what is wrong with the results of the rows: no run of this version that passed, or one that failed.
func Missing(results []Result, versions map[string]string) (wrong []string) {
	for _, row := range Rows() {
		version, passed := versions[row.ID], false
		for _, r := range results {
			if r.Client != row.ID || r.Version != version {
				continue
			}
			passed = passed || len(r.Failed) == 0 && len(r.Passed) > 0
			if len(r.Failed) > 0 {
				wrong = append(wrong, fmt.Sprintf("%s %s failed on %s, %s: %v", row.ID, version, r.Backend, r.Way, r.Failed))
			}
		}
		if !passed {
			wrong = append(wrong, fmt.Sprintf("%s %s has no result: REDFENCE_LONG=1, see integration/matrix/record", row.ID, version))
		}
	}
	return wrong
}
