package integration

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/integration/harness"
)

// The traffic of one round of TestNoCacheKeepsWhatHasChanged.
const (
	cacheRounds  = 40
	cacheReaders = 4
	cacheWriters = 3
	cacheKeys    = 30
	batchReads   = 6
	roundWrites  = 15
	cacheLease   = 15 * time.Millisecond
)

// TestNoCacheKeepsWhatHasChanged lets clients cache what they read, in every way to read, while others write, delete,
// let expire and flush. Whenever all is quiet, what a client still has in its cache must be what the server has: an
// invalidation that was lost, or that overtook the reply which it is about, leaves a stale value.
func TestNoCacheKeepsWhatHasChanged(t *testing.T) {
	onEveryBackend(t, func(t *testing.T, d deployment) {
		control := harness.Dial(t, d.Address())
		readers := make([]*cachingReader, cacheReaders)
		for i := range readers {
			readers[i] = newCachingReader(t, d.Address(), uint64(i))
		}
		cached := 0
		for round := range cacheRounds {
			var reading, writing sync.WaitGroup
			var quiet atomic.Bool
			for _, r := range readers {
				reading.Go(func() { r.read(&quiet) })
			}
			for i := range cacheWriters {
				writing.Go(func() { writeForCaches(t, d.Address(), uint64(round*cacheWriters+i)) })
			}
			writing.Wait()
			quiet.Store(true)
			reading.Wait()
			require.True(t, harness.Poll(10*time.Second, func() bool { return !anyLease(control) }))
			for i, r := range readers {
				harness.Poll(time.Second, func() bool { return r.right(control) })
				require.NoError(t, r.err)
				for key, value := range r.cache {
					require.Equal(t, cacheValue(control.Do("GET", key)), value, "round %d, reader %d, key %s", round, i, key)
					cached++
				}
			}
		}
		told := 0
		for _, r := range readers {
			told += r.told
		}
		t.Logf("%d cached values compared, %d invalidations", cached, told)
		assert.Positive(t, cached)
		assert.Positive(t, told)
	})
}

// cachingReader is a client that keeps what it has read until it is told that it changed.
type cachingReader struct {
	wire   *harness.Wire
	random *rand.Rand
	cache  map[string]string
	told   int
	err    error
}

func newCachingReader(t *testing.T, addr string, seed uint64) *cachingReader {
	t.Helper()
	c := harness.Dial(t, addr)
	require.False(t, c.Do("HELLO", "3").IsError())
	c.Want("OK", "CLIENT", "TRACKING", "ON", "OPTOUT")
	return &cachingReader{wire: c.Wire, random: rand.New(rand.NewPCG(seed, 1)), cache: map[string]string{}}
}

// read reads in pipelines until all is quiet.
func (r *cachingReader) read(quiet *atomic.Bool) {
	for !quiet.Load() {
		var awaited []func(harness.Reply)
		for range batchReads {
			awaited = append(awaited, r.ask()...)
		}
		for _, take := range awaited {
			reply, ok := r.reply()
			if !ok {
				return
			}
			take(reply)
		}
	}
}

// ask sends one read, and returns what takes its replies.
func (r *cachingReader) ask() []func(harness.Reply) {
	key := cacheKey(r.random)
	keep := func(v harness.Reply) { r.cache[key] = cacheValue(v) }
	skip := func(harness.Reply) {}
	switch r.random.IntN(4) {
	case 0:
		r.send("EVAL", "return redis.call('GET', KEYS[1])", "1", key)
		return []func(harness.Reply){keep}
	case 1:
		r.send("MULTI")
		r.send("GET", key)
		r.send("PTTL", key)
		r.send("EXEC")
		return []func(harness.Reply){skip, skip, skip, func(v harness.Reply) { keep(v.Elems[0]) }}
	case 2: // behind a write of its own, so that it goes through the log
		r.send("SET", "of-"+key, strconv.Itoa(r.random.Int()))
		r.send("GET", key)
		return []func(harness.Reply){skip, keep}
	}
	r.send("GET", key)
	return []func(harness.Reply){keep}
}

func (r *cachingReader) send(args ...string) {
	if err := r.wire.Send(args...); err != nil {
		r.err = err
	}
}

// reply returns the next reply, and heeds the invalidations before it.
func (r *cachingReader) reply() (harness.Reply, bool) {
	for r.err == nil {
		v, err := r.wire.Receive()
		switch {
		case err != nil:
			r.err = err
		case v.IsError():
			r.err = fmt.Errorf("a read was answered %s", v)
		case v.Kind != '>':
			return v, true
		case v.Elems[1].Null:
			clear(r.cache)
			r.told++
		default:
			for _, key := range v.Elems[1].Elems {
				delete(r.cache, key.Text)
			}
			r.told++
		}
	}
	return harness.Reply{}, false
}

// right tells whether all that is cached is as the server has it, after heeding the invalidations that have come. In
// quorum mode those of the nodes may come a little after the reply of the change.
func (r *cachingReader) right(control *harness.Conn) bool {
	r.settle()
	for key, value := range r.cache {
		if cacheValue(control.Do("GET", key)) != value {
			return false
		}
	}
	return true
}

// settle heeds all invalidations that have been sent.
func (r *cachingReader) settle() {
	r.send("PING")
	r.reply()
}

// cacheValue is the same for both protocols.
func cacheValue(v harness.Reply) string {
	if v.Null {
		return "(null)"
	}
	return v.Text
}

// anyLease tells whether a key has a TTL, so that a change is still to come.
func anyLease(c *harness.Conn) bool {
	for i := range cacheKeys {
		if c.Int("PTTL", cacheName(i)) >= 0 {
			return true
		}
	}
	return false
}

func cacheName(i int) string { return "key" + strconv.Itoa(i) }

func cacheKey(random *rand.Rand) string { return cacheName(random.IntN(cacheKeys)) }

// writeForCaches changes keys in many ways. It reports failures without ending the test's goroutine.
func writeForCaches(t *testing.T, addr string, seed uint64) {
	w, err := harness.Open(addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer w.Close() //nolint:errcheck // nothing is lost
	random := rand.New(rand.NewPCG(seed, 2))
	lease := strconv.FormatInt(cacheLease.Milliseconds(), 10)
	for range roundWrites {
		key, other := cacheKey(random), cacheKey(random)
		line := [][]string{
			{"SET", key, strconv.Itoa(random.IntN(3))},
			{"SET", key, strconv.Itoa(random.IntN(3)), "NX"},
			{"DEL", key},
			{"PEXPIRE", key, lease},
			{"MSET", key, "m" + strconv.Itoa(random.IntN(9)), other, "m"},
			{"EVAL", "redis.call('GET', KEYS[1]) return redis.call('SET', KEYS[1], ARGV[1])", "1", key, strconv.Itoa(random.IntN(9))},
			{"COPY", key, other, "REPLACE"},
			{"RENAME", key, other},
		}[random.IntN(8)]
		if random.IntN(100) == 0 {
			line = []string{"FLUSHALL"}
		}
		if _, err := w.Do(line...); !assert.NoError(t, err) {
			return
		}
	}
}
