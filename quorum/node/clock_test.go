package node

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// reading is a look at the node's clock: between two moments of ours it showed node.
type reading struct{ sent, received, node time.Duration }

func TestClockSteps(t *testing.T) {
	start := reading{sent: 10 * ms, received: 12 * ms, node: 1000*time.Second + 11*ms}
	cases := map[string]struct {
		next reading
		step bool
	}{
		"as expected":                    {reading{500 * ms, 502 * ms, 1000*time.Second + 501*ms}, false},
		"a slow answer":                  {reading{500 * ms, 4500 * ms, 1000*time.Second + 4400*ms}, false},
		"a slow answer read early":       {reading{500 * ms, 4500 * ms, 1000*time.Second + 510*ms}, false},
		"an hour forward":                {reading{500 * ms, 502 * ms, 4600*time.Second + 501*ms}, true},
		"an hour back":                   {reading{500 * ms, 502 * ms, -2600 * time.Second}, true},
		"half a second forward":          {reading{500 * ms, 502 * ms, 1000*time.Second + 1001*ms}, true},
		"half a second back":             {reading{500 * ms, 502 * ms, 1000*time.Second + 1*ms}, true},
		"a minute later, 1/2 % too fast": {reading{60 * time.Second, 60*time.Second + 2*ms, 1060*time.Second + 300*ms}, false},
		"a minute later, 2 % too fast":   {reading{60 * time.Second, 60*time.Second + 2*ms, 1061*time.Second + 200*ms}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var clock nodeClock
			if clock.observe(start.sent, start.received, start.node) {
				t.Fatal("the first reading is no step")
			}
			if got := clock.observe(c.next.sent, c.next.received, c.next.node); got != c.step {
				t.Errorf("step: %v, want %v", got, c.step)
			}
			steps, _ := clock.stepsSeen()
			if steps > 0 != c.step {
				t.Errorf("%d steps counted", steps)
			}
			// Whatever happened, the next reading from the same clock is none.
			c.next.sent, c.next.received, c.next.node = c.next.sent+ms, c.next.received+ms, c.next.node+ms
			if clock.observe(c.next.sent, c.next.received, c.next.node) {
				t.Error("a step was counted twice")
			}
		})
	}
}

// TestDeadlinesAreNeverLate: the node's clock is really 1000 s ahead of ours, and no reading makes us think it is more.
func TestDeadlinesAreNeverLate(t *testing.T) {
	const ahead = 1000 * time.Second
	var clock nodeClock
	if clock.atLeast(time.Second) != 0 {
		t.Fatal("a clock never read is not known")
	}
	for i := range 5000 {
		sent := time.Duration(i) * 3 * ms
		there := sent + time.Duration(i%7)*ms/2
		received := there + time.Duration(i%5)*ms
		clock.observe(sent, received, there+ahead)
		deadline := received + 100*ms
		got := clock.atLeast(deadline)
		if got > deadline+ahead || got < deadline+ahead-5*ms {
			t.Fatalf("reading %d: %v off", i, got-deadline-ahead)
		}
	}
}

// TestASuspendedMachineSeesNoStep: our clock stood still for an hour, the nodes' did not.
func TestASuspendedMachineSeesNoStep(t *testing.T) {
	slept := 5 * time.Minute // before
	clock := nodeClock{asleep: func() time.Duration { return slept }, slept: slept}
	read := func(at, node time.Duration) bool { return clock.observe(at, at+ms, node) }
	if read(time.Second, 1000*time.Second) {
		t.Fatal("the first reading is no step")
	}
	slept += time.Hour
	if read(2*time.Second, 1001*time.Second+time.Hour) {
		t.Error("waking up was taken for a step of the node's clock")
	}
	if got := clock.atLeast(3 * time.Second); got < 1001*time.Second+time.Hour || got > 1003*time.Second+time.Hour {
		t.Errorf("the node's clock is thought to show %v", got)
	}
	if !read(3*time.Second, 1002*time.Second+2*time.Hour) {
		t.Error("a step after waking up was not seen")
	}
}
