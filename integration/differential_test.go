package integration

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

const (
	transcriptFiles   = "testdata/differential/*.txt"
	passwordFile      = "testdata/password.txt"
	compatibilityDoc  = "../docs/compatibility.md"
	fewestLines       = 700
	differentialReply = 5 * time.Second // the longest wait for one reply
)

// TestDifferential sends every transcript line to a real redis-server and to
// redfence, in RESP2 and again in RESP3, and compares the bytes that come back.
func TestDifferential(t *testing.T) {
	reference := harness.StartRedis(t)
	subject := harness.StartRedfence(t, "--no-wakeups") // Redis wakes nobody by itself
	runTranscripts(t, readTranscripts(t), "", reference, subject, false)
}

// TestDifferentialOnTwoRedisServers shows that the transcripts themselves are
// deterministic: what fails here is the file's fault, not redfence's.
func TestDifferentialOnTwoRedisServers(t *testing.T) {
	runTranscripts(t, readTranscripts(t), "", harness.StartRedis(t), harness.StartRedis(t), true)
}

// TestDifferentialWithPassword compares what is refused before AUTH.
func TestDifferentialWithPassword(t *testing.T) {
	const password = "open sesame"
	script, err := readTranscript(passwordFile)
	if err != nil {
		t.Fatal(err)
	}
	reference := harness.StartRedis(t, "--requirepass", password)
	again := harness.StartRedis(t, "--requirepass", password)
	runTranscripts(t, []transcript{script}, password, reference, again, true)
	subject := harness.StartRedfence(t, "--no-wakeups", "--password", password)
	runTranscripts(t, []transcript{script}, password, reference, subject, false)
}

// runTranscripts compares two servers; a password is used to clear them only.
func runTranscripts(t *testing.T, scripts []transcript, password string, reference, subject *harness.Server, sameProgram bool) {
	t.Helper()
	for _, script := range scripts {
		for _, protocol := range []int{2, 3} {
			name := strings.TrimSuffix(filepath.Base(script.name), ".txt")
			t.Run(name+"/resp"+strconv.Itoa(protocol), func(t *testing.T) {
				run := &comparison{
					t: t, protocol: protocol, sameProgram: sameProgram,
					reference: newSide(reference.Addr, protocol), subject: newSide(subject.Addr, protocol),
				}
				run.all(script, password)
			})
		}
	}
}

// comparison runs one transcript on two servers.
type comparison struct {
	t                  *testing.T
	protocol           int
	sameProgram        bool
	reference, subject *side
}

func (c *comparison) all(script transcript, password string) {
	defer c.reference.close()
	defer c.subject.close()
	for _, s := range []*side{c.reference, c.subject} {
		s.clear(c.t, password)
	}
	for _, st := range script.steps {
		if st.protocol == 0 || st.protocol == c.protocol {
			c.step(script.name, st)
		}
	}
}

// step fails the test at once when a server keeps silent: what follows would
// compare replies of different commands.
func (c *comparison) step(file string, st step) {
	want, err := c.reference.run(st)
	if err != nil {
		c.t.Fatalf("%s:%d: %s\nredis-server: %v after %s", file, st.line, st.text, err, show(want))
	}
	got, err := c.subject.run(st)
	if err != nil {
		c.t.Fatalf("%s:%d: %s\nredis-server: %s\nredfence:     %v after %s", file, st.line, st.text, show(want), err, show(got))
	}
	if wrong := st.rule.judge(want, got, c.sameProgram); wrong != "" {
		c.t.Errorf("%s:%d: %s\n%s\nredis-server: %s\nredfence:     %s", file, st.line, st.text, wrong, show(want), show(got))
	}
}

// side is one of the two servers with its named connections.
type side struct {
	addr      string
	protocol  int
	conns     map[string]*harness.Wire
	variables map[string]string
}

func newSide(addr string, protocol int) *side {
	return &side{addr: addr, protocol: protocol, conns: map[string]*harness.Wire{}, variables: map[string]string{}}
}

func (s *side) close() {
	for _, w := range s.conns {
		_ = w.Close()
	}
}

// clear gives a transcript an empty server.
func (s *side) clear(t *testing.T, password string) {
	t.Helper()
	c := harness.Dial(t, s.addr)
	if password != "" {
		c.Want("OK", "AUTH", password)
	}
	c.Want("OK", "FLUSHALL")
	c.Want("OK", "SCRIPT", "FLUSH")
}

// wire is the connection of that name, opened at its first use and again after
// the server has closed it.
func (s *side) wire(name string) (*harness.Wire, error) {
	if w := s.conns[name]; w != nil {
		return w, nil
	}
	w, err := harness.Open(s.addr)
	if err != nil {
		return nil, err
	}
	if s.protocol == 3 {
		if _, err := w.Do("HELLO", "3"); err != nil {
			return nil, err
		}
	}
	s.conns[name] = w
	return w, nil
}

// run sends a step and reads its replies, again and again for until=.
func (s *side) run(st step) ([]harness.Reply, error) {
	var replies []harness.Reply
	var err error
	harness.Poll(differentialReply, func() bool {
		replies, err = s.once(st)
		return err != nil || st.rule.reached(show(replies))
	})
	if err == nil && !st.rule.reached(show(replies)) {
		err = errNeverAnswered
	}
	if st.rule.inside {
		replies = insideExec(replies)
	}
	if st.rule.save != "" && len(replies) > 0 {
		s.variables[st.rule.save] = replies[0].Text
	}
	return replies, err
}

// insideExec takes the reply of the only command out of that of EXEC. One that EXEC refused stays as it is.
func insideExec(replies []harness.Reply) []harness.Reply {
	if len(replies) == 1 && replies[0].Kind == '*' && len(replies[0].Elems) == 1 {
		return replies[0].Elems
	}
	return replies
}

// reached tells whether a line need not be repeated.
func (r rule) reached(shown string) bool {
	return (r.until == "" || shown == r.until) && (!r.repeat || r.regex.MatchString(shown))
}

// errNeverAnswered is a line whose until= did not come true.
var errNeverAnswered = errors.New("never answered as the line wants")

func (s *side) once(st step) ([]harness.Reply, error) {
	w, err := s.wire(st.conn)
	if err != nil {
		return nil, err
	}
	if st.kind != receiveOnly {
		if err := w.SendRaw(s.bytes(st)); err != nil {
			return s.ended(st, nil, err)
		}
	}
	var replies []harness.Reply
	for range st.rule.replies {
		reply, err := w.ReceiveWithin(differentialReply)
		if err != nil {
			return s.ended(st, replies, err)
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// hungUp stands for the end of a connection, which both servers must agree on.
var hungUp = harness.Reply{Kind: '+', Text: "(connection closed)", Raw: []byte("closed")}

// ended turns a closed connection into a reply; a silent server is an error.
func (s *side) ended(st step, replies []harness.Reply, err error) ([]harness.Reply, error) {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return replies, err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		_ = s.conns[st.conn].Close()
		delete(s.conns, st.conn)
		return append(replies, hungUp), nil
	}
	return replies, err
}

// bytes is what a step puts on the wire.
func (s *side) bytes(st step) []byte {
	args := make([]string, len(st.args))
	for i, arg := range st.args {
		args[i] = expand(arg, s.variables)
	}
	switch st.kind {
	case sendRaw:
		return []byte(strings.Join(args, ""))
	case sendInline:
		return []byte(strings.Join(args, " ") + "\r\n")
	default:
		return harness.Encode(args...)
	}
}

func readTranscripts(t *testing.T) []transcript {
	t.Helper()
	paths, err := filepath.Glob(transcriptFiles)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	var all []transcript
	for _, path := range paths {
		script, err := readTranscript(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, script)
	}
	return all
}

func TestTranscriptsAreManyEnough(t *testing.T) {
	lines := 0
	for _, script := range readTranscripts(t) {
		lines += len(script.steps)
		t.Logf("%4d lines in %s", len(script.steps), script.name)
	}
	if lines < fewestLines {
		t.Fatalf("%d transcript lines, want at least %d", lines, fewestLines)
	}
}

// documentedDifference is a row of the table in docs/compatibility.md.
var documentedDifference = regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|")

// TestEveryDeliberateDifferenceIsDocumented compares the ids in the transcripts
// with those in docs/compatibility.md, in both directions.
func TestEveryDeliberateDifferenceIsDocumented(t *testing.T) {
	text, err := os.ReadFile(compatibilityDoc)
	if err != nil {
		t.Fatal(err)
	}
	var documented, used []string
	for _, m := range documentedDifference.FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, m[1])
	}
	for _, script := range withWrapped(readTranscripts(t)) {
		for _, st := range script.steps {
			if st.rule.diff != "" && !slices.Contains(used, st.rule.diff) {
				used = append(used, st.rule.diff)
			}
		}
	}
	slices.Sort(documented)
	slices.Sort(used)
	if !slices.Equal(documented, used) {
		t.Fatalf("docs/compatibility.md explains %v, the transcripts use %v", documented, used)
	}
}
