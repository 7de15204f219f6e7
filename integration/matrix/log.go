package matrix

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Attribute is the key of the test attribute (testing.T.Attr) that makes a test a run of a client.
const Attribute = "client"

// separator stands between the fields of an attribute; versions hold spaces.
const separator = "|"

// String is the run as the value of an attribute.
func (r Run) String() string {
	return strings.Join([]string{r.Client, r.Version, r.Backend, r.Way}, separator)
}

func parseRun(text string) (Run, error) {
	fields := strings.Split(text, separator)
	if len(fields) != 4 {
		return Run{}, fmt.Errorf("log: %q is no run of a client", text)
	}
	return Run{Client: fields[0], Version: fields[1], Backend: fields[2], Way: fields[3]}, nil
}

var (
	beginning = regexp.MustCompile(`^=== RUN +(\S+)$`)
	attribute = regexp.MustCompile(`^=== ATTR +(\S+) ` + Attribute + ` (.+)$`)
	ending    = regexp.MustCompile(`^ *--- (PASS|FAIL): (\S+) \(`)
)

// logReader takes the output of `go test -v` line by line.
type logReader struct {
	runs    map[string][]Run // of the tests that have attributes
	parents map[string]bool  // tests with subtests
	order   []Run
	results map[Run]*Result
}

// ReadLog answers what the output of `go test -v` tells of runs of clients. The cases of a run are the tests below the one
// that bears its attribute, or that one when there are none.
func ReadLog(log io.Reader) ([]Result, error) {
	r := logReader{map[string][]Run{}, map[string]bool{}, nil, map[Run]*Result{}}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := r.take(lines.Text()); err != nil {
			return nil, err
		}
	}
	results := make([]Result, len(r.order))
	for i, run := range r.order {
		results[i] = *r.results[run]
	}
	return results, lines.Err()
}

func (r *logReader) take(line string) error {
	if m := beginning.FindStringSubmatch(line); m != nil {
		delete(r.runs, m[1]) // of an earlier run on another backend
		for name := parent(m[1]); name != ""; name = parent(name) {
			r.parents[name] = true
		}
	}
	if m := attribute.FindStringSubmatch(line); m != nil {
		run, err := parseRun(m[2])
		if err != nil {
			return err
		}
		r.runs[m[1]] = append(r.runs[m[1]], run)
	}
	if m := ending.FindStringSubmatch(line); m != nil {
		r.end(m[2], m[1] == "PASS")
	}
	return nil
}

// end takes the end of a test. A test with subtests only counts when it failed: what passed are its cases.
func (r *logReader) end(test string, passed bool) {
	if passed && r.parents[test] {
		return
	}
	for name := test; name != ""; name = parent(name) {
		for _, run := range r.runs[name] {
			r.add(run, test[strings.LastIndex(test, "/")+1:], passed)
		}
	}
}

func (r *logReader) add(run Run, name string, passed bool) {
	result, known := r.results[run]
	if !known {
		result = &Result{Run: run}
		r.results[run] = result
		r.order = append(r.order, run)
	}
	if passed {
		result.Passed = append(result.Passed, name)
	} else {
		result.Failed = append(result.Failed, name)
	}
}

// parent is the test that a subtest is below of, empty when none.
func parent(test string) string { return test[:max(0, strings.LastIndex(test, "/"))] }
