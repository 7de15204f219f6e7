package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// formTimeout bounds what a cluster may take to form, to elect or to let a member in, on a machine that is busy.
const formTimeout = 60 * time.Second

// Cluster is some redfence processes that form a Raft cluster.
type Cluster struct {
	Members []*Server
	Ports   []string // the cluster port of each, host:port
	t       testing.TB
	known   []string // under which the others know each: its port, or what stands in front of it
	options Options
}

// StartCluster runs n members at once, and returns when all are ready and one of them leads.
func StartCluster(t testing.TB, n int, args ...string) *Cluster {
	t.Helper()
	c := NewCluster(t, n, args...)
	c.Start()
	return c
}

// Start runs all members at once, and returns when all are ready and one of them leads.
func (c *Cluster) Start() {
	c.t.Helper()
	for _, m := range c.Members {
		m.Launch()
	}
	for _, m := range c.Members {
		m.AwaitReady()
		m.Pin()
	}
	c.Leader()
}

// NewCluster prepares n members that expect each other, and starts none. Their names are node1, node2, ...
func NewCluster(t testing.TB, n int, args ...string) *Cluster {
	t.Helper()
	ports := freePorts(t, n)
	return newCluster(t, ports, ports, Options{Args: args})
}

func newCluster(t testing.TB, ports, known []string, o Options) *Cluster {
	t.Helper()
	c := &Cluster{t: t, Members: make([]*Server, len(ports)), Ports: ports, known: known, options: o}
	for i := range c.Members {
		c.Members[i] = c.Prepare(i, t.TempDir(), append([]string{"--bootstrap-expect", strconv.Itoa(len(ports))}, o.Args...)...)
	}
	return c
}

// Prepare returns a process, not started, with the name and the cluster port of member i, and with a directory.
func (c *Cluster) Prepare(i int, dir string, args ...string) *Server {
	c.t.Helper()
	argv := append([]string{
		Binary(c.t, c.options), "--listen", "127.0.0.1:0", "--http-listen", "", "--data-dir", dir,
		"--node-id", c.Name(i), "--raft-listen", c.Ports[i], "--join", strings.Join(c.known, ","),
	}, args...)
	if c.known[i] != c.Ports[i] {
		argv = append(argv, "--raft-advertise", c.known[i])
	}
	return &Server{
		Dir: dir, t: c.t, name: c.Name(i), argv: argv, env: c.options.Env,
		pin: func(addr string) []string { return []string{"--listen", addr} },
	}
}

// Name is the name of member i.
func (*Cluster) Name(i int) string { return memberName(i) }

func memberName(i int) string { return fmt.Sprintf("node%d", i+1) }

// Leader waits until just one of the running members leads, and returns its place.
func (c *Cluster) Leader() int {
	c.t.Helper()
	leader := -1
	Eventually(c.t, formTimeout, func() bool {
		leader = c.findLeader()
		return leader >= 0
	})
	return leader
}

// findLeader is the place of a member that says that it leads, or -1.
func (c *Cluster) findLeader() int {
	for i, m := range c.Members {
		if m.proc == nil || !m.Running() || m.Addr == "" {
			continue
		}
		if info, err := askInfo(m.Addr); err == nil && strings.Contains(info, "raft_state:leader") {
			return i
		}
	}
	return -1
}

// askInfo asks for INFO raft, within a second.
func askInfo(addr string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte("INFO raft\r\n")); err != nil {
		return "", err
	}
	text := make([]byte, 4096)
	n, err := conn.Read(text)
	return string(text[:n]), err
}

// freePorts finds addresses on loopback on which nothing listens, below the ports that the system gives to connections and to
// those who ask for any: else one of these could be taken before its server listens, or while that is down.
func freePorts(t testing.TB, n int) []string {
	t.Helper()
	const lowest, highest, tries = 10_000, 32_000, 1000
	var addrs []string
	for range tries {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(highest-lowest)))
		if err != nil {
			continue
		}
		defer l.Close()
		if addrs = append(addrs, l.Addr().String()); len(addrs) == n {
			return addrs
		}
	}
	t.Fatalf("%d of %d ports are free", len(addrs), n)
	return nil
}
