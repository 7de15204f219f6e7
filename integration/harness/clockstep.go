package harness

import (
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed testdata/clockstep.c
var clockStepSource []byte

// SteppedClock is the wall clock of a redis-server: the machine's, and an offset that a test sets.
type SteppedClock struct {
	t    testing.TB
	file string
}

// StartSteppedRedis runs a redis-server whose wall clock can be stepped while it runs; its monotonic clock goes on. The
// test is skipped where there is no C compiler.
func StartSteppedRedis(t testing.TB, args ...string) (*Server, *SteppedClock) {
	t.Helper()
	dir := t.TempDir()
	c := &SteppedClock{t: t, file: filepath.Join(dir, "offset")}
	if err := os.WriteFile(c.file, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	library := buildClockStep(t, dir)
	s := StartRedisWith(t, Options{Args: args, Env: []string{"LD_PRELOAD=" + library, "CLOCK_STEP_FILE=" + c.file}})
	return s, c
}

func buildClockStep(t testing.TB, dir string) string {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("skipped: cc is not installed")
	}
	source, library := filepath.Join(dir, "clockstep.c"), filepath.Join(dir, "clockstep.so")
	if err := os.WriteFile(source, clockStepSource, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(compiler, "-O1", "-shared", "-fPIC", "-o", library, source).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}

// Step makes the clock differ from the machine's by so much, at once.
func (c *SteppedClock) Step(offset time.Duration) {
	c.t.Helper()
	f, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	// One write within a page: the server, which has the file mapped, sees all of it or nothing.
	if _, err := f.Write(binary.NativeEndian.AppendUint64(nil, uint64(offset))); err != nil {
		c.t.Fatal(err)
	}
}
