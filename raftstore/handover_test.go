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
	h.heldBack = time.Hour
	never := func(waiting) bool { t.Error("nobody is to be put into the queue"); return true }
	h.hold(w, resp.Value{}, never)
	h.follow(k, w.since, never)
	h.settled(k)
	w.call.Done = func(commands.Result) {}
	a, _ := h.hold(w, resp.Value{}, never)
	if a == nil {
		t.Fatal("the attempt was not held back")
	}
	defer a.lock.timer.Stop()
	taken, queued, returned := make(chan bool), make(chan bool), make(chan bool)
	go h.follow(k, w.since, func(waiting) bool {
		close(taken)
		select {
		case <-returned: // too early
		case <-time.After(50 * time.Millisecond):
			close(queued)
		}
		return true
	})
	<-taken
	h.release(a, never)
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
	finish := func(w waiting) bool { w.finish(commands.Result{}); return true }
	for i := range 2 * maxContended {
		name := "order" + strconv.Itoa(i)
		done := make(chan struct{})
		w := waiting{since: time.Now(), stream: st, call: &commands.Call{
			Requests: []*commands.Request{request(t, "SET", name, "me", "NX")},
			Done:     func(commands.Result) { close(done) },
		}}
		h.hold(w, resp.Value{}, finish)
		h.follow(lockKey{0, name}, w.since, finish)
		h.settled(lockKey{0, name})
		a, _ := h.hold(w, resp.Value{}, finish)
		switch {
		case a == nil:
			t.Fatal("not held back")
		case i%2 == 0:
			h.release(a, finish)
		case i%512 == 1:
			<-done // by its timer
		default:
			h.follow(lockKey{0, name}, w.since, finish)
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

// TestAnAttemptBehindAReleaseIsNotHeldBack: the release is in the log already, so to wait for the next one would leave the lock
// to nobody.
func TestAnAttemptBehindAReleaseIsNotHeldBack(t *testing.T) {
	h := newHandOver(time.Minute, time.Hour)
	k := lockKey{0, "lock"}
	defer func() { h.locks[k].timer.Stop() }()
	w := waiting{
		since: time.Now(), stream: &Stream{},
		call: &commands.Call{Requests: []*commands.Request{request(t, "SET", "lock", "me", "NX")}},
	}
	queued := 0
	enqueue := func(waiting) bool { queued++; return true }
	hold := func() (held, behind bool) {
		a, behind := h.hold(w, resp.Value{}, enqueue)
		return a != nil, behind
	}
	hold() // now it is known to be contended
	h.follow(k, w.since, enqueue)
	steps := []struct {
		name         string
		before       func()
		held, behind bool
	}{
		{"the first is put behind the release", func() {}, false, true},
		{"the next one waits for the first", func() {}, true, false},
		{"and follows a release", func() { h.follow(k, w.since, enqueue) }, true, false},
		{"a release that is applied has been seen", func() {
			h.follow(k, w.since, enqueue) // takes the one that is held back
			h.follow(k, w.since, enqueue)
			for range 4 {
				h.settled(k)
			}
		}, true, false},
	}
	for _, tt := range steps {
		tt.before()
		if held, behind := hold(); held != tt.held || behind != tt.behind {
			t.Errorf("%s: held back %v, put into the queue %v", tt.name, held, behind)
		}
	}
	if queued != 3 {
		t.Errorf("%d were put into the queue, want 3", queued)
	}
}

// TestHowLongALockIsHot: as long as a few changes take, between bounds.
func TestHowLongALockIsHot(t *testing.T) {
	tests := []struct {
		name      string
		gap, want time.Duration
	}{
		{"fast", time.Millisecond, hotFor},
		{"slow", 10 * time.Millisecond, 40 * time.Millisecond},
		{"very slow", time.Second, maxHotFor},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, k, now := newHandOver(hotFor, heldBack), lockKey{0, "lock"}, time.Now()
			h.remember(k)
			for range 100 {
				now = now.Add(tt.gap)
				h.follow(k, now, nil)
			}
			if got := h.locks[k].hotFor(hotFor).Round(time.Millisecond); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// TestDueTogether: attempts that are due at about the same time are refused by one go of the timer, and no others.
func TestDueTogether(t *testing.T) {
	h, now := newHandOver(hotFor, time.Hour), time.Now()
	lock := &contention{changed: now}
	h.locks[lockKey{0, "lock"}] = lock
	for _, minutes := range []int{0, 10, 14, 16, 59} {
		lock.attempts = append(lock.attempts, &attempt{lock: lock, due: now.Add(time.Duration(minutes) * time.Minute)})
	}
	lock.attempts[1].take() // by who has put it into the queue
	for i, tt := range []struct {
		at          time.Duration
		taken, left int
	}{{-time.Minute, 0, 5}, {0, 2, 2}, {15 * time.Minute, 0, 2}, {16 * time.Minute, 1, 1}} {
		if n := len(h.due(lock, now.Add(tt.at))); n != tt.taken || len(lock.attempts) != tt.left {
			t.Errorf("step %d: %d are refused and %d are left, want %d and %d", i, n, len(lock.attempts), tt.taken, tt.left)
		}
	}
	lock.timer.Stop()
}
