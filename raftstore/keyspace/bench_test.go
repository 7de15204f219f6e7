package keyspace

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/redfence/redfence/commands"
)

// held is the name of the i-th lock of the benchmarks, and an owner as Redisson writes them.
func held(i int) string { return fmt.Sprintf("lock:{order}:%09d", i) }

const lockOwner = "8743c9c0-0795-4907-87fd-6c719a6b4586:1"

// withLocks returns a keyspace with n string locks that have a TTL, and n/8 hash locks.
func withLocks(tb testing.TB, n int) *Keyspace {
	tb.Helper()
	ks := New()
	t := ks.Begin(Stamp{Now: 1_000, Wall: 1_796_000_000_000_000})
	for i := range n {
		if i%1024 == 0 { // as many as an entry of the log has requests
			t = ks.Begin(Stamp{Now: 1_000, Wall: 1_796_000_000_000_000})
		}
		t.Mark()
		t.Exec(bound(tb, "SET", held(i), lockOwner, "NX", "PX", "30000"))
		if i%8 == 0 {
			t.Exec(bound(tb, "HSET", "h:"+held(i), lockOwner, "1"))
			t.Exec(bound(tb, "PEXPIRE", "h:"+held(i), "30000"))
		}
	}
	return ks
}

func bound(tb testing.TB, line ...string) *commands.Request {
	tb.Helper()
	r, err := commands.Bind(line, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// BenchmarkCommands measures single commands, bound beforehand, as steps of transactions of 64 requests.
func BenchmarkCommands(b *testing.B) {
	const requests = 64
	for _, keys := range []int{1_000, 1_000_000} {
		ks := withLocks(b, keys)
		bench := func(name string, make func(i int) []string) {
			b.Run(fmt.Sprintf("%s/keys=%d", name, keys), func(b *testing.B) {
				var bounds [4096]*commands.Request
				for i := range bounds {
					bounds[i] = bound(b, make(i*7919%keys)...)
				}
				var t *Txn
				start := ks.Now() + 1
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if i%requests == 0 {
						// Each pass over the requests is a millisecond later, so that a renewal changes something.
						t = ks.Begin(Stamp{Now: start + int64(i/len(bounds)), Wall: 1_796_000_000_000_000})
					}
					t.Mark()
					t.Exec(bounds[i%len(bounds)])
				}
			})
		}
		bench("GET", func(i int) []string { return []string{"GET", held(i)} })
		bench("EXISTS", func(i int) []string { return []string{"EXISTS", held(i)} })
		bench("PTTL", func(i int) []string { return []string{"PTTL", held(i)} })
		bench("HEXISTS", func(i int) []string { return []string{"HEXISTS", "h:" + held(i/8*8), lockOwner} })
		bench("HGET", func(i int) []string { return []string{"HGET", "h:" + held(i/8*8), lockOwner} })
		bench("HINCRBY", func(i int) []string { return []string{"HINCRBY", "h:" + held(i/8*8), lockOwner, "1"} })
		bench("PEXPIRE", func(i int) []string { return []string{"PEXPIRE", held(i), "40000"} })
		bench("SET-NX-PX-held", func(i int) []string { return []string{"SET", held(i), "x", "NX", "PX", "30000"} })
		bench("DEL-absent", func(i int) []string { return []string{"DEL", "free:" + held(i)} })
	}
}

// BenchmarkLockCycle measures what a lock costs the state machine: SET NX PX of a free key, then DEL.
func BenchmarkLockCycle(b *testing.B) {
	for _, keys := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			ks := withLocks(b, keys)
			acquire, release := bound(b, "SET", "lock:mine", lockOwner, "NX", "PX", "30000"), bound(b, "DEL", "lock:mine")
			b.ReportAllocs()
			for b.Loop() {
				t := ks.Begin(Stamp{Now: 2_000, Wall: 1_796_000_000_000_000})
				t.Mark()
				t.Exec(acquire)
				t.Mark()
				t.Exec(release)
			}
		})
	}
}

// BenchmarkBind measures lookup, arity and options of an acquire.
func BenchmarkBind(b *testing.B) {
	line := []string{"SET", held(1), lockOwner, "NX", "PX", "30000"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := commands.Bind(line, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkView measures how long the state machine stands still for a snapshot of a million locks, and the first
// writes after it, which copy what they touch.
func BenchmarkView(b *testing.B) {
	ks := withLocks(b, 1_000_000)
	b.Run("take", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ks.View()
		}
	})
	b.Run("write after it", func(b *testing.B) {
		b.ReportAllocs()
		renew := bound(b, "PEXPIRE", held(5), "40000")
		for i := 0; b.Loop(); i++ {
			ks.View()
			t := ks.Begin(Stamp{Now: 2_000 + int64(i), Wall: 1_796_000_000_000_000})
			t.Exec(renew)
		}
	})
}

// BenchmarkSnapshot measures writing and reading a snapshot of a million locks.
func BenchmarkSnapshot(b *testing.B) {
	ks := withLocks(b, 1_000_000)
	var kept bytes.Buffer
	if _, err := ks.View().WriteTo(&kept); err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(kept.Len()))
		for b.Loop() {
			if _, err := ks.View().WriteTo(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(int64(kept.Len()))
		for b.Loop() {
			if err := New().Restore(bytes.NewReader(kept.Bytes())); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestMemoryOfAHeldLock bounds what a held lock costs: less than 1 KB each, in fact far less.
func TestMemoryOfAHeldLock(t *testing.T) {
	const n = 100_000
	before := heap()
	ks := withLocks(t, n)
	used := (heap() - before) / uint64(ks.Len())
	runtime.KeepAlive(ks)
	t.Logf("%d bytes per lock", used)
	if used > 512 {
		t.Errorf("a held lock takes %d bytes, want at most 512", used)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkSemaphore measures what a permit costs a semaphore kept in a sorted set: what is over is dropped, permits are
// counted, one is added and removed again. The other permits are held.
func BenchmarkSemaphore(b *testing.B) {
	for _, permits := range []int{10, 100, 10_000} {
		b.Run(fmt.Sprintf("permits=%d", permits), func(b *testing.B) {
			ks := New()
			t := ks.Begin(Stamp{Now: 1_000})
			for i := range permits {
				t.Mark()
				t.Exec(bound(b, "ZADD", "s", fmt.Sprint(1_796_024_563_039+i), held(i)))
			}
			steps := []*commands.Request{
				bound(b, "ZREMRANGEBYSCORE", "s", "-inf", "1796024553039"), bound(b, "ZCARD", "s"),
				bound(b, "ZADD", "s", "1796024564039", lockOwner), bound(b, "ZREM", "s", lockOwner),
			}
			b.ReportAllocs()
			for b.Loop() {
				t := ks.Begin(Stamp{Now: 2_000})
				for _, r := range steps {
					t.Mark()
					t.Exec(r)
				}
			}
		})
	}
}

// BenchmarkFairLock measures what a waiter costs a fair lock: it enters the queue with its deadline, the deadlines of
// the others are looked at, the first of the queue leaves it.
func BenchmarkFairLock(b *testing.B) {
	for _, waiters := range []int{10, 100, 10_000} {
		b.Run(fmt.Sprintf("waiters=%d", waiters), func(b *testing.B) {
			ks := New()
			t := ks.Begin(Stamp{Now: 1_000})
			for i := range waiters {
				t.Mark()
				t.Exec(bound(b, "RPUSH", "queue", held(i)))
				t.Exec(bound(b, "ZADD", "timeout", fmt.Sprint(1_796_024_563_039+i), held(i)))
			}
			steps := []*commands.Request{
				bound(b, "ZADD", "timeout", "1796024564039", lockOwner), bound(b, "RPUSH", "queue", lockOwner),
				bound(b, "LINDEX", "queue", "0"), bound(b, "ZSCORE", "timeout", held(1)), bound(b, "RPOP", "queue"),
				bound(b, "ZREM", "timeout", lockOwner),
			}
			b.ReportAllocs()
			for b.Loop() {
				t := ks.Begin(Stamp{Now: 2_000})
				t.Mark() // one script
				for _, r := range steps {
					t.Exec(r)
				}
			}
		})
	}
}
