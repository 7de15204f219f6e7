package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestProcessorsFollowWaits(t *testing.T) {
	const short, middle, long, longest = 50e-6, 200e-6, 300e-6, 6e-3
	type look struct {
		after time.Duration // since the first
		waits map[float64]uint64
		want  int
	}
	type seen map[float64]uint64
	for _, tt := range []struct {
		name      string
		tolerance tolerance
		looks     []look
	}{
		{"nobody waits", loneLog(), []look{{0, nil, 1}, {time.Hour, nil, 1}}},
		{"nobody waits, with many nodes", manyNodes(), []look{{0, nil, 1}, {time.Hour, nil, 1}}},
		{"somebody waits", loneLog(), []look{{0, nil, 1}, {lookout, seen{longest: 3}, 4}, {2 * lookout, nil, 4}}},
		{"calm again", loneLog(), []look{{0, seen{longest: 1}, 4}, {calm - 1, nil, 4}, {calm, nil, 1}}},
		{"never calm", loneLog(), []look{{0, seen{longest: 1}, 4}, {calm - 1, seen{longest: 1}, 4}, {calm, nil, 4}, {2*calm - 1, nil, 1}}},
		{"once more", loneLog(), []look{{0, seen{longest: 1}, 4}, {calm, nil, 1}, {2 * calm, seen{longest: 1}, 4}}},
		{"many wait", loneLog(), []look{{0, seen{long: 100}, 1}}},
		{"many wait, with many nodes", manyNodes(), []look{{0, seen{short: 94, long: 6}, 4}}},
		{"few wait, with many nodes", manyNodes(), []look{{0, seen{short: 95, long: 5}, 1}}},
		{"many wait for a while", manyNodes(), []look{{0, seen{short: 50, middle: 50}, 1}}},
		{"many wait for a while, on all processors", manyNodes(), []look{{0, seen{long: 1}, 4}, {calm, seen{short: 50, middle: 50}, 4}}},
		{"few wait for a while, on all processors", manyNodes(), []look{{0, seen{long: 1}, 4}, {calm, seen{short: 96, middle: 4}, 1}}},
		{"somebody waits long, with many nodes", manyNodes(), []look{{0, seen{short: 1000, longest: 1}, 4}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 1
			c := crew{few: 1, all: 4, use: func(to int) { n = to }, tolerance: tt.tolerance}
			start := time.Now()
			for _, l := range tt.looks {
				w := waits{lengths: []float64{short, middle, long, longest}}
				for _, length := range w.lengths {
					w.counts = append(w.counts, l.waits[length])
				}
				if c.look(start.Add(l.after), w); n != l.want {
					t.Errorf("after %v: %d processors, want %d", l.after, n, l.want)
				}
			}
		})
	}
}

func TestTheOperatorSaysHowManyProcessors(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	if muster(loneLog()) != nil {
		t.Error("the number of processors is changed")
	}
}

// Goroutines that work for long make the others wait, and that is noticed.
func TestLongWaitsAreSeen(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	c := muster(loneLog())
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
	for c.recent().longer(c.tolerance.longest) == 0 {
		runtime.Gosched()
	}
	enough.Store(true)
	busy.Wait()
}
