package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestProcessorsFollowWaits(t *testing.T) {
	type look struct {
		after time.Duration // since the first
		waits uint64
		want  int
	}
	for _, tt := range []struct {
		name  string
		looks []look
	}{
		{"nobody waits", []look{{0, 0, 1}, {time.Hour, 0, 1}}},
		{"somebody waits", []look{{0, 0, 1}, {lookout, 3, 4}, {2 * lookout, 3, 4}}},
		{"calm again", []look{{0, 1, 4}, {calm - 1, 1, 4}, {calm, 1, 1}}},
		{"never calm", []look{{0, 1, 4}, {calm - 1, 2, 4}, {calm, 2, 4}, {2*calm - 1, 2, 1}}},
		{"once more", []look{{0, 1, 4}, {calm, 1, 1}, {2 * calm, 2, 4}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 1
			c := crew{few: 1, all: 4, use: func(to int) { n = to }}
			start := time.Now()
			for _, l := range tt.looks {
				if c.look(start.Add(l.after), l.waits); n != l.want {
					t.Errorf("after %v: %d processors, want %d", l.after, n, l.want)
				}
			}
		})
	}
}

func TestTheOperatorSaysHowManyProcessors(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	if muster() != nil {
		t.Error("the number of processors is changed")
	}
}

// Goroutines that work for long make the others wait, and that is noticed.
func TestLongWaitsAreSeen(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	c := muster()
	if c == nil {
		t.Skip("GOMAXPROCS is set")
	}
	if n := runtime.GOMAXPROCS(0); n != 1 {
		t.Errorf("%d processors at first, want 1", n)
	}
	var enough atomic.Bool
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for n := 0; !enough.Load(); n++ { // lengthy work
				runtime.KeepAlive(n)
			}
		})
	}
	for c.longWaits() == c.seen {
		runtime.Gosched()
	}
	enough.Store(true)
	busy.Wait()
}
