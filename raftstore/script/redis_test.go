package script_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redfence/redfence/commands/resp"
)

// redisServer is a real redis-server that the differential tests share.
type redisServer struct {
	addr string
	cmd  *exec.Cmd
	dir  string
}

var startRedis = sync.OnceValues(func() (*redisServer, error) {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "script-test-")
	if err != nil {
		return nil, err
	}
	s := &redisServer{addr: filepath.Join(dir, "redis.sock"), dir: dir}
	s.cmd = exec.Command(bin, "--port", "0", "--unixsocket", s.addr, "--save", "", "--dir", dir,
		"--busy-reply-threshold", "0")
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, untilReady(out)
})

// untilReady reads the server's log until it accepts connections; the rest of the log is read and forgotten.
func untilReady(log io.Reader) error {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "eady to accept connections") {
			go func() { _, _ = io.Copy(io.Discard, log) }() // ends with the server
			return nil
		}
	}
	return fmt.Errorf("redis-server ended early: %w", lines.Err())
}

func TestMain(m *testing.M) {
	code := m.Run()
	if s, err := startRedis(); err == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		_ = os.RemoveAll(s.dir)
	}
	os.Exit(code)
}

// redisConn is a connection to the real server.
type redisConn struct {
	net.Conn
	r *bufio.Reader
}

// dialRedis returns a connection in the given protocol; without a redis-server the test is skipped.
func dialRedis(t testing.TB, protocol int) *redisConn {
	t.Helper()
	s, err := startRedis()
	if err != nil {
		t.Skipf("no redis-server to compare with: %v", err)
	}
	c, err := net.Dial("unix", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	rc := &redisConn{Conn: c, r: bufio.NewReader(c)}
	if protocol == 3 {
		rc.do(t, "HELLO", "3")
	}
	return rc
}

func (c *redisConn) do(t testing.TB, args ...string) resp.Value {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(c, b.String()); err != nil {
		t.Fatal(err)
	}
	v, err := c.read()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return v
}

func (c *redisConn) read() (resp.Value, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return resp.Value{}, err
	}
	kind, rest := line[0], strings.TrimSuffix(line[1:], "\r\n")
	n, _ := strconv.Atoi(rest)
	switch kind {
	case '+':
		return resp.Status(rest), nil
	case '-':
		return resp.Err(rest), nil
	case ':':
		i, err := strconv.ParseInt(rest, 10, 64)
		return resp.Int(i), err
	case '$':
		if n < 0 {
			return resp.Value{}, nil
		}
		return c.bulk(n, resp.Bulk)
	case '=':
		v, err := c.bulk(n, resp.Verbatim)
		v.Str = v.Str[4:]
		return v, err
	case '_':
		return resp.Value{}, nil
	case '#':
		return resp.Bool(rest == "t"), nil
	case ',':
		f, err := strconv.ParseFloat(rest, 64)
		return resp.Float(f), err
	case '(':
		return resp.Value{Kind: resp.BigNumber, Str: rest}, nil
	case '*':
		return c.elements(n, resp.Array)
	case '~':
		return c.elements(n, resp.Set)
	case '%':
		return c.elements(2*n, resp.Map)
	}
	return resp.Value{}, fmt.Errorf("unknown reply %q", line)
}

func (c *redisConn) bulk(n int, kind resp.Kind) (resp.Value, error) {
	buf := make([]byte, n+2)
	_, err := io.ReadFull(c.r, buf)
	return resp.Value{Kind: kind, Str: string(buf[:n])}, err
}

func (c *redisConn) elements(n int, kind resp.Kind) (resp.Value, error) {
	if n < 0 {
		return resp.Value{Kind: resp.NullArray}, nil
	}
	v := resp.Value{Kind: kind}
	for range n {
		e, err := c.read()
		if err != nil {
			return v, err
		}
		v.Elems = append(v.Elems, e)
	}
	return v, nil
}
