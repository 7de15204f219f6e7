package quorum

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// schedule runs one seed to its end and returns the violation, "" when there is none.
func (w *world) schedule() string {
	w.run(func() bool { return w.all((*client).idle) })
	w.heal()
	end := w.now + simSettling
	w.run(func() bool { return w.now >= end && w.quiet() })
	if w.failure == "" && w.plan.prompt {
		w.book.settled()
	}
	w.book.compare()
	w.lively()
	return w.failure
}

func (w *world) all(is func(*client) bool) bool {
	for _, c := range w.clients {
		if !is(c) {
			return false
		}
	}
	return true
}

// quiet tells whether nothing is under way.
func (w *world) quiet() bool {
	for _, p := range w.proxies {
		for _, l := range p.links {
			if len(l.queue)+len(l.wire)+len(l.back)+len(l.failed) > 0 || (!l.up && !p.dead) {
				return false
			}
		}
	}
	return len(w.resyncs) == 0
}

// lively checks that every lock can be taken again when the faults are over and all times have run out.
func (w *world) lively() {
	if w.failure != "" {
		return
	}
	w.now += w.ttls[len(w.ttls)-1] + time.Second
	taken := map[string]bool{}
	for _, c := range w.clients {
		if !taken[c.key] && c.key != "sem" {
			taken[c.key] = true
			w.startClient(c.key, "last-"+c.key, 20)
		}
	}
	w.steps = 0
	w.run(func() bool { return w.all((*client).idle) })
	for key := range taken {
		if !w.grantedLast(key) && w.failure == "" {
			w.fail("nobody can take %s any more", key)
		}
	}
}

func (w *world) grantedLast(key string) bool {
	for held, holds := range w.book.holds {
		for _, h := range holds {
			if strings.HasPrefix(held, key) && strings.Contains(h.owner, "last-"+key) {
				return true
			}
		}
	}
	return false
}

// tally of many schedules.
type schedules struct {
	bug      bug
	from, to uint64 // seeds
	until    time.Time

	next, ran atomic.Uint64
	// How many came to what book notes.
	stuck, back, oversold, denied, apart, lame atomic.Uint64

	mu      sync.Mutex
	all     bool // go on after a failure
	failed  []string
	seed    uint64 // the smallest that failed
	failure string // and how; empty when none did
}

// run runs schedules on all cores, until one is violated or the limits are reached.
func (s *schedules) run() {
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for s.goesOn() {
				s.one(s.from + s.next.Add(1) - 1)
			}
		})
	}
	wg.Wait()
}

func (s *schedules) goesOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (s.all || s.failure == "") && s.from+s.next.Load() < s.to && time.Now().Before(s.until)
}

func (s *schedules) one(seed uint64) {
	w := newWorld(seed, s.bug, false)
	failure := w.schedule()
	s.ran.Add(1)
	if w.book.stuck {
		s.stuck.Add(1)
	}
	if w.book.oversold {
		s.oversold.Add(1)
	}
	if w.book.stranded {
		s.denied.Add(1)
	}
	if w.book.apart {
		s.apart.Add(1)
	}
	if w.book.lame {
		s.lame.Add(1)
	}
	if w.book.back {
		s.back.Add(1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.book.oversold {
		s.failed = append(s.failed, fmt.Sprintf("seed %d: a semaphore is oversold", seed))
	}
	if failure != "" {
		s.failed = append(s.failed, fmt.Sprintf("seed %d: %s", seed, failure))
	}
	if failure != "" && (s.failure == "" || seed < s.seed) {
		s.seed, s.failure = seed, failure
	}
}

// TestSchedules runs the engine over simulated nodes in the first 5,000 random schedules, as far as ten seconds go,
// and in 100,000 in a long run. REDFENCE_SEEDS=m-n names others, all of which run. REDFENCE_SEED=n repeats one schedule and prints what happened in it.
func TestSchedules(t *testing.T) {
	if text := os.Getenv("REDFENCE_SEED"); text != "" {
		repeat(t, text)
		return
	}
	s := schedules{from: 1, to: 5_001, until: time.Now().Add(10 * time.Second)}
	if longRun() {
		s.to, s.until = 100_001, time.Now().Add(time.Hour)
	}
	if text := os.Getenv("REDFENCE_SEEDS"); text != "" {
		if n, err := fmt.Sscanf(text, "%d-%d", &s.from, &s.to); n != 2 {
			t.Fatalf("REDFENCE_SEEDS is not two numbers with a dash between: %v", err)
		}
		s.all, s.until = true, time.Now().Add(time.Hour)
	}
	s.run()
	for _, text := range s.failed {
		t.Log(text)
	}
	ran, stuck, back, oversold, denied := s.ran.Load(), s.stuck.Load(), s.back.Load(), s.oversold.Load(), s.denied.Load()
	t.Logf("%d schedules; in %d a semaphore was left different on all nodes, in %d it was oversold, "+
		"in %d a released lock came back until its end, in %d a release was denied after nodes had forgotten", ran, stuck, oversold, back, denied)
	t.Logf("at the end a present key was in different versions on all nodes in %d, on one node in %d", s.apart.Load(), s.lame.Load())
	if rare := 2 + ran/1000; stuck > rare || back > rare || oversold > rare || denied > rare {
		t.Errorf("that is more than %d", rare)
	}
	if longRun() && !s.all && s.failure == "" && s.ran.Load() < 100_000 {
		t.Error("there was no time for 100,000 schedules")
	}
	if s.failure != "" {
		t.Errorf("%s\nREDFENCE_SEED=%d go test ./quorum -run TestSchedules -v repeats it", s.failure, s.seed)
	}
}

// longRun tells whether there is time for all schedules. One goroutine runs a schedule, so there is nothing for the race
// detector to find in more of them.
func longRun() bool { return os.Getenv("REDFENCE_LONG") == "1" && !raceDetector }

func repeat(t *testing.T, text string) {
	t.Helper()
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("REDFENCE_SEED is no number: %v", err)
	}
	b, _ := strconv.Atoi(os.Getenv("REDFENCE_BUG"))
	w := newWorld(seed, bug(b), true)
	failure := w.schedule()
	t.Logf("plan %+v\n%s", w.plan, strings.Join(w.trace, "\n"))
	if failure != "" {
		t.Error(failure)
	}
}

// TestSchedulesFindPlantedBugs shows that the schedules can fail: each of these defects is found.
func TestSchedulesFindPlantedBugs(t *testing.T) {
	if raceDetector {
		t.Skip("skipped: the race detector makes it ten times slower; make race runs it once more without")
	}
	tests := []struct {
		name   string
		bug    bug
		within uint64 // schedules
		long   bool   // found only in a long run
	}{
		{"no undo", bugNoUndo, 10_000, false},
		{"unconditional undo", bugAnyUndo, 10_000, false},
		{"no quarantine", bugNoQuarantine, 10_000, false},
		{"tokens without write-back", bugNoWriteBack, 10_000, false},
		{"copies without a check", bugAnyCopy, 10_000, false},
		{"copies that prolong", bugLongCopy, 10_000, false},
		{"votes without versions", bugNoVersions, 10_000, false},
		{"votes on whole arrays", bugWholeArrays, 50_000, true},
		{"a resync by versions alone", bugHighestOnly, 10_000, false},
		{"a resync that does not wait", bugHastyResync, 50_000, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long && !longRun() {
				t.Skip("skipped: takes many schedules; REDFENCE_LONG=1 runs it")
			}
			s := schedules{bug: tt.bug, from: 1, to: tt.within + 1, until: time.Now().Add(time.Hour)}
			s.run()
			t.Logf("found by seed %d, after %d schedules: %s", s.seed, s.ran.Load(), s.failure)
			if s.failure == "" {
				t.Error("not found")
			}
		})
	}
}

// TestSchedulesRepeat shows that a seed decides all: what a failure prints can be looked at again.
func TestSchedulesRepeat(t *testing.T) {
	for seed := range uint64(40) {
		first, second := newWorld(seed, bugNone, true), newWorld(seed, bugNone, true)
		first.schedule()
		second.schedule()
		if a, b := len(first.trace), len(second.trace); a != b {
			t.Errorf("seed %d: %d steps the first time, %d the second", seed, a, b)
		}
		for i := range min(len(first.trace), len(second.trace)) {
			if first.trace[i] != second.trace[i] {
				t.Errorf("seed %d: %s\nthe second time: %s", seed, first.trace[i], second.trace[i])
				break
			}
		}
	}
}
