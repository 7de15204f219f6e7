package node

import (
	"reflect"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/quorum"
	"github.com/redfence/redfence/quorum/runner"
)

func TestFactsOfAServer(t *testing.T) {
	server := harness.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "100mb", "--databases", "4")
	c := harness.Dial(t, server.Addr)
	c.Want("OK", "SET", "immortal", "1")
	c.Want("OK", "SET", "mortal", "1", "PX", "100000")
	c.Want("OK", "SET", runner.CanaryKey, "c0")
	c.Want("OK", "SELECT", "3")
	c.Want("OK", "SET", "immortal", "1")
	n := openNode(t, server.Addr, nil)
	harness.Eventually(t, patience, func() bool { return n.Facts().Look > 0 })
	f := n.Facts()
	f.Began, f.Latency, f.Offset, f.Version = 0, 0, 0, ""
	if len(f.RunID) != 40 || len(f.Canaries) != 4 || f.Canaries[0] != "c0" || f.Canaries[3] != "" {
		t.Errorf("%+v", f)
	}
	want := quorum.Facts{
		Look: 1, RunID: f.RunID, Role: "master", Policy: "noeviction", MaxMemory: 100 << 20,
		Always: true, Keys: 3, Immortal: 2, Canaries: f.Canaries, Others: []string{},
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("got  %+v\nwant %+v", f, want)
	}
}

func TestVerdictsAreVoidedWithoutBeingAsked(t *testing.T) {
	cases := map[string]struct {
		args  []string
		event func(t *testing.T, s *harness.Server)
		// What the first answer after it may be: taken as no answer, or marked.
		noAnswer bool
	}{
		"FLUSHALL": {event: func(t *testing.T, s *harness.Server) {
			harness.Dial(t, s.Addr).Want("OK", "FLUSHALL")
		}, noAnswer: true},
		"the canary deleted": {event: func(t *testing.T, s *harness.Server) {
			harness.Dial(t, s.Addr).Want("(integer) 1", "DEL", runner.CanaryKey)
		}, noAnswer: true},
		"restarted empty": {event: func(_ *testing.T, s *harness.Server) { s.Kill(); s.Restart() }},
		"restarted with an old dump": {event: func(t *testing.T, s *harness.Server) {
			harness.Dial(t, s.Addr).Want("OK", "SAVE")
			s.Kill()
			s.Restart()
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			server := harness.StartRedis(t, c.args...)
			n := openNode(t, server.Addr, func(o *Options) { o.LookEvery = time.Hour })
			wantReply(t, n, "SET k v", "OK")
			admit(t, n, server, "canary")
			wantMarked(t, do(t, n, "GET k"), false)
			c.event(t, server)
			o := do(t, n, "GET k")
			for o.Reason == reasonLost || o.Reason == reasonRefused {
				o = do(t, n, "GET k")
			}
			if c.noAnswer {
				if o.Reason != reasonForgot || o.Ran {
					t.Fatalf("%+v", o)
				}
				o = do(t, n, "GET k")
			}
			wantMarked(t, o, true)
			wantStanding(t, n, quorum.Quarantined)

			admit(t, n, server, "canary2")
			wantMarked(t, do(t, n, "GET k"), false)
			wantStanding(t, n, quorum.Counted)
		})
	}
}

func wantMarked(t *testing.T, o quorum.Outcome, marked bool) {
	t.Helper()
	if o.Reason != "" || o.Answer.Quarantined != marked {
		t.Fatalf("%+v %+v, want marked: %v", o, o.Answer, marked)
	}
}

// TestAnOldVerdictDoesNotClearANewSuspicion judges by facts from before a FLUSHALL.
func TestAnOldVerdictDoesNotClearANewSuspicion(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, func(o *Options) { o.LookEvery = time.Hour })
	admit(t, n, server, "canary")
	old := n.judged.Load().Verdict
	wantMarked(t, do(t, n, "GET k"), false)
	harness.Dial(t, server.Addr).Want("OK", "FLUSHALL")
	wantOutcome(t, begin(n, command("GET k"), nil), reasonForgot, false)
	n.Judge(old)
	wantStanding(t, n, quorum.Quarantined)
	wantMarked(t, do(t, n, "GET k"), true)
}

func TestAStepOfTheClockMarksThatVeryAnswer(t *testing.T) {
	server := harness.StartRedis(t)
	n := openNode(t, server.Addr, func(o *Options) { o.LookEvery = time.Hour })
	admit(t, n, server, "canary")
	wantMarked(t, do(t, n, "SET k v"), false)
	n.clock.mu.Lock() // as if the node had been an hour behind until now
	for _, b := range []*bounds{&n.clock.now, &n.clock.last} {
		b.low, b.high = b.low-time.Hour, b.high-time.Hour
	}
	n.clock.mu.Unlock()
	wantMarked(t, begin(n, command("SET k v"), func(s *quorum.Sending) { s.Deadline = 0 }).wait(t), true)
	harness.Eventually(t, patience, func() bool { return n.Facts().Steps == 1 })
	wantStanding(t, n, quorum.Quarantined)
}
