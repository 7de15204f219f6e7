package raftstore

import (
	"testing"
	"time"
)

// newGathering expects all clients to come back, and has nothing that ends its waits.
func newGathering(t *testing.T) *gathering {
	t.Helper()
	g := &gathering{back: 1, late: time.NewTimer(time.Hour)}
	t.Cleanup(func() { g.late.Stop() })
	return g
}

func TestAnEntryWaitsForAsManyAsComeBack(t *testing.T) {
	tests := []struct {
		name                 string
		wait, answered, came int // came: of those answered, each time
		rounds               int
		want                 int64 // calls for which the entry waits at last
	}{
		{"at first for all", 3, 16, 16, 0, 19},
		{"one client", 0, 1, 1, 100, 1},
		{"two that take turns", 1, 1, 1, 100, 2},
		{"all come back", 0, 64, 64, 100, 64},
		{"three of four", 0, 16, 12, 100, 13}, // one more, to find out
		{"nobody", 0, 16, 0, 3, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGathering(t)
			for range tt.rounds {
				if g.begin(tt.wait, tt.answered, time.Millisecond) {
					g.end(g.want.Load(), tt.wait+tt.came)
				}
			}
			g.begin(tt.wait, tt.answered, time.Millisecond)
			if got := g.want.Load(); got != tt.want {
				t.Errorf("it waits for %d calls, want %d; %.2f come back", got, tt.want, g.back)
			}
		})
	}
}

func TestItIsTriedAgainWhetherClientsComeBack(t *testing.T) {
	g := newGathering(t)
	g.back = 0
	waits := 0
	for range 10 * gatherAgain {
		if g.begin(0, 4, time.Millisecond) {
			waits++
			g.end(g.want.Load(), 4)
		}
	}
	if waits < 9*gatherAgain/2 {
		t.Errorf("%d waits of %d, though all come back since long", waits, 10*gatherAgain)
	}
}

func TestAWaitGoesOnWhileCallsCome(t *testing.T) {
	tests := []struct {
		name   string
		queued []int // calls in the queue at each look
		want   []bool
	}{
		{"nobody comes", []int{2}, []bool{false}},
		{"some come, then nobody", []int{6, 6}, []bool{true, false}},
		{"they come one by one", []int{3, 4, 5}, []bool{true, true, false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGathering(t)
			for range 2 { // each wait has its own looks
				g.begin(2, 16, time.Millisecond)
				for i, n := range tt.queued {
					if got := g.goesOn(n); got != tt.want[i] {
						t.Errorf("with %d calls at look %d it goes on: %v, want %v", n, i, got, tt.want[i])
					}
				}
				g.end(g.want.Load(), tt.queued[len(tt.queued)-1])
				g.back = 1
			}
		})
	}
}

// TestNobodyWaitsForClientsThatDoNotComeBack: a wait ends by itself.
func TestNobodyWaitsForClientsThatDoNotComeBack(t *testing.T) {
	c := startNodes(t)
	c.voters(3)
	s := c.leader()
	for range 20 {
		s.pen.gather.mu.Lock()
		s.pen.gather.back = 1
		s.pen.gather.mu.Unlock()
		for _, answers := range []chan answer{ask(t, s, "a"), ask(t, s, "b"), ask(t, s, "c")} {
			if a := <-answers; a.Reply.IsErr() {
				t.Fatalf("answered with %+v", a.Result)
			}
		}
	}
}
