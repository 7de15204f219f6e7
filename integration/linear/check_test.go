package linear

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// script is a history in the notation of these tests.
type script []Op

func (s script) add(call, end int, o Op) script {
	o.Key, o.Call, o.Return, o.Known = "k", ms(call), ms(end), true
	return append(s, o)
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// grant is an Acquire for 100 ms; no token is a refusal.
func (s script) grant(call, end int, owner string, token int64) script {
	return s.add(call, end, Op{Kind: Acquire, Owner: owner, TTL: ms(100), Token: token, Done: token > 0})
}

func (s script) release(call, end int, owner string, done bool) script {
	return s.add(call, end, Op{Kind: Release, Owner: owner, Done: done})
}

// renew is a Renew for 100 ms.
func (s script) renew(call, end int, owner string, done bool) script {
	return s.add(call, end, Op{Kind: Renew, Owner: owner, TTL: ms(100), Done: done})
}

func (s script) holder(call, end int, owner string) script {
	return s.add(call, end, Op{Kind: Holder, Holder: owner})
}

func (s script) token(call, end int, owner string, token int64) script {
	return s.add(call, end, Op{Kind: Token, Owner: owner, Token: token, Done: token > 0})
}

// lost makes the last operation one whose answer did not come.
func (s script) lost() script {
	s[len(s)-1].Known, s[len(s)-1].Done, s[len(s)-1].Token = false, false, 0
	return s
}

func TestCheck(t *testing.T) {
	h := func() script { return nil }
	tests := []struct {
		name string
		ops  script
		bad  bool
	}{
		{name: "nothing"},
		{name: "one after the other", ops: h().grant(0, 1, "a", 1).release(2, 3, "a", true).grant(4, 5, "b", 2)},
		{name: "two at once", ops: h().grant(0, 1, "a", 1).grant(2, 3, "b", 2), bad: true},
		{name: "two calls at once, one refused", ops: h().grant(0, 5, "a", 1).grant(0, 5, "b", 0)},
		{name: "two calls at once, both refused", ops: h().grant(0, 5, "a", 0).grant(0, 5, "b", 0), bad: true},
		{name: "refused before anybody asked", ops: h().grant(0, 1, "b", 0).grant(2, 3, "a", 1), bad: true},
		{name: "refused behind the release", ops: h().grant(0, 1, "a", 1).release(2, 3, "a", true).grant(4, 5, "b", 0), bad: true},
		{name: "refused during the release", ops: h().grant(0, 1, "a", 1).release(2, 5, "a", true).grant(4, 6, "b", 0)},

		{name: "over on time", ops: h().grant(0, 10, "a", 1).grant(98, 100, "b", 2)},
		{name: "over too early", ops: h().grant(0, 10, "a", 1).grant(98, 99, "b", 2), bad: true},
		{name: "seen to be over", ops: h().grant(0, 10, "a", 1).holder(99, 101, "").renew(102, 103, "a", false)},
		{name: "seen to be over too early", ops: h().grant(0, 10, "a", 1).holder(98, 99, ""), bad: true},
		{name: "over, and back", ops: h().grant(0, 10, "a", 1).holder(99, 101, "").holder(102, 103, "a"), bad: true},
		{name: "a lease counts from its call", ops: h().grant(0, 50, "a", 1).holder(20, 21, "").grant(90, 100, "b", 2)},
		{name: "a renewal counts from its call", ops: h().grant(0, 1, "a", 1).renew(10, 50, "a", true).grant(20, 110, "b", 2)},
		{name: "not from before its call", ops: h().grant(0, 1, "a", 1).renew(10, 50, "a", true).grant(20, 109, "b", 2), bad: true},
		{name: "late", ops: h().grant(0, 10, "a", 1).holder(200, 201, "a").release(300, 301, "a", true)},
		{name: "renewed", ops: h().grant(0, 1, "a", 1).renew(50, 60, "a", true).grant(120, 149, "b", 0).grant(149, 150, "c", 2)},
		{name: "over too early for the renewal", ops: h().grant(0, 1, "a", 1).renew(50, 60, "a", true).grant(120, 149, "b", 2), bad: true},
		{name: "a renewal that was lost", ops: h().grant(0, 1, "a", 1).renew(50, 60, "a", true).lost().grant(120, 130, "b", 0).grant(131, 132, "c", 2)},
		{name: "renewal by a stranger", ops: h().grant(0, 1, "a", 1).renew(50, 60, "b", false).renew(60, 70, "b", true), bad: true},
		{name: "renewal refused to the holder", ops: h().grant(0, 1, "a", 1).renew(50, 60, "a", false), bad: true},
		{name: "renewed behind its end", ops: h().grant(0, 1, "a", 1).holder(100, 101, "").renew(102, 103, "a", true), bad: true},
		{
			name: "two leases need the time of two",
			ops:  h().grant(0, 150, "a", 1).grant(0, 150, "b", 2).grant(0, 199, "c", 3), bad: true,
		},
		{name: "two leases have the time of two", ops: h().grant(0, 150, "a", 1).grant(0, 150, "b", 2).grant(0, 200, "c", 3)},

		{name: "release of another's", ops: h().grant(0, 1, "a", 1).release(2, 3, "b", true), bad: true},
		{name: "release refused to the holder", ops: h().grant(0, 1, "a", 1).release(2, 3, "a", false), bad: true},
		{name: "released twice", ops: h().grant(0, 1, "a", 1).release(2, 3, "a", true).release(4, 5, "a", true), bad: true},
		{name: "release by a stranger", ops: h().grant(0, 1, "a", 1).release(2, 3, "b", false).holder(4, 5, "a")},

		{name: "stale read", ops: h().grant(0, 1, "a", 1).release(2, 3, "a", true).holder(4, 5, "a"), bad: true},
		{name: "stale read of nobody", ops: h().grant(0, 1, "a", 1).holder(2, 3, ""), bad: true},
		{name: "a read of what comes", ops: h().holder(0, 3, "a").grant(2, 5, "a", 1)},
		{name: "reads that go back", ops: h().grant(0, 9, "a", 1).holder(1, 2, "a").holder(3, 4, ""), bad: true},

		{name: "same token", ops: h().grant(0, 1, "a", 1).release(2, 3, "a", true).grant(4, 5, "b", 1), bad: true},
		{name: "its token", ops: h().grant(0, 1, "a", 7).token(2, 3, "a", 7).token(4, 5, "b", 0)},
		{name: "another token", ops: h().grant(0, 1, "a", 7).token(2, 3, "a", 8), bad: true},
		{name: "no token for the holder", ops: h().grant(0, 1, "a", 7).token(2, 3, "a", 0), bad: true},

		{name: "a lost grant that was none", ops: h().grant(0, 1, "a", 1).lost().grant(2, 3, "b", 1)},
		{name: "a lost grant that was one", ops: h().grant(0, 1, "a", 1).lost().grant(2, 3, "b", 0).token(4, 5, "a", 3)},
		{name: "a lost grant that comes late", ops: h().grant(0, 1, "a", 1).lost().holder(2, 3, "").grant(4, 5, "b", 0)},
		{name: "a lost grant explains one holder", ops: h().grant(0, 1, "a", 1).lost().grant(2, 3, "b", 4).grant(4, 5, "c", 5), bad: true},
		{
			name: "the token of a lost grant is above the last", bad: true,
			ops: h().grant(0, 1, "a", 5).release(2, 3, "a", true).grant(4, 5, "b", 1).lost().token(6, 7, "b", 4),
		},
		{name: "a lost release", ops: h().grant(0, 1, "a", 1).release(2, 3, "a", true).lost().holder(4, 5, "a").grant(6, 7, "b", 2)},
		{
			name: "a lost release is one", bad: true,
			ops: h().grant(0, 1, "a", 1).release(2, 3, "a", true).lost().grant(4, 5, "b", 2).grant(6, 7, "c", 3),
		},
		{name: "a lost read says nothing", ops: h().grant(0, 1, "a", 1).holder(2, 3, "").lost()},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			found := Check(tc.ops, time.Minute)
			if len(found) > 0 != tc.bad {
				t.Fatalf("found %v, want bad: %v", found, tc.bad)
			}
			if tc.bad && (found[0].Undecided || !strings.Contains(found[0].Report, "operations have an order")) {
				t.Errorf("report %+v", found[0])
			}
		})
	}
}

// TestLocksAreJudgedOneByOne: an order for each lock is an order for all of them, so one bad lock is named alone.
func TestLocksAreJudgedOneByOne(t *testing.T) {
	ops := script{}.grant(0, 1, "a", 1).grant(2, 3, "b", 2)
	ops[1].Key = "other"
	if found := Check(ops, time.Minute); len(found) != 0 {
		t.Errorf("two locks were taken for one: %v", found)
	}
	ops = ops.grant(4, 5, "c", 3)
	if found := Check(ops, time.Minute); len(found) != 1 || found[0].Key != "k" {
		t.Errorf("found %v, want lock k", found)
	}
}

// TestManyUnknownOutcomes: the search stays short although every lost operation may have been executed at any time.
func TestManyUnknownOutcomes(t *testing.T) {
	var ops script
	token := int64(0)
	for at := 0; at < 20000; at += 10 {
		owner := fmt.Sprint("o", at)
		if at%1000 == 0 {
			ops = ops.grant(at, at+1, "lost-"+owner, 1).lost().release(at+1, at+2, "lost-"+owner, false).lost()
		}
		token++
		ops = ops.grant(at+3, at+5, owner, token).holder(at+4, at+6, owner).release(at+7, at+8, owner, true)
	}
	if found := Check(ops, time.Minute); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}
