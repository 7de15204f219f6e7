package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A node has the slack of relax in its first thread, and so in those that came of it, and says nothing of having started
// anew; a larger one that it was started with stays.
func TestNodeTakesMoreSlack(t *testing.T) {
	for _, tt := range []struct {
		name        string
		given, want time.Duration
	}{
		{"the kernel's", 50 * time.Microsecond, timerSlack},
		{"a larger one", time.Millisecond, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			node := startWithSlack(t, tt.given, &log)
			file := fmt.Sprintf("/proc/%d/timerslack_ns", node.Process.Pid)
			want := fmt.Sprintf("%d\n", tt.want.Nanoseconds())
			for deadline := time.Now().Add(patience); ; runtime.Gosched() {
				got, err := os.ReadFile(file)
				if errors.Is(err, syscall.EPERM) {
					t.Skip("only root may look at the slack of other processes")
				}
				if err == nil && string(got) == want {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("slack %q, %v; want %q", got, err, want)
				}
			}
			if err := node.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = node.Wait()
			if strings.Contains(log.String(), begunAnew) {
				t.Errorf("the node speaks of %s:\n%s", begunAnew, log.String())
			}
		})
	}
}

// startWithSlack starts a node from a thread with that slack.
func startWithSlack(t *testing.T, slack time.Duration, log *strings.Builder) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command(program)
	node.Args = []string{"redfence", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir()} // by its name the test binary is a node
	node.Stderr = log
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	err = node.Start()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(before), 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = node.Process.Kill() // it may have ended
		_ = node.Wait()
	})
	return node
}
