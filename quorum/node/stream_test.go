package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/tally"
)

func TestOperationsTakePlaceInTheOrderOfSend(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, nil)
	const count = 3000
	all := make([]pending, count)
	for i := range all {
		all[i] = begin(n, command(fmt.Sprintf("RPUSH list %d", i)), nil)
	}
	for i, p := range all {
		if o := p.wait(t); o.Reason != "" || o.Answer.Reply.Int() != int64(i+1) {
			t.Fatalf("operation %d: %+v", i, o)
		}
	}
}

// TestSendNeverWaits sends more than the socket of a paused server takes.
func TestSendNeverWaits(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, func(o *Options) { o.ReadTimeout, o.StallAfter = time.Minute, time.Minute })
	wantReply(t, n, "SET k 1", "OK")
	server.Pause()
	large := begin(n, command("SET k "+strings.Repeat("x", 32<<20)), nil)
	next := begin(n, command("STRLEN k"), nil)
	server.Resume()
	if o := large.wait(t); o.Reason != "" {
		t.Errorf("%+v", o)
	}
	if o := next.wait(t); o.Reason != "" || o.Answer.Reply.Int() != 32<<20 {
		t.Errorf("%+v", o)
	}
}

// TestMoreIsWrittenWithWhatFollows sends to an idle node what waits for the next.
func TestMoreIsWrittenWithWhatFollows(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, nil)
	wantReply(t, n, "SET k 1", "OK")
	stream := n.stream(0)
	idle := func() bool { stream.mu.Lock(); defer stream.mu.Unlock(); return !stream.busy }
	harness.Eventually(t, patience, idle)
	first := begin(n, command("RPUSH list 1"), func(s *quorum.Sending) { s.More = true })
	if !idle() {
		t.Error("it was not kept for what follows")
	}
	second := begin(n, command("RPUSH list 2"), nil)
	for i, p := range []pending{first, second} {
		if o := p.wait(t); o.Reason != "" || o.Answer.Reply.Int() != int64(i+1) {
			t.Errorf("operation %d: %+v", i, o)
		}
	}
}

// TestAnIdleConnectionThatIsCutIsReplaced has nothing sent at all.
func TestAnIdleConnectionThatIsCutIsReplaced(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, func(o *Options) { o.ReadTimeout = time.Second })
	wantReply(t, n, "SET k 1", "OK")
	stream := n.stream(0)
	present := func() *connection { stream.mu.Lock(); defer stream.mu.Unlock(); return stream.conn }
	first := present()
	disarmed := func() bool { stream.mu.Lock(); defer stream.mu.Unlock(); return !stream.armed }
	harness.Eventually(t, patience, disarmed)
	wantReply(t, n, "GET k", "1")
	if present() != first {
		t.Error("an idle connection timed out")
	}
	harness.Dial(t, server.Addr).Send("CLIENT", "KILL", "TYPE", "normal")
	harness.Eventually(t, patience, func() bool { c := present(); return c != nil && c != first })
	wantReply(t, n, "GET k", "1")
}

func TestDatabasesAreApart(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, nil)
	begin(n, command("SET k five"), func(s *quorum.Sending) { s.DB = 5 }).wait(t)
	wantReply(t, n, "GET k", "")
	o := begin(n, command("GET k"), func(s *quorum.Sending) { s.DB = 5 }).wait(t)
	if o.Reason != "" || o.Answer.Reply.Str != "five" {
		t.Fatalf("%+v", o)
	}
}

// TestWhatWaitsBehindAPausedServer holds one answer back, so that all else waits in the queue.
func TestWhatWaitsBehindAPausedServer(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, func(o *Options) { o.Queue = 3; o.ReadTimeout = time.Minute })
	wantReply(t, n, "SET k 1", "OK")
	server.Pause()
	first := begin(n, command("RPUSH l first"), nil)
	stream := n.stream(0)
	harness.Eventually(t, patience, func() bool { return stream.owing.Load() != 0 })
	withdrawn := begin(n, command("RPUSH l withdrawn"), func(s *quorum.Sending) { s.Withdrawn = func() bool { return true } })
	late := begin(n, command("RPUSH l late"), func(s *quorum.Sending) { s.Deadline = n.o.Clock.Now() + 1 })
	second := begin(n, command("RPUSH l second"), nil)
	full := begin(n, command("RPUSH l full"), nil)
	ahead := begin(n, command("RPUSH l ahead"), func(s *quorum.Sending) { s.Ahead = true })
	wantOutcome(t, full, reasonFull, false)
	server.Resume()
	wantOutcome(t, withdrawn, reasonWithdrawn, false)
	wantOutcome(t, late, reasonLate, false)
	for i, p := range []pending{first, ahead, second} {
		if o := p.wait(t); o.Reason != "" || o.Answer.Reply.Int() != int64(i+1) {
			t.Errorf("operation %d of the list: %+v", i, o)
		}
	}
}

func wantOutcome(t *testing.T, p pending, reason tally.Reason, ran bool) {
	t.Helper()
	if o := p.wait(t); o.Reason != reason || o.Ran != ran {
		t.Errorf("got reason %q, ran %v, want %q, %v", o.Reason, o.Ran, reason, ran)
	}
}

// TestAnAbandonedConnectionExecutesNothingMore is C4 of the quorum review: the relay holds what was written to the old
// connection until the new one stands.
func TestAnAbandonedConnectionExecutesNothingMore(t *testing.T) {
	server := harness.StartRedis(t)
	relay := startRelay(t, server.Addr)
	n := openNode(t, relay.addr(), func(o *Options) { o.ReadTimeout, o.LookEvery = 300*time.Millisecond, time.Hour })
	harness.Eventually(t, patience, func() bool { return n.Facts().Look > 0 })
	wantReply(t, n, "SET k 1", "OK")
	relay.holdPresent(toServer)
	wantOutcome(t, begin(n, command("SET orphan 1"), nil), reasonTimeout, true)
	harness.Eventually(t, patience, func() bool { return do(t, n, "GET k").Reason == "" })
	relay.release(toServer)
	harness.Eventually(t, patience, func() bool { return relay.over() >= 2 })
	wantReply(t, n, "GET orphan", "")
}

func TestARestartedServerIsFoundBeforeAnythingIsWritten(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, nil)
	wantReply(t, n, "SET k 1", "OK")
	server.Restart()
	o := do(t, n, "SET k 2")
	if o.Ran || (o.Reason != "" && o.Reason != reasonRefused && o.Reason != reasonLost) {
		t.Fatalf("%+v", o)
	}
	harness.Eventually(t, patience, func() bool { return do(t, n, "SET k 3").Reason == "" })
}

// TestABusyConnectionIsKept works on one connection for longer than the deadlines that were set when it was opened.
func TestABusyConnectionIsKept(t *testing.T) {
	const timeout = 2 * time.Second
	n := openNode(t, harness.StartRedis(t).Addr, func(o *Options) { o.ReadTimeout = timeout })
	for began := time.Now(); time.Since(began) < timeout*5/4; {
		wantReply(t, n, "SET k 1", "OK")
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	server := harness.StartRedis(t)
	server.Kill()
	n := openNode(t, server.Addr, nil)
	wantOutcome(t, begin(n, command("SET k 1"), nil), reasonRefused, false)
	harness.Eventually(t, patience, func() bool {
		s, reason := n.Standing()
		return s == quorum.Down && reason == reasonRefused
	})
	server.Restart()
	harness.Eventually(t, patience, func() bool { return do(t, n, "SET k 1").Reason == "" })
}

func TestOneWayCut(t *testing.T) {
	for name, direction := range map[string]int{"to the server": toServer, "to the client": toClient} {
		t.Run(name, func(t *testing.T) {
			server := harness.StartRedis(t)
			relay := startRelay(t, server.Addr)
			n := openNode(t, relay.addr(), func(o *Options) { o.ReadTimeout = 200 * time.Millisecond; o.DialTimeout = 200 * time.Millisecond })
			wantReply(t, n, "SET k 1", "OK")
			relay.holdAll(direction)
			wantOutcome(t, begin(n, command("SET k 2"), nil), reasonTimeout, true)
			wantStanding(t, n, quorum.Down)
			relay.release(direction)
			harness.Eventually(t, patience, func() bool { return do(t, n, "GET k").Reason == "" })
		})
	}
}

func TestFlushedScriptsAreLoadedAgain(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, nil)
	wantReply(t, n, "SET k 1", "OK")
	harness.Dial(t, server.Addr).Want("OK", "SCRIPT", "FLUSH")
	wantOutcome(t, begin(n, command("GET k"), nil), reasonFlushed, false)
	wantReply(t, n, "GET k", "1")
}

// TestABusyServerIsFreed runs a script that never ends, which the node must kill for itself.
func TestABusyServerIsFreed(t *testing.T) {
	server := harness.StartRedis(t, "--busy-reply-threshold", "200")
	n := openNode(t, server.Addr, func(o *Options) { o.LookEvery = 100 * time.Millisecond; o.ReadTimeout = time.Minute })
	o := begin(n, script("while true do end"), nil).wait(t)
	if o.Reason != reasonReply || !o.Ran {
		t.Errorf("%+v", o)
	}
	wantReply(t, n, "SET k 1", "OK")
}

func TestAnothersBusyScriptIsLeftAlone(t *testing.T) {
	server := harness.StartRedis(t, "--busy-reply-threshold", "50")
	n := openNode(t, server.Addr, func(o *Options) { o.LookEvery = 50 * time.Millisecond })
	other := harness.Dial(t, server.Addr)
	other.Send("EVAL", "while true do end", "0")
	harness.Eventually(t, patience, func() bool { s, reason := n.Standing(); return s == quorum.Down && reason == refusals["BUSY"] })
	looks := n.Facts().Look
	harness.Eventually(t, patience, func() bool { return n.Facts().Look > looks+3 })
	if !other.Silent(10 * time.Millisecond) {
		t.Error("a script that is not ours was killed")
	}
	harness.Dial(t, server.Addr).Want("OK", "SCRIPT", "KILL")
}

func TestCloseAnswersEverything(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, func(o *Options) { o.ReadTimeout = time.Minute })
	wantReply(t, n, "SET k 1", "OK")
	server.Pause()
	written := begin(n, command("SET k 2"), nil)
	stream := n.stream(0)
	harness.Eventually(t, patience, func() bool { return stream.owing.Load() != 0 })
	waiting := begin(n, command("SET k 3"), nil)
	n.Close()
	if o := written.wait(t); o.Reason == "" || !o.Ran {
		t.Errorf("%+v", o)
	}
	wantOutcome(t, waiting, reasonClosed, false)
	wantOutcome(t, begin(n, command("SET k 4"), nil), reasonClosed, false)
}

func TestPasswordsAppearNowhere(t *testing.T) {
	server := harness.StartRedis(t, "--requirepass", "right")
	var log strings.Builder
	for _, url := range []string{"redis://:s3cret@" + server.Addr, "redis://user:s3cret@" + server.Addr + "/2", "redis://:s3cret@bad host", "http://:s3cret@x", "redis://:s3cret@h:1?x=1"} {
		n, err := open(Options{URL: url, Clock: newClock()}, plain)
		if err != nil {
			fmt.Fprintln(&log, err)
			continue
		}
		fmt.Fprintln(&log, n.Name(), do(t, n, "GET k").Reason)
		n.Close()
	}
	if strings.Contains(log.String(), "s3cret") || strings.Count(log.String(), "\n") != 5 {
		t.Errorf("log:\n%s", log.String())
	}
	if !strings.Contains(log.String(), string(refusals["WRONGPASS"])) {
		t.Errorf("no word about the password:\n%s", log.String())
	}
	n := openNode(t, server.Addr, func(o *Options) { o.URL = "redis://:right@" + server.Addr })
	wantReply(t, n, "SET k 1", "OK")
}

// TestASlowNode has answers come half a second late: they are delivered, and deadlines still hold on the node.
func TestASlowNode(t *testing.T) {
	server := harness.StartRedis(t)
	relay := startRelay(t, server.Addr)
	n := openNode(t, relay.addr(), func(o *Options) { o.LookEvery = time.Hour })
	wantReply(t, n, "SET k 1", "OK")
	relay.holdAll(toServer)
	late := begin(n, command("SET k late"), func(s *quorum.Sending) { s.Deadline = n.o.Clock.Now() + 50*time.Millisecond })
	stream := n.stream(0)
	harness.Eventually(t, patience, func() bool { return stream.owing.Load() != 0 })
	slow := begin(n, command("SET k slow"), nil)
	passed := time.NewTimer(500 * time.Millisecond)
	<-passed.C
	relay.release(toServer)
	wantOutcome(t, late, reasonLate, false)
	if o := slow.wait(t); o.Reason != "" {
		t.Errorf("%+v", o)
	}
	wantReply(t, n, "GET k", "slow")
	if s, _ := n.Standing(); s == quorum.Down {
		t.Error("a slow node is down")
	}
}
