package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/hub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long tests wait for what must happen.
const patience = 10 * time.Second

// fakeBackend is a backend whose behaviour a test gives by functions; nil ones have a plain default.
type fakeBackend struct {
	submit func(c *Call) // default: echo
	closed func()
	info   []InfoSection
	listen func(t Topic, ready func(error)) // default: at once
	end    func(t Topic)                    // of listening
}

func (f *fakeBackend) Open() Stream                { return fakeStream{f} }
func (f *fakeBackend) Ready(context.Context) error { return nil }
func (f *fakeBackend) Info() []InfoSection         { return f.info }
func (f *fakeBackend) Now() int64                  { return 1_700_000_000_123_456 }

func (f *fakeBackend) Listen(t Topic, ready func(error)) {
	if f.listen != nil {
		f.listen(t, ready)
		return
	}
	ready(nil)
}

func (f *fakeBackend) Unlisten(t Topic) {
	if f.end != nil {
		f.end(t)
	}
}

type fakeStream struct{ *fakeBackend }

func (f fakeStream) Submit(c *Call) {
	if f.submit != nil {
		f.submit(c)
		return
	}
	echoBack(c)
}

func (f fakeStream) Close() {
	if f.closed != nil {
		f.closed()
	}
}

// echoBack answers the last argument.
func echoBack(c *Call) {
	line := c.Requests[0].Args
	c.Done(Result{Reply: resp.Str(line[len(line)-1])})
}

// held collects calls, for tests that answer them at a time and in an order of their own.
type held struct {
	mu    sync.Mutex
	calls []*Call
}

func (h *held) take(c *Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, c)
}

func (h *held) all() []*Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*Call(nil), h.calls...)
}

// await returns the calls as soon as there are n.
func (h *held) await(t *testing.T, n int) []*Call {
	t.Helper()
	require.Eventually(t, func() bool { return len(h.all()) >= n }, patience, time.Millisecond)
	return h.all()
}

// start runs a server on a free port until the test ends.
func start(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	if cfg.Backend == nil {
		cfg.Backend = &fakeBackend{}
	}
	if cfg.Hub == nil {
		cfg.Hub = hub.New()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := New(cfg)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = srv.Shutdown(ctx) // at once; the error says so
		require.NoError(t, <-served)
	})
	return srv, l.Addr().String()
}

// client is a raw connection: it sends what the test writes and reads whole replies.
type client struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return &client{Conn: conn, t: t, r: bufio.NewReader(conn)}
}

// send writes bytes as they are.
func (c *client) send(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.Conn, text)
	require.NoError(c.t, err)
}

// do sends an inline command and returns the reply as it came, with blanks for line ends.
func (c *client) do(line string) string {
	c.t.Helper()
	c.send(line + "\r\n")
	return c.next()
}

// next reads one reply of any kind and shows it in one line.
func (c *client) next() string {
	c.t.Helper()
	text, err := readReply(c.r)
	require.NoError(c.t, err)
	return text
}

// rest reads to the end of the connection.
func (c *client) rest() string {
	text, err := io.ReadAll(c.r)
	if err != nil && !errors.Is(err, io.EOF) && !isReset(err) {
		c.t.Fatalf("reading to the end: %v", err)
	}
	return string(text)
}

func isReset(err error) bool { return strings.Contains(err.Error(), "reset") }

func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	n := 0
	for _, c := range line[1:] {
		n = n*10 + int(c-'0')
	}
	switch line[0] {
	case '$', '=':
		if line[1:] == "-1" {
			return line, nil
		}
		body := make([]byte, n+2)
		_, err := io.ReadFull(r, body)
		return line + " " + string(body[:n]), err
	case '*', '>', '~':
		if line[1:] == "-1" {
			return line, nil
		}
		return readElements(r, line, n)
	case '%':
		return readElements(r, line, 2*n)
	}
	return line, nil
}

func readElements(r *bufio.Reader, text string, n int) (string, error) {
	for range n {
		element, err := readReply(r)
		if err != nil {
			return text, err
		}
		text += " " + element
	}
	return text, nil
}

// array is a command line in RESP.
func array(words ...string) string {
	return string(resp.Append(nil, resp.Strs(words...), resp.RESP2))
}

var (
	_ Backend = (*fakeBackend)(nil)
	_ Sink    = Events{}
)
