package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stage is what a demo plays on: a redfence of its own, and in quorum mode the Redis nodes that it takes.
type stage struct {
	dir     string
	program string // this one
	addr    string // of the redfence
	what    string // it is, for people
	servers []*exec.Cmd
}

// demoNodes is how many Redis servers a demo starts.
const demoNodes = 3

// setStage starts the servers. The error is exec.ErrNotFound when there is no redis-server.
func setStage(ctx context.Context, dir, mode string) (_ *stage, err error) {
	s := &stage{dir: dir, what: "in a redfence of its own, a single node"}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.program, err = os.Executable(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	args := []string{"serve", "--listen", "127.0.0.1:0", "--http-listen", "", "--data-dir", dir + "/data", "--mode", mode}
	if mode == modeQuorum {
		nodes, err := s.startNodes(ctx)
		if err != nil {
			return nil, err
		}
		args = append(args, nodes...)
		s.what = fmt.Sprintf("on %d Redis servers of its own, taken by a majority", demoNodes)
	}
	ready, err := s.start(ctx, readyPattern, s.program, args...)
	if err != nil {
		return nil, err
	}
	s.addr = ready[1]
	return s, nil
}

var (
	readyPattern      = regexp.MustCompile(`redfence ready listen=(\S+)`)
	redisReadyPattern = regexp.MustCompile(`Ready to accept connections`)
)

// startNodes starts Redis servers, and returns the flags that name them.
func (s *stage) startNodes(ctx context.Context) (flags []string, err error) {
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, err
	}
	for range demoNodes {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		if _, err := s.start(ctx, redisReadyPattern, redis, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", s.dir); err != nil {
			return nil, err
		}
		flags = append(flags, "--node", "redis://127.0.0.1:"+port)
	}
	return flags, nil
}

// freePort is a port on which nothing listens now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil //nolint:forcetypeassert // of a TCP listener
}

// start runs a server until the end of the demo, and returns what ready matched in what it prints.
func (s *stage) start(ctx context.Context, ready *regexp.Regexp, program string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = withoutSettings(os.Environ())
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	err = errors.Join(cmd.Start(), w.Close())
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	s.servers = append(s.servers, cmd)
	lines := bufio.NewScanner(r)
	var printed strings.Builder
	for lines.Scan() {
		if found := ready.FindStringSubmatch(lines.Text()); found != nil {
			go func() {
				_, _ = io.Copy(io.Discard, r) // until the server ends
				_ = r.Close()
			}()
			return found, nil
		}
		fmt.Fprintln(&printed, lines.Text())
	}
	return nil, errors.Join(fmt.Errorf("%s did not start:\n%s", program, printed.String()), r.Close())
}

// withoutSettings leaves out what would configure a redfence in another way.
func withoutSettings(env []string) (kept []string) {
	for _, e := range env {
		if !strings.HasPrefix(e, envPrefix+"_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// close ends the servers, the redfence first.
func (s *stage) close() {
	for _, server := range slices.Backward(s.servers) {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait() // how it ends does not matter any more
	}
}

// actor is a customer's process.
type actor struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

func (s *stage) customer(ctx context.Context, c customer) (*actor, error) {
	args := []string{"demo", "customer", "--addr", c.addr, "--shop", c.shop, "--name", c.name, "--lease", c.lease.String()}
	if c.fenced {
		args = append(args, "--fenced")
	}
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &actor{c.name, cmd, in, bufio.NewReader(out)}, cmd.Start()
}

func (a *actor) line() (string, error) {
	line, err := a.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("customer %s: %w", a.name, err)
	}
	return line, nil
}

// hears reads a line in a form.
func (a *actor) hears(form string, into ...any) error {
	line, err := a.line()
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(line, form, into...); err != nil {
		return fmt.Errorf("customer %s said %q: %w", a.name, line, err)
	}
	return nil
}

// decide tells the customer to buy.
func (a *actor) decide() error {
	_, err := io.WriteString(a.in, "buy\n")
	return err
}

// leave ends the customer, if it has not ended yet.
func (a *actor) leave() {
	const patience = 5 * time.Second
	_ = a.resume()
	end := time.AfterFunc(patience, func() { _ = a.cmd.Process.Kill() })
	defer end.Stop()
	_ = a.in.Close()
	_ = a.cmd.Wait()
}
