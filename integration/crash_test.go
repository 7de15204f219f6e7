package integration

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

const (
	crashWorkers = 24
	crashKeys    = 150
	longLease    = 60 * time.Second
	shortLease   = 700 * time.Millisecond
)

// TestKillUnderLoad kills the server (SIGKILL) at a random moment while many
// workers take and give back locks, starts it again and compares what it has
// with what the workers were told: Section "What it must show" of the project's
// first issue. REDFENCE_LONG=1 makes it 20 kills for each log store.
func TestKillUnderLoad(t *testing.T) {
	for _, store := range []string{"wal", "bolt"} {
		t.Run(store, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			s := harness.StartRedfence(t, "--log-store", store)
			sha := harness.Dial(t, s.Addr).Do("SCRIPT", "LOAD", compareAndDelete).Text
			auditor := &audit{t: t, owners: map[int64]string{}}
			for round := range crashRounds() {
				workers := startWorkers(s.Addr, sha, seed+uint64(round))
				wantAcks := 200 + random.Int64N(3000)
				harness.Eventually(t, time.Minute, func() bool { return workers.acks.Load() >= wantAcks })
				s.Kill()
				holds := workers.stop()
				s.Restart()
				auditor.afterCrash(s, holds, workers.lastWrite())
				t.Logf("round %d: killed after %d grants and releases, %d locks known", round, workers.acks.Load(), len(holds))
			}
		})
	}
}

func crashRounds() int {
	if os.Getenv("REDFENCE_LONG") == "1" {
		return 20
	}
	return 5
}

// hold is one attempt to take a lock, and what became of it. Owner names are
// never used twice.
type hold struct {
	key, owner string
	hash       bool // a hash of owner to count, as Redisson has it, else a string
	ttl        time.Duration

	askedAt, ackedAt, releaseAskedAt time.Time
	token                            int64
	granted, releaseAsked, released  bool   // granted and released: as acknowledged
	odd                              string // an answer that a healthy server never gives
}

// The scripts of the hash lock answer the token, or nil when it is held.
const (
	takeHash = `if redis.call('EXISTS', KEYS[1]) == 1 then return nil end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return redis.call('FENCE', KEYS[1], ARGV[2])`
	giveHash = `if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('DEL', KEYS[1])`
)

// workers are the clients of one round.
type workers struct {
	addr, sha string
	acks      atomic.Int64 // acknowledged grants and releases
	wait      sync.WaitGroup
	mu        sync.Mutex
	holds     []*hold
	latest    time.Time // when the last acknowledged write was sent
}

func startWorkers(addr, sha string, seed uint64) *workers {
	w := &workers{addr: addr, sha: sha}
	for i := range crashWorkers {
		random := rand.New(rand.NewPCG(seed, uint64(i)+1))
		w.wait.Go(func() { w.work(random) })
	}
	return w
}

// stop returns every attempt once all workers have noticed the crash.
func (w *workers) stop() []*hold {
	w.wait.Wait()
	return w.holds
}

func (w *workers) lastWrite() time.Time { return w.latest }

// work takes and gives back locks until the connection breaks.
func (w *workers) work(random *rand.Rand) {
	c, err := harness.Open(w.addr)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	var mine []*hold
	for {
		if len(mine) > 0 && random.IntN(3) > 0 {
			i := random.IntN(len(mine))
			if w.release(c, mine[i]) != nil {
				return
			}
			mine = append(mine[:i], mine[i+1:]...)
			continue
		}
		h := newHold(random)
		if w.acquire(c, h) != nil {
			return
		}
		if h.granted && h.ttl == longLease {
			mine = append(mine, h)
		}
	}
}

func newHold(random *rand.Rand) *hold {
	n := random.IntN(crashKeys)
	h := &hold{
		key: "lock:" + strconv.Itoa(n), hash: n%2 == 0, ttl: longLease,
		owner: strconv.FormatUint(random.Uint64(), 36) + ":1",
	}
	if random.IntN(4) == 0 {
		h.ttl = shortLease
	}
	return h
}

// acquire records the attempt before it sends anything.
func (w *workers) acquire(c *harness.Wire, h *hold) error {
	h.askedAt = time.Now()
	w.mu.Lock()
	w.holds = append(w.holds, h)
	w.mu.Unlock()
	args := []string{"SET", h.key, h.owner, "NX", "PX", milliseconds(h.ttl), "FENCE"}
	if h.hash {
		args = []string{"EVAL", takeHash, "1", h.key, milliseconds(h.ttl), h.owner}
	}
	reply, err := c.Do(args...)
	if err != nil {
		return err
	}
	h.ackedAt = time.Now()
	if h.token, h.granted = reply.Int(); h.granted {
		w.acknowledged(h.askedAt)
	} else if !reply.Null {
		h.odd = reply.String()
	}
	return nil
}

func (w *workers) release(c *harness.Wire, h *hold) error {
	h.releaseAsked, h.releaseAskedAt = true, time.Now()
	args := []string{"EVALSHA", w.sha, "1", h.key, h.owner}
	if h.hash {
		args = []string{"EVAL", giveHash, "1", h.key, h.owner}
	}
	reply, err := c.Do(args...)
	if err != nil {
		return err
	}
	if n, ok := reply.Int(); !ok || n != 1 {
		h.odd = reply.String() // nobody else may have ended this hold
		return nil
	}
	h.released = true
	w.acknowledged(h.releaseAskedAt)
	return nil
}

func (w *workers) acknowledged(sent time.Time) {
	w.acks.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if sent.After(w.latest) {
		w.latest = sent
	}
}
