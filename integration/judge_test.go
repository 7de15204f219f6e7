package integration

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// TestJudge shows that the comparison sees differences, and only those that a
// line does not allow.
func TestJudge(t *testing.T) {
	tests := map[string]struct {
		line, reference, subject string
		right                    bool
	}{
		"equal bytes":                {"GET k", "$1\r\na\r\n", "$1\r\na\r\n", true},
		"another value":              {"GET k", "$1\r\na\r\n", "$1\r\nb\r\n", false},
		"another type of nil":        {"GET k", "$-1\r\n", "*-1\r\n", false},
		"another error text":         {"GET k", "-ERR a\r\n", "-ERR b\r\n", false},
		"class allows texts":         {"!class GET k", "-ERR a\r\n", "-ERR b\r\n", true},
		"class sees classes":         {"!class GET k", "-ERR a\r\n", "-WRONGTYPE a\r\n", false},
		"class sees success":         {"!class GET k", "-ERR a\r\n", "+OK\r\n", false},
		"near":                       {"!approx=5 PTTL k", ":100\r\n", ":96\r\n", true},
		"not near":                   {"!approx=5 PTTL k", ":100\r\n", ":94\r\n", false},
		"no TTL is not near":         {"!approx=5 PTTL k", ":1\r\n", ":-1\r\n", false},
		"sorted":                     {"!sorted KEYS *", "*2\r\n+a\r\n+b\r\n", "*2\r\n+b\r\n+a\r\n", true},
		"sorted sees content":        {"!sorted KEYS *", "*2\r\n+a\r\n+b\r\n", "*2\r\n+a\r\n+a\r\n", false},
		"pairs":                      {"!pairs HGETALL h", "*4\r\n+a\r\n+1\r\n+b\r\n+2\r\n", "*4\r\n+b\r\n+2\r\n+a\r\n+1\r\n", true},
		"pairs stay together":        {"!pairs HGETALL h", "*4\r\n+a\r\n+1\r\n+b\r\n+2\r\n", "*4\r\n+a\r\n+2\r\n+b\r\n+1\r\n", false},
		"shape":                      {"!shape TIME", "*1\r\n:1\r\n", "*1\r\n:2\r\n", true},
		"shape sees types":           {"!shape TIME", "*1\r\n:1\r\n", "*1\r\n+1\r\n", false},
		"mask":                       {"!mask=id HELLO", "*4\r\n+id\r\n:1\r\n+x\r\n:1\r\n", "*4\r\n+id\r\n:2\r\n+x\r\n:1\r\n", true},
		"mask sees the rest":         {"!mask=id HELLO", "*4\r\n+id\r\n:1\r\n+x\r\n:1\r\n", "*4\r\n+id\r\n:2\r\n+x\r\n:2\r\n", false},
		"head":                       {"!head=1 COMMAND", "*1\r\n*2\r\n+a\r\n:1\r\n", "*1\r\n*1\r\n+a\r\n", true},
		"head sees the head":         {"!head=1 COMMAND", "*1\r\n*2\r\n+a\r\n:1\r\n", "*1\r\n*2\r\n+b\r\n:1\r\n", false},
		"regex":                      {"!regex=^.x INFO", "$2\r\nxa\r\n", "$2\r\nxb\r\n", true},
		"regex sees the subject":     {"!regex=^.x INFO", "$2\r\nxa\r\n", "$2\r\nyb\r\n", false},
		"regex sees the reference":   {"!regex=^.x INFO", "$2\r\nya\r\n", "$2\r\nxb\r\n", false},
		"a real difference":          {"!diff=id WAIT 1 1", ":0\r\n", ":1\r\n", true},
		"a stale difference":         {"!diff=id WAIT 1 1", ":0\r\n", ":0\r\n", false},
		"a difference as told":       {"!diff=id !want=1$ WAIT 1 1", ":0\r\n", ":1\r\n", true},
		"a difference of other kind": {"!diff=id !want=1$ WAIT 1 1", ":0\r\n", ":2\r\n", false},
		"a difference of text":       {"!diff=id !class EVAL x 0", "-ERR a\r\n", "-ERR b\r\n", true},
		"a difference of more":       {"!diff=id !class EVAL x 0", "-ERR a\r\n", "+OK\r\n", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			wrong := parseStep(t, tc.line).rule.judge(decoded(t, tc.reference), decoded(t, tc.subject), false)
			if (wrong == "") != tc.right {
				t.Fatalf("%s: %q against %q judged %q", tc.line, tc.subject, tc.reference, wrong)
			}
		})
	}
}

func decoded(t *testing.T, wire string) []harness.Reply {
	t.Helper()
	reply, err := harness.ReadReply(bufio.NewReader(strings.NewReader(wire)))
	if err != nil {
		t.Fatal(err)
	}
	return []harness.Reply{reply}
}

func parseStep(t *testing.T, line string) step {
	t.Helper()
	p := transcriptParser{}
	if err := p.parse(line); err != nil {
		t.Fatal(err)
	}
	return p.steps[0]
}

func TestTranscriptLines(t *testing.T) {
	tests := map[string]struct {
		line, conn string
		args       []string
	}{
		"plain":             {"SET k v", "main", []string{"SET", "k", "v"}},
		"quoted":            {`SET k "a b\r\n\x00"`, "main", []string{"SET", "k", "a b\r\n\x00"}},
		"single quotes":     {`SET k 'a "b" \n'`, "main", []string{"SET", "k", `a "b" \n`}},
		"empty word":        {`SET k ""`, "main", []string{"SET", "k", ""}},
		"byte":              {`SET k "\xff"`, "main", []string{"SET", "k", "\xff"}},
		"connection first":  {`b> !class GET k`, "b", []string{"GET", "k"}},
		"connection second": {`!class b> GET k`, "b", []string{"GET", "k"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := parseStep(t, tc.line)
			if st.conn != tc.conn || !slices.Equal(st.args, tc.args) {
				t.Fatalf("%s parsed as %q on %q", tc.line, st.args, st.conn)
			}
		})
	}
}

func TestTranscriptRefusesBadLines(t *testing.T) {
	for _, line := range []string{`GET "open`, "!nosuch GET k", "!class", "!approx=x GET k", "!regex=( GET k"} {
		p := transcriptParser{}
		if err := p.parse(line); err == nil {
			t.Errorf("%s was accepted", line)
		}
	}
}
