package wait

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/keyspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long tests wait for what must happen.
const patience = 10 * time.Second

// store is a backend with real lists and sorted sets, but without a log. Tests can make it wait before it runs the
// registry's calls, and see how many there were.
type store struct {
	registry *Registry

	mu     sync.Mutex
	ks     *keyspace.Keyspace
	calls  int
	paused []*commands.Call // not nil while paused
	fail   *resp.Value      // the answer to every call, if any
}

func newStore() *store {
	s := &store{registry: New(), ks: keyspace.New()}
	s.registry.Use(s)
	return s
}

// Submit implements Stream. As that of a real store it may answer on another goroutine.
func (s *store) Submit(c *commands.Call) {
	s.mu.Lock()
	s.calls++
	if s.paused != nil {
		s.paused = append(s.paused, c)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.answer(c)
}

func (s *store) answer(c *commands.Call) {
	s.mu.Lock()
	if s.fail != nil {
		s.mu.Unlock()
		c.Done(commands.Result{Reply: *s.fail})
		return
	}
	replies := s.apply(c.Requests)
	s.mu.Unlock()
	c.Done(commands.Result{Reply: resp.Arr(replies...)})
}

// apply runs requests as one entry of the log; s.mu is held.
func (s *store) apply(requests []*commands.Request) []resp.Value {
	t := s.ks.Begin(keyspace.Stamp{Now: 1, Wall: 1})
	before := t.Mark()
	replies := make([]resp.Value, len(requests))
	for i, r := range requests {
		t.Select(r.DB)
		t.Mark()
		replies[i] = t.Exec(r)
	}
	for _, k := range t.Ready(before) {
		s.registry.Ready(k.DB, k.Key)
	}
	return replies
}

// do runs a command of some other client.
func (s *store) do(t testing.TB, line ...string) resp.Value {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apply([]*commands.Request{request(t, line...)})[0]
}

func (s *store) pause() {
	s.mu.Lock()
	s.paused = []*commands.Call{}
	s.mu.Unlock()
}

// awaitCall waits until a call is held back.
func (s *store) awaitCall(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.paused) > 0
	}, patience, time.Millisecond)
}

// resume runs the calls that were held back.
func (s *store) resume() {
	s.mu.Lock()
	held := s.paused
	s.paused = nil
	s.mu.Unlock()
	for _, c := range held {
		s.answer(c)
	}
}

func (s *store) made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func request(t testing.TB, line ...string) *commands.Request {
	t.Helper()
	r, err := commands.Bind(line, 0)
	require.NoError(t, err)
	return r
}

// blocked is a client's blocked command and its reply.
type blocked struct {
	*Waiter
	reply chan commands.Result
}

// block enters a blocked command without waiting until it was tried.
func (s *store) block(t testing.TB, line ...string) *blocked {
	t.Helper()
	b := s.waiter(t, line...)
	s.registry.Enter(b.Waiter)
	return b
}

func (s *store) waiter(t testing.TB, line ...string) *blocked {
	t.Helper()
	b := &blocked{reply: make(chan commands.Result, 2)}
	b.Waiter = s.registry.NewWaiter(request(t, line...), func(r commands.Result) { b.reply <- r })
	return b
}

// settled waits until the registry has nothing to try.
func (s *store) settled(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.registry.mu.Lock()
		defer s.registry.mu.Unlock()
		return !s.registry.working
	}, patience, 100*time.Microsecond)
}

// wait blocks and waits until the first try has brought nothing.
func (s *store) wait(t testing.TB, line ...string) *blocked {
	t.Helper()
	b := s.block(t, line...)
	s.settled(t)
	b.silent(t)
	return b
}

// gets wants the reply, shown in RESP2 with blanks for line ends.
func (b *blocked) gets(t testing.TB, want string) {
	t.Helper()
	select {
	case got := <-b.reply:
		require.Equal(t, want, show(got.Reply))
	case <-time.After(patience):
		require.Fail(t, "no reply", "want %s", want)
	}
}

// silent wants no reply; nothing must be on its way.
func (b *blocked) silent(t testing.TB) {
	t.Helper()
	select {
	case got := <-b.reply:
		require.Fail(t, "a reply", show(got.Reply))
	default:
	}
}

func show(v resp.Value) string {
	switch {
	case v.IsNull():
		return "nil"
	case v.Kind == resp.Array:
		text := ""
		for i, e := range v.Elems {
			if i > 0 {
				text += " "
			}
			text += show(e)
		}
		return text
	case v.Kind == resp.Double:
		return resp.FormatDouble(v.Float())
	}
	return v.Str
}

// empty wants that nothing is left of any waiter.
func (s *store) empty(t testing.TB) {
	t.Helper()
	s.settled(t)
	require.Zero(t, s.registry.Len())
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	require.Empty(t, s.registry.queues)
	require.Zero(t, s.registry.fresh.Len())
	require.Empty(t, s.registry.ready)
}
