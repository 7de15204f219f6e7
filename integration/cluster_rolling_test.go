package integration

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redfence/redfence/integration/harness"
)

// TestRollingRestartUnderLoad restarts one member after the other, twice, while clients on all of them count and renew locks. Who
// asks again after TRYAGAIN and CLUSTERDOWN, and goes to another node when a connection ends, sees no other error; a command
// that was not answered was not executed; and no lock is lost.
func TestRollingRestartUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out restarts")
	}
	c := harness.StartCluster(t, 3)
	voters(t, c.Members[0], 3)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	var counted atomic.Int64
	holders := make([]*holder, 6)
	for i := range holders {
		h := &holder{worker: worker{t: t, c: c, name: fmt.Sprint("holder-", i), at: i}}
		holders[i] = h
		clients.Go(func() {
			defer h.hangUp()
			h.take()
			for !ended(stop) {
				h.renew(&counted)
			}
		})
	}
	progress := func() {
		t.Helper()
		before := counted.Load()
		harness.Eventually(t, clusterPatience, func() bool { return counted.Load() > before+100 })
	}
	for range 2 {
		for i := range c.Members {
			progress()
			if code := c.Members[i].Stop(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			c.Members[i].Start()
			voters(t, c.Members[i], 3)
		}
	}
	progress()
	close(stop)
	clients.Wait()
	judge := &worker{t: t, c: c, name: "judge"}
	defer judge.hangUp()
	if got := judge.counter(); got != counted.Load() {
		t.Errorf("the counter is %d, acknowledged are %d", got, counted.Load())
	}
	for _, h := range holders {
		if got, _ := judge.must("FENCE", h.name, h.name).Int(); got != h.token {
			t.Errorf("%s has token %d, was granted %d", h.name, got, h.token)
		}
	}
	t.Logf("%d increments", counted.Load())
}

// holder keeps a lock of its own.
type holder struct {
	worker
	token int64
}

func (h *holder) take() {
	for h.token == 0 {
		h.token, _ = h.must("SET", h.name, h.name, "NX", "PX", "600000", "FENCE").Int()
	}
}

// renew extends the lock and counts.
func (h *holder) renew(counted *atomic.Int64) {
	const extend = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], 600000) end return 0"
	if got := h.must("EVAL", extend, "1", h.name, h.name); !isOne(got) {
		h.t.Errorf("renewing %s: %v", h.name, got)
	}
	if r := h.must("INCR", "counter"); isInt(r) {
		counted.Add(1)
	} else {
		h.t.Errorf("counting: %v", r)
	}
}

func isInt(r harness.Reply) bool {
	_, ok := r.Int()
	return ok
}

func isOne(r harness.Reply) bool {
	n, ok := r.Int()
	return ok && n == 1
}
