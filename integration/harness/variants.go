package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// NewClusterWith prepares a cluster as NewCluster does. Of o, Args, Env and Tags count.
func NewClusterWith(t testing.TB, n int, o Options) *Cluster {
	t.Helper()
	ports := freePorts(t, n)
	return newCluster(t, ports, ports, o)
}

// SetEnv adds variables (NAME=value) to the environment of the process when it starts next.
func (s *Server) SetEnv(env ...string) { s.env = append(s.env, env...) }

// SetProgram makes the server another build of the program when it starts next.
func (s *Server) SetProgram(path string) { s.argv[0] = path }

// BuildCommit builds the program of an earlier commit. The test is skipped where the history does not reach back so far.
func BuildCommit(t testing.TB, commit string) string {
	t.Helper()
	if err := exec.Command("git", "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		t.Skipf("skipped: commit %s is not here: %v", commit, err)
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "source"), filepath.Join(dir, "redfence")
	if err := os.Mkdir(source, 0o700); err != nil {
		t.Fatal(err)
	}
	unpack := fmt.Sprintf("git -C \"$(git rev-parse --show-toplevel)\" archive %s | tar -x -C %q", commit, source)
	if out, err := exec.Command("bash", "-c", unpack).CombinedOutput(); err != nil {
		t.Fatalf("unpacking %s: %v\n%s", commit, err, out)
	}
	build := exec.Command("go", "build", "-o", program, "./cmd/redfence")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", commit, err, out)
	}
	return program
}
