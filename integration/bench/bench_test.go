package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReadReply(t *testing.T) {
	for name, tc := range map[string]struct {
		wire string
		want want
		err  error
	}{
		"status":         {wire: "+OK\r\n", want: wantOK},
		"error":          {wire: "-ERR no\r\n", want: want{'-', "ERR no"}},
		"integer":        {wire: ":1\r\n", want: wantOne},
		"string":         {wire: "$4\r\na\r\nb\r\n", want: want{'$', "a\r\nb"}},
		"empty string":   {wire: "$0\r\n\r\n", want: want{'$', ""}},
		"null":           {wire: "$-1\r\n", want: wantNull},
		"array":          {wire: "*0\r\n", err: errWrongReply},
		"no number":      {wire: "$x\r\n", err: errWrongReply},
		"too long":       {wire: "$5000\r\n", err: errWrongReply},
		"no line end":    {wire: "+OK\n", err: errWrongReply},
		"hang-up inside": {wire: "$4\r\na", err: io.ErrUnexpectedEOF},
		"hang-up":        {wire: "", err: io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := readReply(bufio.NewReaderSize(strings.NewReader(tc.wire), connBuffer))
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if err == nil && !r.is(tc.want) {
				t.Fatalf("reply %v, want %v", r, tc.want)
			}
		})
	}
}

func TestRequestCarriesTheToken(t *testing.T) {
	r := encode("SET", "k", placeholder)
	got := string(r.with(newToken(20007)))
	want := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$24\r\n000000020007000000000000\r\n"
	if got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestTokensAreNotUsedTwice(t *testing.T) {
	seen := map[token]bool{}
	for owner := range 3 {
		tok := newToken(maxClients + owner)
		for range 1001 { // over a carry of three digits
			tok.next()
			if seen[*tok] {
				t.Fatalf("token %s twice", tok[:])
			}
			seen[*tok] = true
		}
	}
}

func TestHistogramQuantiles(t *testing.T) {
	for name, unit := range map[string]time.Duration{"ns": 1, "µs": time.Microsecond, "ms": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			var h, half histogram
			for i := range 1000 {
				part := &h
				if i%2 == 0 {
					part = &half
				}
				part.add(time.Duration(i+1) * unit)
			}
			h.merge(&half)
			for q, exact := range map[float64]time.Duration{0.5: 501 * unit, 0.99: 991 * unit, 0: unit} {
				got := h.quantile(q)
				if got < exact || float64(got) > float64(exact)*(1+1.0/(1<<subBits)) {
					t.Errorf("quantile %v is %v, want %v or little more", q, got, exact)
				}
			}
		})
	}
	if (&histogram{}).quantile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
}

func TestBucketsAreInOrder(t *testing.T) {
	last := -1
	for d := time.Duration(0); d < 10*time.Minute; d += d/40 + 1 {
		b := bucketOf(d)
		if b < last || b >= buckets || (b < buckets-1 && boundOf(b) < d) {
			t.Fatalf("%v is in bucket %d with bound %v, the one before was %d", d, b, boundOf(b), last)
		}
		last = b
	}
}

func TestRatiosArePaired(t *testing.T) {
	// The machine was slow in the second round and half of the third; the medians of the two sides alone would say 1.
	if got := median(paired([]float64{90, 20, 50}, []float64{100, 40, 50})); got != 0.9 {
		t.Errorf("ratio %v", got)
	}
	if got := median([]float64{4, 1}); got != 2.5 {
		t.Errorf("median of two %v", got)
	}
}

func TestReportOfThreeServers(t *testing.T) {
	of := func(rates ...float64) side { return side{rates: rates, costs: []time.Duration{2 * time.Microsecond}} }
	r := &result{
		servers: []*server{{name: "base"}, {name: "ours"}, {name: "other"}},
		rows:    []row{{passSetting(1), []side{of(1000, 2000), of(500, 500), of(100, 400)}}},
	}
	got := layout(r.rates())
	for _, want := range []string{
		"| setting | clients |  base | ours | other | ratio | lowest to highest | ratio other | lowest to highest | CPU base | CPU ours | CPU other |",
		"| pass    |       1 | 1,500 |  500 |   250 |  0.38 |      0.25 to 0.50 |        0.15 |      0.10 to 0.20 |      2.0 |      2.0 |       2.0 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %s in\n%s", want, got)
		}
	}
}

// TestProcessesAreCountedOnce has two servers work by the same process: what it uses is not what others use twice over.
func TestProcessesAreCountedOnce(t *testing.T) {
	shared, own := &server{name: "shared", cmd: &exec.Cmd{}}, &server{name: "own", cmd: &exec.Cmd{}}
	own.behind = []*server{shared}
	got := processes([]*server{{name: "no process", behind: []*server{shared}}, own})
	if !slices.Equal(got, []*server{shared, own}) {
		t.Errorf("%d processes", len(got))
	}
}

// TestCopierCopies asks a server behind it: that it starts means that its answer came through.
func TestCopierCopies(t *testing.T) {
	program := filepath.Join(t.TempDir(), "copier")
	if err := goBuild(t.Context(), program, ".", "./copier"); err != nil {
		t.Fatal(err)
	}
	srv := &server{
		name: "copied", argv: []string{program, answering(t, "+PONG\r\n").addr}, dir: filepath.Join(t.TempDir(), "data"),
		ready: regexp.MustCompile(`copier ready listen=(\S+)`),
	}
	if err := srv.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv.stop()
}

func TestLayout(t *testing.T) {
	got := layout([][]string{{"what", "µs"}, {"a", "1,000"}, {"bcdef", "1"}})
	want := "| what  |    µs |\n|-------|------:|\n| a     | 1,000 |\n| bcdef |     1 |\n"
	if got != want {
		t.Fatalf("got\n%swant\n%s", got, want)
	}
	if c := count(1234567); c != "1,234,567" {
		t.Error(c)
	}
}

// everySetting is a plan with few clients.
func everySetting(t *testing.T) []setting {
	t.Helper()
	plan, err := makePlan(options{clients: []int{2, 1, 2}, settings: []string{
		"lock", "contended", "read", "redisson", "mutex", "mutex-contended", "txn",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan) != 10 {
		t.Fatalf("%d settings, want 10: equal numbers of clients are one", len(plan))
	}
	return plan
}

func TestEverySettingRunsOnRedis(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	srv := redisServer("redis-server", t.TempDir())
	if err := srv.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer srv.stop()
	o := options{rounds: 2, duration: 100 * time.Millisecond, warmUp: 10 * time.Millisecond}
	rows, err := measure(t.Context(), o, everySetting(t), []*server{srv, srv}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for i, op := range row.ops {
			if row.sides[1].seen[i].n == 0 {
				t.Errorf("%s with %d clients: no %q was counted", row.name, row.clients, op.name)
			}
		}
	}
	r := &result{options: o, host: describeHost(t.Context(), t.TempDir(), syncTimes{}), servers: []*server{srv, srv}, rows: rows}
	if text := r.markdown(); !strings.Contains(text, "| redisson        |      64 |") {
		t.Errorf("no row for redisson:\n%s", text)
	}
}

// TestTheTokenIsAskedForOnOneSide gives the setting fence replies that fit the other side, or none.
func TestTheTokenIsAskedForOnOneSide(t *testing.T) {
	for name, tc := range map[string]struct {
		fenced bool
		answer string
	}{
		"a token where none was asked for": {false, ":7\r\n"},
		"no token":                         {true, "+OK\r\n"},
		"refused":                          {true, "$-1\r\n"},
		"the release is not granted":       {true, ":7\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := answering(t, tc.answer)
			srv.fenced = tc.fenced
			w := &window{time.Now(), time.Now().Add(time.Minute)}
			s := fenceSetting(1)
			crew, err := hire(s, srv, 0, w.until)
			if err != nil {
				t.Fatal(err)
			}
			defer crew.dismiss()
			crew[0].window = w
			if err := crew[0].repeat(s.enlist(crew[0])); !errors.Is(err, errWrongReply) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestTokensOfAClientMustRise asks twice for a lock whose token is 7.
func TestTokensOfAClientMustRise(t *testing.T) {
	c, err := dial(answering(t, ":7\r\n").addr, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	last := int64(0)
	one := &client{conn: c}
	if err := one.fenced([]byte("a"), &last); err != nil || last != 7 {
		t.Errorf("error %v, token %d", err, last)
	}
	if err := one.fenced([]byte("a"), &last); !errors.Is(err, errWrongReply) {
		t.Errorf("error %v", err)
	}
}

// answering is a server that gives every request the same answer.
func answering(t *testing.T, answer string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerAll(c, answer)
		}
	}()
	return &server{name: "fake", addr: l.Addr().String()}
}

func answerAll(c net.Conn, answer string) {
	defer c.Close()
	buf := make([]byte, 4096)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}

func TestWrongRepliesEndTheBenchmark(t *testing.T) {
	for name, answer := range map[string]string{
		"the lock is free for everybody": "+OK\r\n",
		"the lock is never released":     ":0\r\n",
		"an error":                       "-TRYAGAIN later\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			srv := answering(t, answer)
			for _, s := range everySetting(t) {
				w := &window{time.Now(), time.Now().Add(time.Minute)}
				crew, err := hire(s, srv, 0, w.until)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range crew {
					c.window = w
					c.holders.Store(1) // as if another client held it: a second grant is one too many
				}
				if err := crew[0].repeat(s.enlist(crew[0])); !errors.Is(err, errWrongReply) {
					t.Errorf("%s: %v", s.name, err)
				}
				crew.dismiss()
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"no rounds":       {"-rounds", "0"},
		"no clients":      {"-clients", "0"},
		"unknown setting": {"-settings", "write"},
		"left over":       {"more"},
		"two comparisons": {"-etcd", "-nodes", "3"},
		"two others":      {"-etcd", "-pass"},
		"tokens of etcd":  {"-etcd", "-fence"},
		"link to nobody":  {"-link", "1ms"},
		"no round trip":   {"-pass", "-link", "1ms,-1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(context.Background(), args, &out, io.Discard); err == nil || out.Len() > 0 {
				t.Errorf("error %v, printed %q", err, out.String())
			}
		})
	}
}
