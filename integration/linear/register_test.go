package linear

import (
	"strings"
	"testing"
	"time"
)

// looks is a history of a resource in the notation of these tests.
type looks []Look

func (s looks) add(call, end int, o Look) looks {
	o.Call, o.Return = ms(call), ms(end)
	return append(s, o)
}

func (s looks) taken(call, end int, token int64) looks {
	return s.add(call, end, Look{Asked: token, Known: true, Taken: true})
}

func (s looks) stale(call, end int, token int64) looks {
	return s.add(call, end, Look{Asked: token, Known: true})
}

func (s looks) last(call, end int, token int64) looks {
	return s.add(call, end, Look{Last: token, Known: true})
}

func (s looks) lost(call int, token int64) looks { return s.add(call, call+1, Look{Asked: token}) }

func TestCheckRegister(t *testing.T) {
	h := func() looks { return nil }
	tests := []struct {
		name       string
		ops        looks
		bad, loose bool // loose: what is found in a loose register, too
	}{
		{name: "nothing"},
		{name: "rising", ops: h().last(0, 1, 0).taken(2, 3, 5).taken(4, 5, 5).taken(6, 7, 6).last(8, 9, 6)},
		{name: "a stale one gets through", ops: h().taken(0, 1, 6).taken(2, 3, 5), bad: true, loose: true},
		{name: "at once, either way", ops: h().taken(0, 5, 6).taken(0, 5, 5).last(6, 7, 6)},
		{name: "at once, the lower last", ops: h().taken(0, 5, 6).taken(0, 5, 5).last(6, 7, 5), bad: true, loose: true},
		{name: "refused", ops: h().taken(0, 1, 6).stale(2, 3, 5)},
		{name: "refused without reason", ops: h().taken(0, 1, 6).stale(2, 3, 6), bad: true, loose: true},
		{name: "refused before anybody came", ops: h().stale(0, 1, 5).taken(2, 3, 6), bad: true, loose: true},
		{name: "refused at once", ops: h().stale(0, 3, 5).taken(2, 4, 6)},
		{name: "the last falls", ops: h().taken(0, 1, 6).last(2, 3, 0), bad: true, loose: true},
		{name: "reads that go back", ops: h().taken(0, 9, 6).last(1, 2, 6).last(3, 4, 0), bad: true, loose: true},
		{name: "seen and then let through", ops: h().taken(0, 9, 6).last(1, 2, 6).taken(3, 4, 5), bad: true, loose: true},
		{name: "what nobody has sent", ops: h().taken(0, 1, 6).last(2, 3, 7), bad: true, loose: true},
		{name: "a lost check that was one", ops: h().lost(0, 6).stale(2, 3, 5).last(4, 5, 6)},
		{name: "a lost check that was none", ops: h().lost(0, 6).taken(2, 3, 5).last(4, 5, 5)},
		{name: "a lost check that comes late", ops: h().lost(0, 6).taken(2, 3, 5).last(4, 5, 6).stale(6, 7, 5)},
		{name: "a lost check that comes and goes", ops: h().lost(0, 6).last(2, 3, 6).taken(4, 5, 5), bad: true, loose: true},
		{name: "a lost check that refuses and goes", ops: h().lost(0, 6).stale(2, 3, 5).taken(4, 5, 5), bad: true},
		{name: "refused by some, seen by others", ops: h().lost(0, 6).stale(1, 2, 5).last(3, 4, 5), bad: true},
		{name: "a lost read says nothing", ops: h().taken(0, 1, 6).add(2, 3, Look{})},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for name, loose := range map[string]bool{"strict": false, "loose": true} {
				want := tc.bad && (tc.loose || !loose)
				found := CheckRegister(tc.ops, loose, time.Minute)
				if (found != nil) != want {
					t.Fatalf("%s: found %v, want bad: %v", name, found, want)
				}
				if want && (found.Undecided || !strings.Contains(found.Report, "client 0: ")) {
					t.Errorf("%s: report %+v", name, found)
				}
			}
		})
	}
}

// TestManyLostChecks: the search stays short although every lost check may have been executed at any time.
func TestManyLostChecks(t *testing.T) {
	var ops looks
	for at := 0; at < 20000; at += 10 {
		token := int64(at + 10)
		if at%500 == 0 {
			ops = ops.lost(at, token+3)
		}
		ops = ops.taken(at+2, at+5, token).taken(at+3, at+6, token+1).last(at+7, at+8, token+1).stale(at+7, at+9, token-5)
	}
	if found := CheckRegister(ops, false, time.Minute); found != nil {
		t.Errorf("found %v", found)
	}
}
