package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// StartReplica runs a redis-server that follows master.
func StartReplica(t testing.TB, master *Server) *Server {
	t.Helper()
	host, port, _ := net.SplitHostPort(master.Addr)
	return StartRedis(t, "--replicaof", host+" "+port)
}

// StartSentinels runs n Redis Sentinels that watch master under the name mymaster. They call it down after half a second.
func StartSentinels(t testing.TB, master *Server, n int) []*Server {
	t.Helper()
	sentinels := make([]*Server, n)
	for i := range sentinels {
		sentinels[i] = startSentinel(t, master, n/2+1)
	}
	return sentinels
}

func startSentinel(t testing.TB, master *Server, quorum int) *Server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("skipped: redis-server is not installed")
	}
	dir, addr := t.TempDir(), freePorts(t, 1)[0]
	_, port, _ := net.SplitHostPort(addr)
	host, masterPort, _ := net.SplitHostPort(master.Addr)
	config := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf("bind 127.0.0.1\nport %s\ndir %s\nsentinel monitor mymaster %s %s %d\n"+
		"sentinel down-after-milliseconds mymaster 500\nsentinel failover-timeout mymaster 5000\n", port, dir, host, masterPort, quorum)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{
		Addr: addr, Dir: dir, t: t, name: "sentinel", argv: []string{program, config, "--sentinel"},
		pin: func(string) []string { return nil },
	}
	s.Start()
	return s
}
