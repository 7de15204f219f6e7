package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Options say how a redfence process differs from the usual one.
type Options struct {
	Args   []string // flags, after (and so stronger than) the harness's own
	Env    []string // NAME=value, added to the test's environment
	Tags   string   // build tags, comma separated
	NoRace bool     // never build with -race, for tests that measure
	Shell  string   // a command that bash runs in front of the program, such as a ulimit
}

// StartRedfence runs redfence on a free loopback port with a data directory of
// its own and no HTTP listener, and returns when it is ready.
func StartRedfence(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartRedfenceWith(t, Options{Args: args})
}

// StartRedfenceWith is StartRedfence with build tags or environment.
func StartRedfenceWith(t testing.TB, o Options) *Server {
	t.Helper()
	dir := t.TempDir()
	argv := append([]string{
		Binary(t, o), "--listen", "127.0.0.1:0", "--http-listen", "",
		"--data-dir", dir,
	}, o.Args...)
	if o.Shell != "" {
		argv = append([]string{"bash", "-c", o.Shell + `; exec "$0" "$@"`}, argv...)
	}
	s := &Server{
		Dir: dir, t: t, name: "redfence", argv: argv, env: o.Env,
		pin: func(addr string) []string { return []string{"--listen", addr} },
	}
	s.Start()
	return s
}

// RunRedfence runs redfence with exactly these flags until it ends by itself,
// and returns its exit code and output. It is for refusals: the test fails when
// the process still runs after stopTimeout.
func RunRedfence(t testing.TB, args ...string) (code int, printed string) {
	t.Helper()
	argv := append([]string{Binary(t, Options{})}, args...)
	p, err := launch(argv, nil, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if !p.wait(stopTimeout) {
		p.end(syscall.SIGKILL)
		t.Fatalf("redfence %v did not end:\n%s", args, tail(p.out.String()))
	}
	return p.exitCode(), p.out.String()
}

// parseReady reads the ready line, `redfence ready listen=ADDR mode=MODE` with
// anything before it, or a JSON log line with the same fields.
func parseReady(line string) (map[string]string, bool) {
	_, after, found := strings.Cut(line, "redfence ready")
	if !found {
		return nil, false
	}
	fields := map[string]string{}
	var record map[string]any
	if json.Unmarshal([]byte(line), &record) == nil {
		for name, value := range record {
			fields[name] = fmt.Sprint(value)
		}
		return fields, fields["listen"] != ""
	}
	for word := range strings.FieldsSeq(after) {
		if name, value, ok := strings.Cut(word, "="); ok {
			fields[name] = value
		}
	}
	return fields, fields["listen"] != ""
}

// builds are the redfence programs that this test process has built, by their
// build flags. Tests share them: a build takes seconds.
var builds struct {
	mu   sync.Mutex
	dir  string
	done map[string]error
}

// Binary builds cmd/redfence once per set of build flags, with -race when the
// environment says REDFENCE_RACE=1, and returns the path of the program.
func Binary(t testing.TB, o Options) string {
	t.Helper()
	flags := buildFlags(o)
	key := strings.Join(flags, " ")
	builds.mu.Lock()
	defer builds.mu.Unlock()
	if err := makeBuildDir(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(builds.dir, "redfence"+strings.NewReplacer(" ", "", ",", "-").Replace(key))
	err, built := builds.done[key]
	if !built {
		err = build(path, flags)
		builds.done[key] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func makeBuildDir() (err error) {
	if builds.dir == "" {
		builds.done = map[string]error{}
		builds.dir, err = os.MkdirTemp("", "redfence-build-")
	}
	return err
}

func buildFlags(o Options) []string {
	var flags []string
	if os.Getenv("REDFENCE_RACE") == "1" && !o.NoRace {
		flags = append(flags, "-race")
	}
	if o.Tags != "" {
		flags = append(flags, "-tags="+o.Tags)
	}
	return flags
}

func build(path string, flags []string) error {
	args := append([]string{"build", "-o", path}, flags...)
	out, err := exec.Command("go", append(args, "github.com/redfence/redfence/cmd/redfence")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build redfence: %w\n%s", err, out)
	}
	return nil
}

// RemoveBuilds deletes the built programs; TestMain calls it last.
func RemoveBuilds() {
	builds.mu.Lock()
	defer builds.mu.Unlock()
	if builds.dir != "" {
		_ = os.RemoveAll(builds.dir)
	}
}
