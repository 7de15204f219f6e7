package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"
)

// startTimeout bounds the time from the start of a server to its first answer.
const startTimeout = 20 * time.Second

// server is a process that is measured.
type server struct {
	name    string
	about   string // how it keeps its promises on disk
	dir     string
	argv    []string
	late    func() []string // argv, when it depends on servers that start before
	version []string        // the command line that prints the version
	addr    string          // known once started
	// ready finds the address when the server prints it; nil when addr is known before.
	ready *regexp.Regexp
	// behind are the servers whose processor time counts as this one's, since it works by them.
	behind []*server
	// direct is the lock library that talks to the servers behind. Without one, clients talk to them in turn. Either is
	// only for a server that is no process of its own.
	direct  library
	links   []*server // networks in front of it
	foreign bool      // it does not speak RESP
	fenced  bool      // clients of the setting fence ask it for tokens

	cmd    *exec.Cmd
	output printed
}

// redisServer is a redis-server that syncs every change before it answers, and has no other persistence.
func redisServer(program, dir string) *server {
	return &server{
		name: "redis-server", about: "appendonly yes, appendfsync always", dir: filepath.Join(dir, "redis"),
		argv: []string{
			program, "--bind", "127.0.0.1", "--dir", ".", "--save", "",
			"--appendonly", "yes", "--appendfsync", "always",
		},
		version: []string{program, "--version"},
	}
}

// redfenceServer is a single node in raft mode.
func redfenceServer(program string, o options, dir string) *server {
	return &server{
		name: "redfence", about: fmt.Sprintf("raft, one node, log store %s, park %v", o.logStore, o.park), dir: filepath.Join(dir, "redfence"),
		argv: []string{
			program, "--listen", "127.0.0.1:0", "--http-listen", "", "--data-dir", "data",
			"--log-store", o.logStore, "--park", o.park.String(), "--log-level", "warn",
		},
		version: []string{program, "version"},
		ready:   regexp.MustCompile(`redfence ready listen=(\S+)`),
	}
}

// redfenceProgram returns the program, which it builds below dir when none is given.
func redfenceProgram(ctx context.Context, given, dir string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	return buildRedfence(ctx, filepath.Join(dir, "redfence-program"), "")
}

// buildRedfence builds the program from this repository, with build tags.
func buildRedfence(ctx context.Context, program, tags string) (string, error) {
	return program, goBuild(ctx, program, filepath.Join("..", ".."), "./cmd/redfence", "-tags", tags)
}

// goBuild builds a package of the module in a directory.
func goBuild(ctx context.Context, program, module, pkg string, flags ...string) error {
	args := append(append([]string{"build"}, flags...), "-o", program, pkg)
	build := exec.CommandContext(ctx, "go", args...)
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// library is how clients of a server take locks, when not by commands of their own.
type library interface {
	open(nodes []*server) error
	join(client int) error // before each round; clients are numbered from 0
	left() error           // after each round, an error when a lock is left
	close()
}

// process tells whether the server is one process, and not those behind.
func (s *server) process() bool { return s.argv != nil || s.late != nil }

// start runs the server in a directory of its own and waits until it answers, and so its links.
func (s *server) start(ctx context.Context) error {
	if err := s.launch(ctx); err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	for _, l := range s.links {
		if err := l.start(ctx); err != nil {
			s.stop()
			return err
		}
	}
	return nil
}

// launch runs the server in a directory of its own.
func (s *server) launch(ctx context.Context) error {
	if !s.process() {
		s.addr = s.behind[0].addr
		if s.direct != nil {
			return s.direct.open(s.behind)
		}
		return nil
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return err
	}
	argv := s.argv
	if s.late != nil {
		argv = s.late()
	}
	if s.addr == "" && s.ready == nil {
		addr, err := freeAddr()
		if err != nil {
			return err
		}
		_, port, _ := net.SplitHostPort(addr)
		s.addr, argv = addr, append(argv, "--port", port)
	}
	s.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, &s.output, &s.output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // a killed benchmark leaves no servers behind
	return s.cmd.Start()
}

// await waits until the server answers, for one that does not speak RESP no longer than until it runs.
func (s *server) await(ctx context.Context) error {
	if s.foreign {
		return nil
	}
	if err := s.answers(ctx); err != nil {
		s.stop()
		return fmt.Errorf("%s did not start: %w\n%s", s.name, err, s.log())
	}
	return nil
}

// answers asks the server until it answers PING.
func (s *server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.ping()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *server) ping() error {
	if s.ready != nil {
		found := s.ready.FindSubmatch(s.output.bytes())
		if found == nil {
			return errors.New("no ready line")
		}
		s.addr = string(found[1])
	}
	c, err := dial(s.addr, time.Now().Add(5*time.Second))
	if err != nil {
		return err
	}
	defer c.Close()
	return c.must(encode("PING").wire, want{'+', "PONG"})
}

// stop ends the server and waits for its end.
func (s *server) stop() {
	for _, l := range s.links {
		l.stop()
	}
	if s.direct != nil {
		s.direct.close()
	}
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait() // its figures were taken before; how it ends does not matter
}

// addrOf is where a client of a number connects to.
func (s *server) addrOf(client int) string {
	if s.process() || s.direct != nil || len(s.behind) == 0 {
		return s.addr
	}
	return s.behind[client%len(s.behind)].addr
}

// log is the end of what the server printed, and of what those behind did.
func (s *server) log() []byte {
	text := s.output.bytes()
	for _, b := range s.behind {
		text = append(text, b.log()...)
	}
	return text[max(len(text)-2000, 0):]
}

// used is the processor time that the server has used at the moment t.
func (s *server) used(ctx context.Context, t time.Time) time.Duration {
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(t)):
	}
	return s.processTime()
}

// processes are the servers and those they work by, each once: several may share one.
func processes(servers []*server) []*server {
	var all []*server
	for _, s := range servers {
		for _, p := range slices.Concat([]*server{s}, s.behind, s.links) {
			if p.cmd != nil && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// processTime is what the server, and those it works by, have used so far.
func (s *server) processTime() (sum time.Duration) {
	for _, b := range s.behind {
		sum += b.processTime()
	}
	if s.cmd != nil {
		sum += processTime(s.cmd.Process.Pid)
	}
	return sum
}

// pause stops the process where it is, or lets it go on.
func (s *server) pause(on bool) error {
	if on {
		return s.cmd.Process.Signal(syscall.SIGSTOP)
	}
	return s.cmd.Process.Signal(syscall.SIGCONT)
}

// freeAddr finds a loopback port that was free a moment ago: redis-server cannot be asked for any free port.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// printed collects what a process prints.
type printed struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, b...)
	return len(b), nil
}

func (p *printed) bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.text)
}
