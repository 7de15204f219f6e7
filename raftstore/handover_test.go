package raftstore

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// TestHandOver lets many sessions contend for one lock, which then changes hands in one entry of the log. They are held
// back for long, so that a busy machine makes no difference.
func TestHandOver(t *testing.T) {
	cfg := untimed(t)
	cfg.hotFor, cfg.heldBack = time.Minute, 100*time.Millisecond
	s := open(t, cfg)
	const sessions, grants = 16, 40
	releases := []func(me string) []string{
		func(string) []string { return []string{"DEL", "lock"} },
		func(me string) []string { return []string{"DELEX", "lock", "IFEQ", me} },
	}
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
				if do(t, st, releases[i%2](me)...).Reply.Int() != 1 {
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

// TestReleaseWaitsForTheQueue shows that a session which finds its attempt taken can rely on its place in the queue.
func TestReleaseWaitsForTheQueue(t *testing.T) {
	h := newHandOver(hotFor, heldBack)
	k := lockKey{0, "lock"}
	w := waiting{
		since: time.Now(), stream: &Stream{},
		call: &commands.Call{Requests: []*commands.Request{request(t, "SET", "lock", "me", "NX")}},
	}
	h.hold(w, resp.Value{})
	h.follow(k, w.since, func(waiting) { t.Error("nobody waits yet") })
	w.call.Done = func(commands.Result) {}
	a := h.hold(w, resp.Value{})
	for a != nil && !a.timer.Stop() { // it was answered already: a busy machine
		a = h.hold(w, resp.Value{})
	}
	if a == nil {
		t.Fatal("the attempt was not held back")
	}
	taken, queued, returned := make(chan bool), make(chan bool), make(chan bool)
	go h.follow(k, w.since, func(waiting) {
		close(taken)
		select {
		case <-returned: // too early
		case <-time.After(50 * time.Millisecond):
			close(queued)
		}
	})
	<-taken
	h.release(a, func(waiting) { t.Error("put into the queue twice") })
	select {
	case <-queued:
	default:
		t.Error("the session went on before its attempt had a place in the queue")
	}
	close(returned)
}

// TestASessionsOrderSurvivesAHandOver has one session put more behind an attempt while another releases the lock.
func TestASessionsOrderSurvivesAHandOver(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	owner, other := s.Open(), s.Open()
	for round := range 300 {
		do(t, owner, "SET", "lock", "owner")
		do(t, other, "SET", "lock", "other", "NX")
		do(t, owner, "PEXPIRE", "lock", "60000")
		released := make(chan struct{})
		replies := make(chan commands.Result, 2)
		submit := func(line ...string) {
			other.Submit(&commands.Call{
				Requests: []*commands.Request{request(t, line...)},
				Done:     func(r commands.Result) { replies <- r },
			})
		}
		submit("SET", "lock", "other", "NX", "FENCE")
		go func() {
			do(t, owner, "DEL", "lock")
			close(released)
		}()
		submit("DEL", "lock") // if the attempt was granted, this must release it
		granted := (<-replies).Reply
		<-replies
		<-released
		if got := do(t, owner, "GET", "lock").Reply; !got.IsNull() {
			t.Fatalf("round %d: granted %+v, and the release behind it came first: %+v", round, granted, got)
		}
	}
}

// TestHandOverForgetsWhatIsSettled has attempts on many locks that nobody touches again.
func TestHandOverForgetsWhatIsSettled(t *testing.T) {
	h := newHandOver(hotFor, heldBack)
	st := &Stream{store: &Store{machine: newMachine(DefaultConfig("").Scripts)}}
	for i := range 2 * maxContended {
		name := "order" + strconv.Itoa(i)
		done := make(chan struct{})
		w := waiting{since: time.Now(), stream: st, call: &commands.Call{
			Requests: []*commands.Request{request(t, "SET", name, "me", "NX")},
			Done:     func(commands.Result) { close(done) },
		}}
		h.hold(w, resp.Value{})
		h.follow(lockKey{0, name}, w.since, func(waiting) {})
		a := h.hold(w, resp.Value{})
		switch {
		case a == nil:
			t.Fatal("not held back")
		case i%2 == 0:
			h.release(a, func(w waiting) { w.finish(commands.Result{}) })
		case i%512 == 1:
			<-done // by its timer
		default:
			h.follow(lockKey{0, name}, w.since, func(w waiting) { w.finish(commands.Result{}) })
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, lock := range h.locks {
		if len(lock.attempts) > 0 {
			t.Errorf("%v: %d settled attempts are kept", k, len(lock.attempts))
		}
	}
	if len(h.locks) > maxContended {
		t.Errorf("%d locks are remembered", len(h.locks))
	}
}

// TestAParkedAttemptIsGrantedInTurn parks two attempts on a lock that is held, and releases it.
func TestAParkedAttemptIsGrantedInTurn(t *testing.T) {
	cfg := untimed(t)
	cfg.Park = settle
	s := open(t, cfg)
	owner := s.Open()
	do(t, owner, "SET", "lock", "owner")
	do(t, owner, "SET", "lock", "owner", "NX") // refused, so the lock is known to be contended
	do(t, owner, "PEXPIRE", "lock", "600000")  // and changes
	replies := make(chan string)
	for _, name := range []string{"first", "second"} {
		s.Open().Submit(&commands.Call{
			Requests: []*commands.Request{request(t, "SET", "lock", name, "NX")},
			Done:     func(r commands.Result) { replies <- name + " " + r.Reply.Str },
		})
	}
	gone := s.Open()
	gone.Submit(&commands.Call{Requests: []*commands.Request{request(t, "SET", "lock", "gone", "NX")}, Done: func(commands.Result) {}})
	gone.Close()
	for _, name := range []string{"first", "second"} {
		do(t, owner, "DEL", "lock")
		if got := <-replies; got != name+" OK" {
			t.Errorf("%q, want %s to have the lock", got, name)
		}
	}
	do(t, owner, "DEL", "lock")
	if v := do(t, owner, "GET", "lock").Reply; !v.IsNull() {
		t.Errorf("a session that is over was given the lock: %+v", v)
	}
}
