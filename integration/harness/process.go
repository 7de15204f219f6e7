package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// startTimeout bounds the time from exec to the ready line. It is long
	// because a race build on a busy machine is slow to recover its log.
	startTimeout = 60 * time.Second
	// stopTimeout bounds the time from a signal to the end of the process.
	stopTimeout = 30 * time.Second
	// keptOutput is how much of a process's output is kept, in bytes.
	keptOutput = 4 << 20
)

// errNotReady is returned when a process ended, or kept silent, before its
// ready line.
var errNotReady = errors.New("process did not become ready")

// process is one running program whose output is collected.
type process struct {
	cmd  *exec.Cmd
	out  *output
	done chan struct{} // closed when the process has ended
}

// launch runs argv and returns at once.
func launch(argv, env []string, ready func(line string) bool) (*process, error) {
	out := &output{ready: ready, isReady: make(chan struct{})}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	// A test binary that is killed must not leave servers behind.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	p := &process{cmd: cmd, out: out, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // the exit code is read from ProcessState
	}()
	return p, nil
}

// awaitReady returns when the ready line was printed, or errNotReady.
func (p *process) awaitReady() error {
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case <-p.out.isReady:
		return nil
	case <-p.done:
		return fmt.Errorf("%w: exit code %d", errNotReady, p.exitCode())
	case <-timeout.C:
		p.signal(syscall.SIGKILL)
		return fmt.Errorf("%w within %v", errNotReady, startTimeout)
	}
}

// signal sends sig; a process that has already ended is left in peace.
func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// stop stops the process where it is. The signal alone takes a moment until it has reached all threads.
func (p *process) stop() {
	p.signal(syscall.SIGSTOP)
	const stoppedOrEnded = unix.WSTOPPED | unix.WEXITED | unix.WNOWAIT // of what has ended there is nothing to stop
	for p.running() && errors.Is(unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, stoppedOrEnded, nil), unix.EINTR) {
	}
}

// running tells whether the process has not ended yet.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// end sends sig and waits. After stopTimeout it asks a Go program for its
// goroutine stacks (SIGQUIT), kills it and reports false.
func (p *process) end(sig syscall.Signal) bool {
	p.signal(sig)
	if p.wait(stopTimeout) {
		return true
	}
	p.signal(syscall.SIGQUIT)
	p.wait(time.Second)
	p.signal(syscall.SIGKILL)
	<-p.done
	return false
}

// wait tells whether the process ended within d.
func (p *process) wait(d time.Duration) bool {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	select {
	case <-p.done:
		return true
	case <-timeout.C:
		return false
	}
}

// exitCode is the code of an ended process, -1 when a signal ended it.
func (p *process) exitCode() int { return p.cmd.ProcessState.ExitCode() }

// memory reads one line of /proc/<pid>/status ("VmRSS", "VmHWM"), in bytes.
func (p *process) memory(field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != field {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
		return kilobytes << 10, err
	}
	return 0, fmt.Errorf("no %s in /proc status", field)
}

// descriptors is how many files and sockets the process has open. Segments of the log do not count: one more is open for each
// 64 MiB that were written, until a snapshot replaces them.
func (p *process) descriptors() (n int, err error) {
	dir := fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid)
	open, err := os.ReadDir(dir)
	for _, fd := range open {
		file, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if err == nil && filepath.Ext(file) != ".wal" { // an error says that it is closed meanwhile
			n++
		}
	}
	return n, err
}

// clockTick is the unit of times in /proc/<pid>/stat (USER_HZ, 100 on Linux).
const clockTick = 10 * time.Millisecond

// cpu reads the processor time of the process, in user and system mode.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The fields after the program's name, which may hold spaces; proc(5).
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0, fmt.Errorf("short /proc stat %q", text)
	}
	user, errUser := strconv.ParseInt(fields[11], 10, 64)
	system, errSystem := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick, errors.Join(errUser, errSystem)
}

// output collects what a process prints and watches for its ready line.
type output struct {
	mu      sync.Mutex
	text    []byte
	scanned int // bytes of text whose lines were already looked at
	ready   func(line string) bool
	isReady chan struct{}
	wasSeen bool
}

// Write implements io.Writer for exec.Cmd.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	for !o.wasSeen {
		end := bytes.IndexByte(o.text[o.scanned:], '\n')
		if end < 0 {
			break
		}
		line := string(o.text[o.scanned : o.scanned+end])
		o.scanned += end + 1
		if o.ready(line) {
			o.wasSeen = true
			close(o.isReady)
		}
	}
	if o.wasSeen && len(o.text) > 2*keptOutput {
		o.text = append([]byte(nil), o.text[len(o.text)-keptOutput:]...)
	}
	return len(p), nil
}

// String is all that was kept.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
