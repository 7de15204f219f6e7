package wake

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/hub"
)

const channel = "redisson_lock__channel:{job}"

// fakeStore answers PTTL with the end of a lock.
type fakeStore struct {
	mu    sync.Mutex
	began time.Time
	ends  map[string]time.Duration // of keys, since began; 0 is never
	fails bool
	asked int
}

func (s *fakeStore) Submit(c *commands.Call) {
	s.mu.Lock()
	s.asked++
	end, held := s.ends[c.Requests[0].Args[1]]
	left := end - time.Since(s.began)
	reply := resp.Int(left.Milliseconds())
	switch {
	case s.fails:
		reply = resp.ErrNoLeader.Value()
	case !held || end != 0 && left <= 0:
		reply = resp.Int(-2)
	case end == 0:
		reply = resp.Int(-1)
	}
	s.mu.Unlock()
	c.Done(commands.Result{Reply: reply})
}

func (s *fakeStore) Close() {}

func (s *fakeStore) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// listener notes when it was woken.
type listener struct {
	mu    sync.Mutex
	began time.Time
	at    []time.Duration
}

func (l *listener) Deliver(*hub.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = append(l.at, time.Since(l.began).Round(10*time.Millisecond))
}

// Cut implements hub.Receiver.
func (*listener) Cut() {}

// play runs what happens from a subscription on, for a while, and returns when the subscriber was woken.
func play(t *testing.T, d time.Duration, ends map[string]time.Duration, happens func(s *fakeStore, h *hub.Hub, l *listener)) (woken []time.Duration, asked int) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		h := hub.New()
		s, l := &fakeStore{began: time.Now(), ends: ends}, &listener{began: time.Now()}
		w := New(h, func() Stream { return s })
		h.Add(l, hub.Channel, channel)
		w.Subscribed(0, channel)
		if happens != nil {
			happens(s, h, l)
		}
		time.Sleep(d - time.Since(s.began)) // of the bubble's clock
		w.Close()
		synctest.Wait()
		woken, asked = l.at, s.asked
	})
	return woken, asked
}

func TestWaitersAreWoken(t *testing.T) {
	tests := []struct {
		name    string
		ends    map[string]time.Duration
		happens func(s *fakeStore, h *hub.Hub, l *listener)
		want    []time.Duration // within 4 s
	}{
		{"of a lock that is free already, again when nobody reacts", nil, nil, []time.Duration{100 * time.Millisecond, 1100 * time.Millisecond, 3100 * time.Millisecond}},
		{"when it expires", map[string]time.Duration{"job": 2500 * time.Millisecond}, nil, []time.Duration{2510 * time.Millisecond, 3510 * time.Millisecond}},
		{"of a lock with braces", map[string]time.Duration{"{job}": 2500 * time.Millisecond}, nil, []time.Duration{2510 * time.Millisecond, 3510 * time.Millisecond}},
		{"when it is deleted", map[string]time.Duration{"job": time.Hour}, func(s *fakeStore, _ *hub.Hub, _ *listener) {
			time.Sleep(2 * time.Second)
			s.set(func() { delete(s.ends, "job") })
		}, []time.Duration{2100 * time.Millisecond, 3100 * time.Millisecond}},
		{"not of a lock that is held", map[string]time.Duration{"job": time.Hour}, nil, nil},
		{"not of a lock without end", map[string]time.Duration{"job": 0}, nil, nil},
		{"when there is a leader again", nil, func(s *fakeStore, _ *hub.Hub, _ *listener) {
			s.set(func() { s.fails = true })
			time.Sleep(2 * time.Second)
			s.set(func() { s.fails = false })
		}, []time.Duration{2100 * time.Millisecond, 3100 * time.Millisecond}},
		{"not when nobody listens", nil, func(_ *fakeStore, h *hub.Hub, l *listener) {
			h.Remove(l, hub.Channel, channel)
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			woken, _ := play(t, 4*time.Second, tt.ends, tt.happens)
			assert.Equal(t, tt.want, woken)
		})
	}
}

// Who gets the lock at once and listens no longer costs no question, and what nobody listens to is forgotten.
func TestNobodyIsAskedFor(t *testing.T) {
	_, asked := play(t, 4*time.Second, nil, func(_ *fakeStore, h *hub.Hub, l *listener) { h.Remove(l, hub.Channel, channel) })
	assert.Zero(t, asked)
	_, asked = play(t, time.Minute, map[string]time.Duration{"job": time.Hour}, func(_ *fakeStore, h *hub.Hub, l *listener) {
		time.Sleep(1500 * time.Millisecond)
		h.Remove(l, hub.Channel, channel)
	})
	assert.Equal(t, 2, asked)
}

// A new waiter is not kept by the pauses that came of others, who did not react.
func TestANewWaiterIsWokenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New()
		s, l := &fakeStore{began: time.Now()}, &listener{began: time.Now()}
		w := New(h, func() Stream { return s })
		h.Add(l, hub.Channel, channel)
		w.Subscribed(0, channel)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		before := len(l.at)
		w.Subscribed(0, channel)
		time.Sleep(firstLook)
		synctest.Wait()
		assert.Len(t, l.at, before+1)
		assert.EqualValues(t, before+1, w.Woken())
		w.Close()
	})
}
