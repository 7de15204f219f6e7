package harness

import (
	"net"
	"os/exec"
	"testing"
)

// StartRedis runs a real redis-server on a free port with no persistence and
// with expiry events on, as redfence always has them. The test is skipped when
// no redis-server is installed.
func StartRedis(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartRedisWith(t, Options{Args: args})
}

// StartRedisWith is StartRedis with flags and environment of o.
func StartRedisWith(t testing.TB, o Options) *Server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("skipped: redis-server is not installed")
	}
	dir := t.TempDir()
	addr := freePorts(t, 1)[0]
	_, port, _ := net.SplitHostPort(addr)
	argv := append([]string{
		program, "--bind", "127.0.0.1", "--port", port, "--dir", dir,
		"--save", "", "--appendonly", "no", "--notify-keyspace-events", "Ex",
	}, o.Args...)
	s := &Server{
		Addr: addr, Dir: dir, t: t, name: "redis-server", argv: argv, env: o.Env,
		pin: func(string) []string { return nil },
	}
	s.Start()
	return s
}
