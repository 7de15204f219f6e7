package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidwall/redcon"

	"github.com/redfence/redfence/commands/resp"
)

// BenchmarkSession measures a command's way through a session, with a backend that answers inside Submit and one that
// answers from a goroutine of its own, as a log does.
func BenchmarkSession(b *testing.B) {
	answer := Result{Reply: resp.OK()}
	calls := make(chan *Call, 1<<16)
	go func() {
		for c := range calls {
			c.Done(answer)
		}
	}()
	defer close(calls)
	backends := map[string]func(*Call){
		"inside":  func(c *Call) { c.Done(answer) },
		"outside": func(c *Call) { calls <- c },
	}
	for _, where := range []string{"inside", "outside"} {
		for _, conns := range []int{1, 64} {
			for _, depth := range []int{1, 16} {
				b.Run(fmt.Sprintf("%s/conns=%d/depth=%d", where, conns, depth), func(b *testing.B) {
					_, addr := start(b, Config{Backend: &fakeBackend{submit: backends[where]}})
					drive(b, addr, conns, depth)
				})
			}
		}
	}
}

// drive sends b.N commands in all over a number of connections, depth at a time.
func drive(b *testing.B, addr string, conns, depth int) {
	b.Helper()
	batch := []byte(strings.Repeat(array("SET", "lock:orders", "8f14e45f", "NX", "PX", "30000"), depth))
	var left atomic.Int64
	left.Store(int64(b.N))
	var clients sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range conns {
		clients.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			replies := make([]byte, 5*depth)
			for left.Add(-int64(depth)) > -int64(depth) {
				if _, err := conn.Write(batch); err != nil {
					b.Error(err)
					return
				}
				if _, err := io.ReadFull(conn, replies); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkParse compares the framer with redcon's parser on the same bytes.
func BenchmarkParse(b *testing.B) {
	one := array("SET", "lock:orders", "8f14e45f-ceea-467f-a23c-53b8e2d9ad1f", "NX", "PX", "30000")
	packet := []byte(strings.Repeat(one, 32))
	b.Run("framer", func(b *testing.B) {
		b.ReportAllocs()
		f := newFramer(DefaultMaxBulk, DefaultMaxArgs)
		for i := 0; i < b.N; i += 32 {
			for rest := packet; len(rest) > 0; {
				n := copy(f.room(), rest)
				f.grown(n)
				rest = rest[n:]
				for line, _ := f.next(); line != nil; line, _ = f.next() {
				}
			}
		}
	})
	b.Run("redcon", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += 32 {
			r := redcon.NewReader(bufio.NewReader(strings.NewReader(string(packet))))
			for {
				cmd, err := r.ReadCommand()
				if err != nil {
					break
				}
				line := make([]string, len(cmd.Args))
				for j, arg := range cmd.Args {
					line[j] = string(arg)
				}
			}
		}
	})
}
