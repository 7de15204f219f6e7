package raftstore

import (
	"strconv"
	"sync"
	"testing"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// TestHandOver lets many sessions contend for one lock, which then changes hands in one entry of the log.
func TestHandOver(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	const sessions, grants = 16, 40
	var holders, overlaps sync.Map
	var wait sync.WaitGroup
	for i := range sessions {
		wait.Go(func() {
			st, me := s.Open(), strconv.Itoa(i)
			for range grants {
				for do(t, st, "SET", "lock", me, "NX", "PX", "60000").Reply.IsNull() {
				}
				if other, held := holders.LoadOrStore("lock", me); held {
					overlaps.Store(other, me)
				}
				holders.Delete("lock")
				if do(t, st, "DEL", "lock").Reply.Int() != 1 {
					overlaps.Store(me, "lost it")
				}
			}
		})
	}
	wait.Wait()
	overlaps.Range(func(a, b any) bool {
		t.Errorf("two holders: %v and %v", a, b)
		return true
	})
	entries := s.Stats().Entries
	t.Logf("%d log entries for %d grants and as many releases", entries, sessions*grants)
	if entries > 2*sessions*grants*9/10 {
		t.Errorf("%d log entries for %d grants: locks were not handed over", entries, sessions*grants)
	}
}

// TestHeldBackAttemptKeepsItsPlace submits more behind an attempt that is held back: it must not be overtaken.
func TestHeldBackAttemptKeepsItsPlace(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	owner, other := s.Open(), s.Open()
	for round := range 200 {
		name := "lock" + strconv.Itoa(round%3)
		do(t, owner, "SET", name, "owner")
		do(t, other, "SET", name, "other", "NX") // refused, so the lock is known to be contended
		do(t, owner, "PEXPIRE", name, "60000")   // and changes

		replies := make(chan string, 3)
		for _, line := range [][]string{{"SET", name, "other", "NX"}, {"SET", name, "mine"}, {"GET", name}} {
			other.Submit(&commands.Call{Requests: []*commands.Request{request(t, line...)}, Done: func(r commands.Result) {
				replies <- string(resp.Append(nil, r.Reply, resp.RESP2))
			}})
		}
		for _, want := range []string{"$-1\r\n", "+OK\r\n", "$4\r\nmine\r\n"} {
			if got := <-replies; got != want {
				t.Fatalf("round %d: reply %q, want %q", round, got, want)
			}
		}
	}
}
