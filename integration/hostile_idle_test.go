package integration

import (
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

const (
	// slowdown is how many times longer the 99th percentile of a well-behaved
	// client may be on a server under attack than on an idle one.
	slowdown = 10
	// hiccup is the least that an idle server's 99th percentile counts: it is
	// the third worst of the figures, and a busy machine takes a processor away
	// from one of two servers for as long.
	hiccup = 5 * time.Millisecond
)

// sideBySide measures a well-behaved client of a server under attack beside
// another one of an idle server, which has the same machine at the same time.
type sideBySide struct{ attacked, idle *probe }

func besideIdle(t *testing.T, s *harness.Server) sideBySide {
	t.Helper()
	control := harness.StartRedfenceWith(t, harness.Options{NoRace: true})
	c := sideBySide{startProbe(t, s.Addr), startProbe(t, control.Addr)}
	c.during(t, func(<-chan struct{}) error { return nil })
	return c
}

// during runs an attack until it ends by itself, and tells it when the figures
// are there. The client of the attacked server must be served throughout, and
// not much more slowly than that of the idle one.
func (c sideBySide) during(t *testing.T, attack func(enough <-chan struct{}) error) {
	t.Helper()
	idle, enough := c.idle.expect(probeFigures), c.attacked.expect(probeFigures)
	if err := attack(enough); err != nil {
		t.Error(err)
	}
	await(t, enough, "another client's answers")
	await(t, idle, "the idle server's answers")
	p99, worst := c.attacked.p99(t)
	idleP99, idleWorst := c.idle.p99(t)
	t.Logf("p99 %v, worst %v; of an idle server at the same time p99 %v, worst %v", p99, worst, idleP99, idleWorst)
	if p99 > slowdown*max(idleP99, hiccup) {
		t.Errorf("another client's p99 was %v, that of an idle server %v", p99, idleP99)
	}
}
