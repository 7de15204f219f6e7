package raftstore

import (
	"slices"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
)

func TestHistogramBuckets(t *testing.T) {
	for ms, want := range map[int64]int{
		-1: 0, 0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 1024: 10, 1025: 11, 1 << 20: 20, 1<<20 + 1: 21, 1 << 40: 21,
	} {
		var h histogram
		h.observe(ms)
		got := slices.Index(h.snapshot().Counts, 1)
		if got != want {
			t.Errorf("%d ms is in bucket %d, want %d", ms, got, want)
		}
		if h.snapshot().SumMs != max(ms, 0) {
			t.Errorf("%d ms: sum %d", ms, h.snapshot().SumMs)
		}
	}
}

func TestLocksAreCounted(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	one, two := s.Open(), s.Open()
	do(t, one, "SET", "lock", "a", "NX", "PX", "60000")
	do(t, two, "SET", "lock", "b", "NX", "PX", "60000")
	do(t, one, "EVAL", "return redis.call('SET', 'lock', 'c', 'NX', 'PX', 1000)", "0")
	do(t, one, "EVAL", "redis.call('HSET', 'hash', 'owner', 1) return redis.call('PEXPIRE', 'hash', 60000)", "0")
	do(t, one, "DEL", "lock")
	do(t, two, "SET", "lock", "b", "NX", "PX", "60000")
	st := s.Stats().Locks
	if st.Granted != 3 || st.Contended != 2 || st.Failed != 0 {
		t.Errorf("granted %d, contended %d, failed %d; want 3, 2, 0", st.Granted, st.Contended, st.Failed)
	}
	if n := total(st.Hold); n != 1 {
		t.Errorf("%d holds, want 1", n)
	}
	if n := total(st.Wait); n != 1 {
		t.Errorf("%d waits, want 1", n)
	}
}

func TestAFailedAttemptIsCounted(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	st := s.Open()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	do(t, st, "SET", "lock", "a", "NX", "PX", "60000")
	do(t, st, "GET", "lock")
	if got := s.Stats().Locks.Failed; got != 1 {
		t.Errorf("%d failed, want 1", got)
	}
}

func TestARestartCountsNothingTwice(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	first := open(t, cfg)
	do(t, first.Open(), "SET", "lock", "a", "NX", "PX", "60000")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := open(t, cfg)
	if got := second.Stats().Locks.Granted; got != 0 {
		t.Errorf("%d granted by the log of the former run", got)
	}
	do(t, second.Open(), "DEL", "lock")
	if n := total(second.Stats().Locks.Hold); n != 1 {
		t.Errorf("%d holds, want 1: it began in the log that was run again", n)
	}
}

func total(h Histogram) (n int64) {
	for _, count := range h.Counts {
		n += count
	}
	return n
}

func TestWaits(t *testing.T) {
	start := time.Now()
	at := start.Add
	attempt := func(key, value string) *commands.Request { return request(t, "SET", key, value, "NX", "PX", "1000") }
	tests := map[string]struct {
		refused []time.Duration // attempts on k with value v
		by      *commands.Request
		granted time.Duration
		want    time.Duration // 0 when there was no wait
	}{
		"granted at once":        {nil, attempt("k", "v"), time.Second, 0},
		"after two refusals":     {[]time.Duration{0, time.Second}, attempt("k", "v"), 2 * time.Second, 2 * time.Second},
		"another value":          {[]time.Duration{0}, attempt("k", "w"), time.Second, 0},
		"another key":            {[]time.Duration{0}, attempt("l", "v"), time.Second, 0},
		"given up long ago":      {[]time.Duration{0}, attempt("k", "v"), time.Minute, 0},
		"begun again after that": {[]time.Duration{0, time.Minute}, attempt("k", "v"), time.Minute + time.Second, time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var w waits
			for _, d := range tt.refused {
				w.refused(attempt("k", "v"), at(d))
			}
			got, waited := w.over(tt.by, at(tt.granted))
			if waited != (tt.want > 0) || (waited && got != tt.want) {
				t.Errorf("waited %v %v, want %v", waited, got, tt.want)
			}
			if _, again := w.over(tt.by, at(tt.granted)); again {
				t.Error("a wait ended twice")
			}
		})
	}
}

func TestWaitsAreBounded(t *testing.T) {
	var w waits
	now := time.Now()
	for i := range 3 * maxWaits {
		w.refused(request(t, "SET", "k", string(rune('a'+i%26))+time.Duration(i).String(), "NX"), now)
		if len(w.since) > maxWaits {
			t.Fatalf("%d waits are remembered", len(w.since))
		}
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	var l locks
	c := &commands.Call{Requests: []*commands.Request{request(t, "SET", "k", "v", "NX", "PX", "1000")}}
	refusal := commands.Result{}.Reply
	l.answered(c, refusal)
	if n := testing.AllocsPerRun(1000, func() {
		l.answered(c, refusal)
		l.hold.observe(17)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
