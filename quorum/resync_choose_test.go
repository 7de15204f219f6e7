package quorum

import (
	"testing"

	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

// known is a state of a key: a string with a TTL, or absent when the text is empty.
func known(number uint64, request, text string, ttl int64) runner.State {
	s := runner.State{Key: "lock", Version: tally.Version{Number: number, Request: request}, Mark: fencing.Token(number)}
	if text != "" {
		s.Exists, s.Type, s.Content, s.TTL, s.Token = true, "string", []string{text}, ttl, fencing.Token(number)
	}
	return s
}

// TestWhatAResyncChooses goes through what can be read of a key.
func TestWhatAResyncChooses(t *testing.T) {
	type states = []runner.State
	nothing := runner.State{Key: "lock"}
	same := func(s runner.State) states { return states{s, s} }
	renewed := known(5, "renewal", "me", 90)
	renewed.Token = 3
	tests := []struct {
		name   string
		own    runner.State
		others states
		rested bool

		again     bool
		nothing   bool // to be done
		want      runner.State
		unchanged bool // only if the node is as it was read
	}{
		{name: "the node has forgotten it", own: nothing, others: same(known(3, "a", "me", 50)), want: known(3, "a", "me", 50)},
		{name: "the node has forgotten a release", own: nothing, others: same(known(4, "b", "", 0)), want: known(4, "b", "", 0)},
		{name: "the node has it", own: known(3, "a", "me", 50), others: same(known(3, "a", "me", 40)), nothing: true},
		{name: "it has ended on the others", own: known(3, "a", "me", 1), others: same(known(3, "a", "", 0)), want: known(3, "a", "", 0)},
		{name: "its clock has gone back", own: known(3, "a", "me", 3_600_000), others: same(known(3, "a", "me", 40)), want: known(3, "a", "me", 40)},
		{name: "both have it directly from a client", own: known(0, "", "me", 3_600_000), others: same(known(0, "", "you", 40)), nothing: true},
		{name: "the node has let it end too early, and may be about to get it", own: known(3, "a", "", 0), others: same(known(3, "a", "me", 40)), again: true},
		{
			name: "the node has let it end too early", own: known(3, "a", "", 0), others: same(known(3, "a", "me", 40)), rested: true,
			want: known(3, "a", "me", 40), unchanged: true,
		},
		{name: "an old dump", own: known(2, "old", "you", 50), others: same(known(3, "a", "me", 50)), want: known(3, "a", "me", 50)},
		{name: "an old dump of the same hold, which may be renewed now", own: known(3, "a", "me", 50), others: same(renewed), again: true},
		{name: "an old dump of the same hold", own: known(3, "a", "me", 50), others: same(renewed), rested: true, want: renewed, unchanged: true},
		{name: "a write that the others may still get", own: known(4, "lost", "you", 50), others: same(known(3, "a", "me", 50)), again: true},
		{
			name: "a write that was lost", own: known(4, "lost", "you", 50), others: same(known(3, "a", "me", 50)), rested: true,
			want: known(3, "a", "me", 50), unchanged: true,
		},
		{name: "the others may yet agree", own: nothing, others: states{known(3, "a", "me", 50), known(3, "lost", "you", 70)}, again: true},
		{
			name: "either may be the lock", own: nothing, others: states{known(3, "a", "me", 50), known(4, "lost", "you", 20)}, rested: true,
			want: runner.State{Version: tally.Version{Number: 4, Request: "resync"}, Exists: true, Content: []string{"you"}, TTL: 50, Mark: 4}, unchanged: true,
		},
		{
			name: "one may have missed it", own: nothing, others: states{known(3, "a", "me", 50), known(4, "lost", "", 0)}, rested: true,
			want: runner.State{Version: tally.Version{Number: 4, Request: "resync"}, Exists: true, Content: []string{"me"}, TTL: 50, Mark: 4}, unchanged: true,
		},
		{
			name: "a lock without end that one may have missed", own: nothing, others: states{known(3, "a", "me", tally.Forever), known(4, "lost", "", 0)}, rested: true,
			want: runner.State{Version: tally.Version{Number: 4, Request: "resync"}, Exists: true, Content: []string{"me"}, TTL: tally.Forever, Mark: 4}, unchanged: true,
		},
		{
			name: "a counter", own: nothing, others: states{known(3, "a", "7", tally.Forever), known(4, "b", "6", tally.Forever)}, rested: true,
			want: known(4, "b", "6", tally.Forever), unchanged: true,
		},
		{
			name: "released, with different histories", own: nothing, others: states{known(3, "a", "", 0), known(4, "b", "", 0)}, rested: true,
			want: known(4, "b", "", 0), unchanged: true,
		},
		{name: "blocked already", own: known(4, "resync", "you", 50), others: states{known(3, "a", "me", 50), known(4, "lost", "you", 20)}, rested: true, nothing: true},
		{name: "nobody else is there", own: nothing, nothing: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := reading{own: tt.own, others: tt.others, rested: tt.rested}
			c, again := r.choose("resync")
			if again != tt.again || (c == nil) != (tt.again || tt.nothing) {
				t.Fatalf("again %v, choice %+v", again, c)
			}
			if c == nil {
				return
			}
			if (c.Expect != nil) != tt.unchanged || c.Expect != nil && *c.Expect != tt.own.Version {
				t.Errorf("under the condition %v", c.Expect)
			}
			got := c.State
			if got.Version != tt.want.Version || got.Exists != tt.want.Exists || got.TTL != tt.want.TTL || got.Mark != tt.want.Mark ||
				got.Exists && got.Content[0] != tt.want.Content[0] {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
