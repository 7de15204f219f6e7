package integration

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

// probe is a well-behaved client that takes and gives back a lock all the time
// and keeps how long each command took.
type probe struct {
	conn *harness.Wire
	done chan struct{} // closed when the connection has ended

	mu     sync.Mutex
	err    error // why it has ended
	took   []time.Duration
	wanted int
	enough chan struct{} // closed when took has as many as wanted, or the probe has ended
}

func startProbe(t *testing.T, addr string) *probe {
	t.Helper()
	conn, err := harness.Open(addr)
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{conn: conn, done: make(chan struct{}), enough: make(chan struct{})}
	go p.run()
	t.Cleanup(func() {
		_ = conn.Close()
		<-p.done
	})
	return p
}

func (p *probe) run() {
	defer close(p.done)
	var err error
	for err == nil {
		err = p.cycle()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	if len(p.took) < p.wanted {
		close(p.enough)
	}
}

func (p *probe) cycle() error {
	for _, step := range []struct{ command, want string }{
		{"SET probe x NX PX 60000", "OK"}, {"DEL probe", "(integer) 1"},
	} {
		began := time.Now()
		reply, err := p.conn.Do(strings.Fields(step.command)...)
		if err != nil {
			return err
		}
		if reply.String() != step.want {
			return fmt.Errorf("%s answered %s, want %s", step.command, reply, step.want)
		}
		p.note(time.Since(began))
	}
	return nil
}

func (p *probe) note(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took = append(p.took, d)
	if len(p.took) == p.wanted {
		close(p.enough)
	}
}

// expect begins a new measurement and returns a channel that is closed once it
// has n figures.
func (p *probe) expect(n int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took, p.wanted, p.enough = nil, n, make(chan struct{})
	if p.err != nil {
		close(p.enough)
	}
	return p.enough
}

// p99 returns the 99th percentile of the measurement, and the largest figure. It
// fails the test when the probe was not served to the end.
func (p *probe) p99(t *testing.T) (p99, worst time.Duration) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		t.Fatalf("another client was not served: %v", p.err)
	}
	sorted := slices.Sorted(slices.Values(p.took))
	return sorted[(len(sorted)*99)/100], sorted[len(sorted)-1]
}

// resources is what a server has open.
type resources struct{ clients, descriptors, goroutines int }

// openResources asks a server that was started with an HTTP listener. The
// clients do not count the connection that asks.
func openResources(t *testing.T, s *harness.Server) resources {
	t.Helper()
	c := harness.Dial(t, s.Addr)
	defer crowd{c.Wire}.leave()
	info := c.Do("INFO", "clients").Text
	return resources{
		clients:     figure(t, info, `connected_clients:(\d+)`) - 1,
		descriptors: s.Descriptors(),
		goroutines:  figure(t, scrape(t, s), `(?m)^go_goroutines (\d+)$`),
	}
}

// scrape reads the metrics over a connection that does not stay open.
func scrape(t *testing.T, s *harness.Server) string {
	t.Helper()
	found := regexp.MustCompile(`metrics and health\s+\{"listen": "([^"]+)"`).FindStringSubmatch(s.Stderr())
	if found == nil {
		t.Fatalf("no HTTP listener in:\n%s", s.Stderr())
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: harness.ReplyTimeout}
	answer, err := client.Get("http://" + found[1] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// figure returns the number that the group of a pattern finds in a text.
func figure(t *testing.T, text, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in:\n%s", pattern, text)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
