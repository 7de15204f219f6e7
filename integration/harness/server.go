// Package harness starts real redis-server and redfence processes for tests,
// stops, kills, pauses and restarts them, and speaks raw RESP with them, so
// that suites can compare exact wire bytes.
package harness

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is one running redis-server or redfence process. Its methods fail the
// test on trouble and must be called on the test's goroutine.
type Server struct {
	Addr string // host:port of the RESP listener, kept over a restart
	Dir  string // working or data directory, kept over a restart

	// Ready holds the key=value fields of the ready line ("listen", "mode");
	// empty for a redis-server.
	Ready map[string]string

	t    testing.TB
	name string
	argv []string // the command; restarts append listen flags to it
	pin  func(addr string) []string
	env  []string
	proc *process
}

// Start runs a server that was prepared, or has ended, and returns when it is ready.
func (s *Server) Start() {
	s.t.Helper()
	s.Launch()
	s.AwaitReady()
}

// AwaitReady waits for the ready line of a server that was launched.
func (s *Server) AwaitReady() {
	s.t.Helper()
	if err := s.proc.awaitReady(); err != nil {
		s.t.Fatalf("%s: %v\n%s", s.name, err, tail(s.proc.out.String()))
	}
}

// Launch runs the server without waiting until it is ready, and registers its end with t. Its Addr is known only when
// it is ready, unless it was before.
func (s *Server) Launch() {
	s.t.Helper()
	proc, err := launch(s.argv, s.env, s.isReadyLine)
	if err != nil {
		s.t.Fatal(err)
	}
	s.proc = proc
	s.t.Cleanup(func() {
		proc.signal(syscall.SIGCONT)
		proc.end(syscall.SIGKILL)
		for _, alarm := range alarms {
			if strings.Contains(proc.out.String(), alarm) {
				s.t.Errorf("%s printed %q", s.name, alarm)
			}
		}
		if s.t.Failed() {
			s.t.Logf("end of %s's output:\n%s", s.name, tail(proc.out.String()))
		}
	})
}

// alarms are what no server may print in any test.
var alarms = []string{"WARNING: DATA RACE", "panic: ", "fatal error: "}

// isReadyLine looks for the ready line of either program.
func (s *Server) isReadyLine(line string) bool {
	if strings.Contains(line, "Ready to accept connections") || strings.Contains(line, "+monitor master") { // redis-server, Sentinel
		return true
	}
	fields, ok := parseReady(line)
	if ok {
		s.Ready, s.Addr = fields, fields["listen"]
	}
	return ok
}

// Stop sends SIGTERM, waits for the end and returns the exit code.
func (s *Server) Stop() int {
	s.t.Helper()
	if !s.proc.end(syscall.SIGTERM) {
		s.t.Fatalf("%s still ran %v after SIGTERM", s.name, stopTimeout)
	}
	return s.proc.exitCode()
}

// AwaitEnd waits until the process ends by itself, and returns its exit code.
func (s *Server) AwaitEnd() int {
	s.t.Helper()
	if !s.proc.wait(stopTimeout) {
		s.t.Fatalf("%s still runs after %v:\n%s", s.name, stopTimeout, tail(s.proc.out.String()))
	}
	return s.proc.exitCode()
}

// Kill sends SIGKILL and waits for the end.
func (s *Server) Kill() {
	s.t.Helper()
	if !s.proc.end(syscall.SIGKILL) {
		s.t.Fatalf("%s still ran %v after SIGKILL", s.name, stopTimeout)
	}
}

// Restart runs the server again with the same directory and port. A server
// that still runs is stopped first.
func (s *Server) Restart() {
	s.t.Helper()
	if s.proc.running() {
		s.Stop()
	}
	s.Pin()
	s.Start()
}

// Pin makes the server use its present port when it starts again.
func (s *Server) Pin() { s.argv = append(s.argv, s.pin(s.Addr)...) }

// Pause stops the process where it is (SIGSTOP) until Resume. When it returns none of its threads runs any more.
func (s *Server) Pause() { s.proc.stop() }

// Resume lets a paused process go on (SIGCONT).
func (s *Server) Resume() { s.proc.signal(syscall.SIGCONT) }

// RSS is the resident memory of the process now, in bytes.
func (s *Server) RSS() int64 { return s.memory("VmRSS") }

// ResetPeak makes PeakRSS begin anew (proc(5), clear_refs).
func (s *Server) ResetPeak() {
	s.t.Helper()
	path := fmt.Sprintf("/proc/%d/clear_refs", s.proc.cmd.Process.Pid)
	if err := os.WriteFile(path, []byte("5"), 0); err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
}

// PeakRSS is the largest resident memory since the process started, or since
// ResetPeak, in bytes.
func (s *Server) PeakRSS() int64 { return s.memory("VmHWM") }

func (s *Server) memory(field string) int64 {
	s.t.Helper()
	size, err := s.proc.memory(field)
	if err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
	return size
}

// Descriptors is how many files and sockets the process has open now, beside segments of its log.
func (s *Server) Descriptors() int {
	s.t.Helper()
	n, err := s.proc.descriptors()
	if err != nil {
		s.t.Fatalf("%s: %v", s.name, err)
	}
	return n
}

// CPU is the processor time that the process has used so far, 0 when it has
// ended. It may be called on any goroutine that does not outlive the process.
func (s *Server) CPU() time.Duration {
	used, err := s.proc.cpu()
	if err != nil {
		return 0
	}
	return used
}

// Stderr is what the present process has printed so far.
func (s *Server) Stderr() string { return s.proc.out.String() }

// Running tells whether the process has not ended.
func (s *Server) Running() bool { return s.proc.running() }

// tail is the last part of a long text, for failure messages.
func tail(text string) string {
	const most = 6000
	if len(text) <= most {
		return text
	}
	return "..." + text[len(text)-most:]
}
