package main

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// timerSlack is how much later than asked for the kernel may wake a thread of a node (50 us by default; prctl(2),
	// PR_SET_TIMERSLACK).
	timerSlack = 200 * time.Microsecond
	// begunAnew is the environment variable by which a node knows that it has been started by relax.
	begunAnew = "REDFENCE_BEGUN_ANEW"
)

// relax has the kernel wake the threads of this node less often. It starts the program anew in this process and does
// not return, or returns when that is done, not needed or not possible.
//
// The Go runtime's monitor looks every 20 us, and a bit of slack, whether some thread is in a system call for long. Under load
// one always is, since every log entry waits for the disk, and these looks alone take a tenth of the node's processor
// time. A thread's slack comes from the one that starts it, and the monitor is started before any code of ours; hence
// the new program.
func relax() {
	if _, done := os.LookupEnv(begunAnew); done {
		_ = os.Unsetenv(begunAnew) // nothing that the node starts is one
		return
	}
	runtime.LockOSThread() // the new program has the slack of the thread that starts it
	defer runtime.UnlockOSThread()
	now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil || now >= int(timerSlack) {
		return
	}
	program, err := os.Executable()
	if err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(timerSlack), 0, 0, 0) != nil {
		return
	}
	_ = syscall.Exec(program, os.Args, append(os.Environ(), begunAnew+"=1")) // without it the node is slower, no more
}
