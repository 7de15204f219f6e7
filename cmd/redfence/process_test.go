package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"
)

// process is one server that a script started.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended and its log is complete
}

// processesKey is where a script keeps its servers, a map[string]*process.
type processesKey struct{}

var (
	readyLine = regexp.MustCompile(`^redfence ready listen=(\S+) mode=\S+$|"msg":"redfence ready","listen":"([^"]+)"`)
	httpLine  = regexp.MustCompile(`metrics and health.*"listen": ?"([^"]+)"`)
)

func startServer(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: start NAME FLAG...")
	}
	name, logFile := args[0], ts.MkAbs(args[0]+".log")
	p := &process{cmd: exec.Command(program(ts), args[1:]...), ended: make(chan struct{})}
	p.cmd.Dir = ts.MkAbs(".")
	p.cmd.Env = environment(ts)
	stderr, err := p.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	ready := make(chan map[string]string, 1)
	go p.follow(stderr, logFile, ready)
	ts.Defer(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
	})
	select {
	case addresses := <-ready:
		ts.Setenv(name, addresses["listen"])
		ts.Setenv(name+"_http", addresses["http"])
	case <-p.ended:
		ts.Fatalf("%s ended before it was ready:\n%s", name, ts.ReadFile(logFile))
	case <-time.After(patience):
		ts.Fatalf("%s is not ready after %s", name, patience)
	}
	ts.Value(processesKey{}).(map[string]*process)[name] = p
}

// program is the test binary that testscript put into the path under the program's name.
func program(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, "redfence")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	ts.Fatalf("redfence is not in the path")
	return ""
}

// environment is what the script has set of the variables that redfence reads.
func environment(ts *testscript.TestScript) []string {
	env := []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	addServeFlags(flags)
	addConfigFlag(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if value := ts.Getenv(variable(f.Name)); value != "" {
			env = append(env, variable(f.Name)+"="+value)
		}
	})
	return env
}

// follow copies the log into a file, line by line, until the process ends; it tells the addresses once they are
// known.
func (p *process) follow(stderr io.Reader, file string, ready chan<- map[string]string) {
	defer close(p.ended)
	defer func() { _ = p.cmd.Wait() }() // the exit code is in ProcessState
	out, err := os.Create(file)
	if err != nil {
		return
	}
	defer out.Close()
	addresses := map[string]string{}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		line := lines.Text()
		_, _ = out.WriteString(line + "\n")
		if m := httpLine.FindStringSubmatch(line); m != nil {
			addresses["http"] = m[1]
		}
		if m := readyLine.FindStringSubmatch(line); m != nil {
			addresses["listen"] = m[1] + m[2]
			ready <- addresses
		}
	}
}

func endServer(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: end NAME TERM|INT|KILL CODE")
	}
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}
	p := ts.Value(processesKey{}).(map[string]*process)[args[0]]
	if p == nil || signals[args[1]] == 0 {
		ts.Fatalf("no server %s or no signal %s", args[0], args[1])
	}
	want, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(p.cmd.Process.Signal(signals[args[1]]))
	select {
	case <-p.ended:
	case <-time.After(patience):
		ts.Fatalf("%s did not end within %s of %s", args[0], patience, args[1])
	}
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("%s ended with code %d, not %d", args[0], got, want)
	}
}
