package runner

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/tally"
)

// wire is a connection to a redis-server that shows replies as they are.
type wire struct {
	t testing.TB
	c net.Conn
	r *bufio.Reader
}

func dial(t testing.TB, addr string, p resp.Protocol) *wire {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	w := &wire{t, c, bufio.NewReader(c)}
	if p == resp.RESP3 {
		w.do("HELLO", "3")
	}
	return w
}

// do sends a command line and returns the bytes of the reply.
func (w *wire) do(line ...string) string {
	w.t.Helper()
	_, err := w.c.Write(resp.Append(nil, resp.Strs(line...), resp.RESP2))
	require.NoError(w.t, err)
	return w.reply()
}

func (w *wire) reply() string {
	w.t.Helper()
	head, err := w.r.ReadString('\n')
	require.NoError(w.t, err)
	n, _ := strconv.Atoi(strings.TrimSpace(head[1:]))
	switch head[0] {
	case '$', '=':
		if n < 0 {
			return head
		}
		body := make([]byte, n+2)
		_, err := io.ReadFull(w.r, body)
		require.NoError(w.t, err)
		return head + string(body)
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		var all strings.Builder
		all.WriteString(head)
		for range max(n, 0) {
			all.WriteString(w.reply())
		}
		return all.String()
	}
	return head
}

// transcript is a line of integration/testdata/differential, with the directive that stands in front of it.
type transcript struct {
	file, directive string
	protocol        resp.Protocol // 0: both
	args            []string
}

// readTranscripts reads the lines of the main connection that are plain commands.
func readTranscripts(t *testing.T) []transcript {
	t.Helper()
	files, err := filepath.Glob("../../integration/testdata/differential/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all []transcript
	for _, file := range files {
		switch name := filepath.Base(file); name {
		case "session.txt", "pubsub.txt", "tracking.txt", "admin.txt", "blocking.txt", "transactions.txt":
			continue // of connections, which are none of the runner's work
		}
		all = append(all, readTranscript(t, file)...)
	}
	return all
}

var otherConnection = regexp.MustCompile(`^[a-z][a-z0-9]*> `)

func readTranscript(t *testing.T, file string) (lines []transcript) {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // the project's own
	require.NoError(t, err)
	var protocol resp.Protocol
	scripts, name := map[string]string{}, ""
	for line := range strings.SplitSeq(string(text), "\n") {
		switch {
		case line == "%end":
			name = ""
		case name != "":
			scripts[name] += line + "\n"
		case strings.HasPrefix(line, "%script "):
			name = strings.TrimPrefix(line, "%script ")
		case line == "#resp2":
			protocol = resp.RESP2
		case line == "#resp3":
			protocol = resp.RESP3
		case line == "#both":
			protocol = 0
		case line == "" || line[0] == '#' || otherConnection.MatchString(line):
		default:
			directive := ""
			for strings.HasPrefix(line, "!") {
				word, rest, _ := strings.Cut(line, " ")
				directive, line = directive+word, rest
			}
			for name, text := range scripts {
				line = strings.ReplaceAll(line, "${"+name+"}", text)
			}
			if !strings.Contains(line, "${") {
				lines = append(lines, transcript{filepath.Base(file), directive, protocol, splitWords(t, line)})
			}
		}
	}
	return lines
}

// splitWords splits a line as redis-cli does.
func splitWords(t *testing.T, line string) (words []string) {
	t.Helper()
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			words, line = append(words, word), rest
			continue
		}
		var word []byte
		i := 1
		for ; i < len(line) && line[i] != '"'; i++ {
			c := line[i]
			if c == '\\' && i+1 < len(line) {
				i++
				switch c = line[i]; c {
				case 'n':
					c = '\n'
				case 'r':
					c = '\r'
				case 't':
					c = '\t'
				case 'x':
					n, err := strconv.ParseUint(line[i+1:i+3], 16, 8)
					require.NoError(t, err)
					c, i = byte(n), i+2
				}
			}
			word = append(word, c)
		}
		words, line = append(words, string(word)), line[min(i+1, len(line)):]
	}
	return words
}

// TestDifferential sends the lines of the transcripts to a redis-server, and to another one through the runner: the
// replies must be the same, byte for byte, in both protocols.
func TestDifferential(t *testing.T) {
	lines := readTranscripts(t)
	for _, p := range []resp.Protocol{resp.RESP2, resp.RESP3} {
		t.Run("resp"+strconv.Itoa(int(p)), func(t *testing.T) {
			n, reference := newNode(t), newNode(t)
			w := dial(t, reference.addr, p)
			file, compared := "", 0
			for _, line := range lines {
				if line.file != file {
					file = line.file
					w.do("FLUSHALL")
					n.raw("FLUSHALL")
				}
				if line.protocol != 0 && line.protocol != p || len(line.args) == 0 {
					continue
				}
				if compareLine(t, n, w, line, p) {
					compared++
				}
			}
			require.Greater(t, compared, 700)
		})
	}
}

// compareLine tells whether the line is one that the runner executes.
func compareLine(t *testing.T, n *node, w *wire, line transcript, p resp.Protocol) bool {
	t.Helper()
	r, err := commands.Bind(line.args, 0)
	if err != nil || unlike(r) || strings.Contains(line.directive, "want=") {
		return false
	}
	op := &Run{ID: "id", Requests: []*commands.Request{r}, Wall: testWall, Seen: true}
	if strings.HasPrefix(r.Spec.Name, "eval") {
		if w.do("SCRIPT", "LOAD", line.args[1])[0] == '-' {
			return false // never gets as far as the runner
		}
		op.Text = NewText(line.args[1])
	}
	want := w.do(line.args...)
	if strings.Contains(line.directive, "!until") { // for a key to expire: on both
		require.Eventually(t, func() bool {
			want = w.do(line.args...)
			return want == ":0\r\n" && n.raw("EXISTS", line.args[1]) == int64(0)
		}, eventually, tick, "%q", line.args)
	}
	res := n.send(op, Target{})
	if !empty(t, res, line) {
		return true
	}
	requireNamed(t, op, res.Answer)
	got := string(resp.Append(nil, res.Answer.Reply, p))
	if !sameReply(got, want, r, line) {
		t.Errorf("%s: %s %q\n got %q\nwant %q", line.file, line.directive, line.args, got, want)
	}
	return true
}

func empty(t *testing.T, res Result, line transcript) bool {
	t.Helper()
	if res.Reason != "" {
		t.Errorf("%s: %q: %s", line.file, line.args, res.Reason)
	}
	return res.Reason == ""
}

// requireNamed wants that the node saw the keys that the command table sees.
func requireNamed(t *testing.T, op *Run, a *tally.Answer) {
	t.Helper()
	want := map[string]bool{}
	for _, key := range op.Requests[0].Keys() {
		want[key] = true
	}
	got := map[string]bool{}
	for _, s := range a.Seen {
		got[s.Key] = true
	}
	require.Equal(t, want, got, "%q", op.Requests[0].Args)
}

// onPurpose are scripts whose replies differ: what quorum mode refuses, and traces of the world in front of the node's.
var onPurpose = []string{"'SELECT'", "'SPOP'", "'SCRIPT', 'HELP'", "rawset(_G", "setmetatable(_G"}

// unlike are requests that the runner does not execute or that answer something else on purpose.
func unlike(r *commands.Request) bool {
	switch r.Spec.Name {
	case "evalsha", "evalsha_ro", "move", "swapdb", "flushdb", "flushall", "digest", "randomkey", "fence":
		return true
	}
	if strings.HasPrefix(r.Spec.Name, "eval") {
		return slices.ContainsFunc(onPurpose, func(s string) bool { return strings.Contains(r.Args[1], s) })
	}
	if r.Spec.Name == "copy" && slices.Contains(r.Args, "DB") {
		return true
	}
	return r.Spec.Raft == commands.Local || strings.HasPrefix(r.Spec.Name, "script|") || strings.HasPrefix(r.Spec.Name, "object|")
}

var numbers = regexp.MustCompile(`\d+`)

// sameReply compares two replies in the way that the line asks for.
func sameReply(got, want string, r *commands.Request, line transcript) bool {
	switch {
	case got == want:
		return true
	case strings.Contains(line.directive, "!approx"):
		return numbers.ReplaceAllString(got, "") == numbers.ReplaceAllString(want, "")
	case strings.Contains(line.directive, "!regex"), strings.Contains(line.directive, "!class"), strings.Contains(line.directive, "!shape"):
		return got[0] == want[0]
	}
	switch r.Spec.Name {
	case "dbsize": // Redis counts keys that are over their TTL until it removes them; the runner does not
		return numbers.ReplaceAllString(got, "") == numbers.ReplaceAllString(want, "")
	case "smembers", "sinter", "sunion", "sdiff", "hkeys", "hvals", "hgetall", "keys", "scan", "hscan", "sscan", "zscan",
		"srandmember", "spop", "hrandfield", "zrandmember":
		return sortedLines(got) == sortedLines(want) || strings.Contains(r.Spec.Name, "rand") && len(got) > 4 == (len(want) > 4)
	}
	return strings.Contains(line.directive, "!sorted") && sortedLines(got) == sortedLines(want)
}

func sortedLines(s string) string {
	parts := strings.Split(s, "\r\n")
	slices.Sort(parts)
	return strings.Join(parts, "\r\n")
}
