package quorum

import (
	"slices"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// handClock stands still until its time is changed, and then fires what is due.
type handClock struct {
	now    time.Duration
	timers map[int]handTimer
	made   int
}

type handTimer struct {
	at time.Duration
	f  func()
}

func (c *handClock) Now() time.Duration { return c.now }

func (c *handClock) AfterFunc(d time.Duration, f func()) func() {
	c.made++
	n := c.made
	c.timers[n] = handTimer{c.now + d, f}
	return func() { delete(c.timers, n) }
}

func (c *handClock) pass(d time.Duration) {
	c.now += d
	for n, t := range c.timers {
		if t.at <= c.now {
			delete(c.timers, n)
			t.f()
		}
	}
}

func restingRequest(t *testing.T, e *Engine, line ...string) *request {
	t.Helper()
	q, err := commands.Bind(line, 0)
	if err != nil {
		t.Fatal(err)
	}
	return newRequest(e, nil, &commands.Call{Requests: []*commands.Request{q}})
}

// TestRequestsWaitForMending tells which requests wait while what was lost at their keys is put back, and for how long.
func TestRequestsWaitForMending(t *testing.T) {
	const timeout = 100 * time.Millisecond
	tests := []struct {
		name  string
		line  []string
		waits bool
	}{
		{"a write", []string{"INCR", "counter"}, true},
		{"a write of several keys", []string{"MSET", "other", "1", "counter", "2"}, true},
		{"a write of another key", []string{"INCR", "other"}, false},
		{"a read", []string{"GET", "counter"}, false},
		{"a lock, which is not built on what is there", []string{"SET", "counter", "1", "NX", "PX", "1000"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			clock := &handClock{timers: map[int]handTimer{}}
			e := New(Config{Clock: clock, Timeout: timeout})
			first, second := e.mend(0, []string{"counter"}), e.mend(0, []string{"counter"})
			woken := 0
			if got := e.rest(restingRequest(t, e, tt.line...), func() { woken++ }); got != tt.waits {
				t.Fatalf("waits: %v", got)
			}
			first()
			if woken != 0 {
				t.Error("woken though a node is still being mended")
			}
			second()
			if tt.waits && woken != 1 {
				t.Errorf("woken %d times", woken)
			}
			if e.rests.count.Load() != 0 || len(clock.timers) != 0 {
				t.Error("something is left")
			}
		})
	}
	t.Run("not for longer than mending should take", func(t *testing.T) {
		clock := &handClock{timers: map[int]handTimer{}}
		e := New(Config{Clock: clock, Timeout: timeout})
		over := e.mend(0, []string{"counter"})
		var woken []string
		r := restingRequest(t, e, "INCR", "counter")
		e.rest(r, func() { woken = append(woken, "first") })
		clock.pass(timeout * 3 / 2)
		if e.rest(r, func() { woken = append(woken, "second") }) {
			t.Error("waits again")
		}
		over()
		if !slices.Equal(woken, []string{"first"}) {
			t.Error(woken)
		}
	})
}

// TestReleasesDoNotWaitForTheLostRequestsOfOthers tells which compare-and-delete waits for what: only for what it could find or
// that is brought back.
func TestReleasesDoNotWaitForTheLostRequestsOfOthers(t *testing.T) {
	const release = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
	others := tally.Write{Key: "lock", Exists: true, State: "string 5:other"}
	own, over := others, others
	own.State, over.Existed = "string 2:me", true
	tests := []struct {
		name   string
		script string
		lost   []tally.Write // nil: nodes are to catch up
		waits  bool
	}{
		{"a lock of another that was lost", release, []tally.Write{others}, false},
		{"its own", release, []tally.Write{own}, true},
		{"what overwrote another value", release, []tally.Write{over}, true},
		{"nodes that are behind", release, nil, true},
		{"a script that is not known", "return redis.call('del', KEYS[1])", []tally.Write{others}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := New(Config{Clock: &handClock{timers: map[int]handTimer{}}, Timeout: 100 * time.Millisecond})
			over := e.mendLost(0, tt.lost)
			if tt.lost == nil {
				over = e.mend(0, []string{"lock"})
			}
			r, woken := restingRequest(t, e, "EVAL", tt.script, "1", "lock", "me"), 0
			r.text = runner.NewText(tt.script)
			if got := e.rest(r, func() { woken++ }); got != tt.waits {
				t.Errorf("waits: %v", got)
			}
			e.mendLost(0, []tally.Write{others}) // goes on
			over()
			if want := tt.waits && r.text.SHA == runner.NewText(release).SHA; want != (woken == 1) {
				t.Errorf("woken %d times when only another's lost lock is put back", woken)
			}
		})
	}
}

// TestAShorterTTLEndsNoHold is about the fate of a lost vote: a hold of which one node knows is not renewed.
func TestAShorterTTLEndsNoHold(t *testing.T) {
	shorter := &tally.Answer{Writes: []tally.Write{{Existed: true, Exists: true, Ended: true, Shortened: true}}}
	if ended(shorter) || mayUndo(shorter) {
		t.Error("it is carried on, or put back")
	}
}

// TestRestsAreShortWhateverTheTimeout: clients give up after 3 s, so nobody rests for a part of a long timeout.
func TestRestsAreShortWhateverTheTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{40 * time.Millisecond: 60 * time.Millisecond, 10 * time.Second: 150 * time.Millisecond} {
		e := &Engine{cfg: Config{Timeout: timeout}}
		if got := e.restFor(); got != want {
			t.Errorf("with a timeout of %v requests rest for %v, want %v", timeout, got, want)
		}
	}
}
