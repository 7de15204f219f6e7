package quorum

import (
	"testing"

	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// TestWhatIsLeftOfALostRequest tells what an undo that came too late says of the write on that node.
func TestWhatIsLeftOfALostRequest(t *testing.T) {
	before := tally.Version{Number: 4, Request: "x"}
	had := before.Next("p.1")
	lock := tally.Write{Key: "lock", Before: before, After: had, Exists: true}
	counter := lock
	counter.Existed = true
	further := tally.Version{Number: 8, Request: "q.7~0123456789"}
	tests := []struct {
		name   string
		write  tally.Write
		alike  int // nodes that have the same write
		now    runner.Undone
		remain bool
	}{
		{"put back", lock, 1, runner.Undone{Put: true, Version: before}, false},
		{"written on", lock, 1, runner.Undone{Version: had.Next("q.1"), Exists: true}, true},
		{"overwritten by a copy of equal number", lock, 1, runner.Undone{Version: before.Next("q.1"), Exists: true}, false},
		{"overwritten by what was made of another", lock, 1, runner.Undone{Version: before.Next("q.1").Next("q.2")}, false},
		{"forgotten", lock, 1, runner.Undone{}, false},
		{"further on", lock, 1, runner.Undone{Version: further, Exists: true}, true},
		{"further on, and gone", lock, 1, runner.Undone{Version: further}, false},
		{"gone where a majority may have had it", lock, 2, runner.Undone{Version: further}, true},
		{"gone where something was before", counter, 1, runner.Undone{Version: further}, true},
		{"still there, and not put back", lock, 1, runner.Undone{Version: had}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &attempt{engine: newMuted().engine, votes: tally.NewVotes(3), late: make([]bool, 3)}
			for node := range 3 {
				answer := &tally.Answer{}
				if node < tt.alike {
					answer.Writes = []tally.Write{tt.write}
				}
				a.votes.Add(node, answer)
			}
			left := a.notPut([]tally.Write{tt.write}, Outcome{Undone: []runner.Undone{tt.now}})
			if (len(left) == 1) != tt.remain {
				t.Errorf("left %v", left)
			}
		})
	}
	if a := (&attempt{votes: tally.NewVotes(3)}); len(a.notPut([]tally.Write{lock}, Outcome{Reason: "connection lost"})) != 1 {
		t.Error("a node that did not answer is taken to have put it back")
	}
}
