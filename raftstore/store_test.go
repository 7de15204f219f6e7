package raftstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
)

// open opens a store for a test and waits until it leads.
func open(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// untimed is the configuration of a store that proposes nothing on its own account, unless a key is due.
func untimed(t testing.TB) Config {
	t.Helper()
	cfg := DefaultConfig(t.TempDir())
	cfg.tick = time.Hour
	return cfg
}

// request binds a command line, which the test has got right.
func request(t testing.TB, line ...string) *commands.Request {
	t.Helper()
	r, err := commands.Bind(line, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// do runs one command line and waits for its result.
func do(t testing.TB, st *Stream, line ...string) commands.Result {
	t.Helper()
	result := make(chan commands.Result, 1)
	st.Submit(&commands.Call{
		Requests: []*commands.Request{request(t, line...)},
		Done:     func(r commands.Result) { result <- r },
	})
	return <-result
}

func TestStoreKeepsLocksOverARestart(t *testing.T) {
	for _, kind := range []LogStore{WAL, Bolt} {
		t.Run(string(kind), func(t *testing.T) {
			cfg := DefaultConfig(t.TempDir())
			cfg.LogStore = kind
			first := open(t, cfg)
			token := do(t, first.Open(), "SET", "lock", "owner", "NX", "PX", "60000", "FENCE").Reply.Int()
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			second := open(t, cfg).Open()
			if got := do(t, second, "GET", "lock").Reply; got.Str != "owner" {
				t.Errorf("GET after the restart: %+v", got)
			}
			if got := do(t, second, "FENCE", "lock", "owner").Reply.Int(); got != token {
				t.Errorf("token after the restart %d, want %d", got, token)
			}
			if got := do(t, second, "PTTL", "lock").Reply.Int(); got <= 0 || got > 60000 {
				t.Errorf("PTTL after the restart %d", got)
			}
			if got := do(t, second, "SET", "lock", "thief", "NX", "PX", "60000").Reply; !got.IsNull() {
				t.Errorf("a held lock was granted after the restart: %+v", got)
			}
		})
	}
}

func TestWhatChangesNothingIsNotLogged(t *testing.T) {
	s := open(t, untimed(t))
	st := s.Open()
	do(t, st, "SET", "lock", "owner", "NX", "PX", "60000")
	before := s.Stats().AppliedIndex
	for _, line := range [][]string{{"GET", "lock"}, {"SET", "lock", "other", "NX", "PX", "1"}, {"DEL", "free"}, {"PTTL", "lock"}} {
		do(t, st, line...)
	}
	if after := s.Stats().AppliedIndex; after != before {
		t.Errorf("applied index went from %d to %d", before, after)
	}
}

func TestAReadSeesTheUnansweredWriteBeforeIt(t *testing.T) {
	st := open(t, DefaultConfig(t.TempDir())).Open()
	var wait sync.WaitGroup
	const n = 500
	wrong := make(chan string, n)
	for i := range n {
		value := string(rune('a' + i%26))
		wait.Add(2)
		st.Submit(&commands.Call{
			Requests: []*commands.Request{request(t, "SET", "k", value)},
			Done:     func(commands.Result) { wait.Done() },
		})
		st.Submit(&commands.Call{
			Requests: []*commands.Request{request(t, "GET", "k")},
			Done: func(r commands.Result) {
				if r.Reply.Str != value {
					wrong <- r.Reply.Str + " instead of " + value
				}
				wait.Done()
			},
		})
	}
	wait.Wait()
	close(wrong)
	for text := range wrong {
		t.Error(text)
	}
}

func TestExpiryNeedsNoTraffic(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	expired := make(chan commands.Message, 1)
	cfg.Sink = sinkFunc(func(m commands.Message) int {
		expired <- m
		return 1
	})
	s := open(t, cfg)
	do(t, s.Open(), "SET", "lock", "owner", "PX", "40")
	select {
	case m := <-expired:
		if m.Channel != "__keyevent@0__:expired" || m.Payload != "lock" {
			t.Errorf("event %+v", m)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no expiry event without traffic")
	}
	if keys := s.Stats().Keys; keys != 0 {
		t.Errorf("%d keys left", keys)
	}
}

type sinkFunc func(commands.Message) int

func (f sinkFunc) Message(m commands.Message) int  { return f(m) }
func (sinkFunc) Ready(int, string)                 {}
func (sinkFunc) ReadyAll(int)                      {}
func (sinkFunc) Tracking() bool                    { return false }
func (sinkFunc) Accessed(int64, []commands.Access) {}
func (sinkFunc) Missed(func(string) bool)          {}

func TestPublishAnswersTheReceivers(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	cfg.Sink = sinkFunc(func(commands.Message) int { return 3 })
	if got := do(t, open(t, cfg).Open(), "PUBLISH", "ch", "m").Reply.Int(); got != 3 {
		t.Errorf("PUBLISH answered %d, want 3", got)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	open(t, cfg)
	if _, err := Open(cfg); !errors.Is(err, ErrLocked) {
		t.Errorf("error %v, want ErrLocked", err)
	}
}

func TestDataDirectoryKeepsItsLogStore(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	if err := open(t, cfg).Close(); err != nil {
		t.Fatal(err)
	}
	cfg.LogStore = Bolt
	if _, err := Open(cfg); err == nil {
		t.Error("a directory made with wal was opened with bolt: its locks would be lost")
	}
}

func TestSnapshotAndCompaction(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	cfg.SnapshotEntries, cfg.TrailingEntries, cfg.SnapshotInterval = 20, 5, 20*time.Millisecond
	s := open(t, cfg)
	st := s.Open()
	do(t, st, "SET", "lock", "owner", "PX", "600000")
	deadline := time.Now().Add(20 * time.Second)
	for first := uint64(1); first < 100; first, _ = s.disk.log.FirstIndex() {
		if time.Now().After(deadline) {
			t.Fatal("the log was not compacted")
		}
		do(t, st, "SET", "k", time.Now().String())
	}
	token := do(t, st, "FENCE", "lock").Reply.Int()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, cfg).Open()
	if got := do(t, again, "FENCE", "lock").Reply.Int(); got != token || token == 0 {
		t.Errorf("token %d after a restart from a snapshot, want %d", got, token)
	}
	if got := do(t, again, "SET", "new", "x", "FENCE").Reply.Int(); got <= token {
		t.Errorf("a new token %d is not above %d", got, token)
	}
}

func TestCloseAnswersEverything(t *testing.T) {
	s := open(t, DefaultConfig(t.TempDir()))
	st := s.Open()
	const n = 2000
	var wait sync.WaitGroup
	wait.Add(n)
	for range n {
		st.Submit(&commands.Call{
			Requests: []*commands.Request{request(t, "SET", "k", "v"+time.Now().String())},
			Done:     func(commands.Result) { wait.Done() },
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if got := do(t, st, "SET", "k", "v").Reply; !got.IsErr() {
		t.Errorf("a closed store answered %+v", got)
	}
}
