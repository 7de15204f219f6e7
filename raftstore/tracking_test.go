package raftstore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
)

// witness is a sink that writes down what it is told of keys: "7 read k" of session 7.
type witness struct {
	noSink
	mu   sync.Mutex
	told []string
	news chan struct{} // holds a token when there is something new
}

func newWitness() *witness { return &witness{news: make(chan struct{}, 1)} }

func (*witness) Tracking() bool { return true }

func (w *witness) Accessed(session int64, list []commands.Access) {
	words := map[commands.AccessKind]string{commands.ReadKey: "read ", commands.ChangedKey: "changed ", commands.FlushedKeys: "flushed"}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range list {
		w.told = append(w.told, fmt.Sprint(session, " ", words[a.Kind], a.Key))
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// take returns what was told since the last call.
func (w *witness) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.told
	w.told = nil
	return told
}

// submit runs requests as one call of session 7.
func submit(t *testing.T, st *Stream, track, block bool, lines ...string) {
	t.Helper()
	done := make(chan struct{})
	c := &commands.Call{Block: block, Session: 7, Track: track, Done: func(commands.Result) { close(done) }}
	for _, line := range lines {
		c.Requests = append(c.Requests, request(t, strings.Split(line, "|")...))
	}
	st.Submit(c)
	<-done
}

// TestTheSinkIsToldOfAccesses covers both ways of a call: through the log, and without it.
func TestTheSinkIsToldOfAccesses(t *testing.T) {
	w := newWitness()
	cfg := DefaultConfig(t.TempDir())
	cfg.Sink = w
	s := open(t, cfg)
	for _, tt := range []struct {
		name  string
		track bool
		lines []string // more than one: a block
		log   bool     // it must have gone through the log
		want  []string
	}{
		{"a write", true, []string{"SET|k|v"}, true, []string{"7 changed k"}},
		{"a read", true, []string{"GET|k"}, false, []string{"7 read k"}},
		{"a read of no interest", false, []string{"GET|k"}, false, nil},
		{"a refused attempt", true, []string{"SET|k|w|NX"}, false, nil},
		{"a script that reads", true, []string{"EVAL|return redis.call('GET', KEYS[1])|1|k"}, true, []string{"7 read k"}}, // its text is new
		{"again", true, []string{"EVAL|return redis.call('GET', KEYS[1])|1|k"}, false, []string{"7 read k"}},
		{
			"a script that reads and writes", true,
			[]string{"EVAL|redis.call('GET', 'k') redis.call('SET', 'k', 'w') return redis.call('GET', 'k')|0"},
			true,
			[]string{"7 read k", "7 changed k", "7 read k"},
		},
		{"a block that reads", true, []string{"GET|k", "GET|l"}, false, []string{"7 read k", "7 read l"}},
		{"a block", true, []string{"GET|k", "SET|k|x", "SET|l|x", "GET|l"}, true, []string{"7 read k", "7 changed k", "7 changed l", "7 read l"}},
		{
			"a script over its budget", true,
			[]string{"EVAL|redis.call('GET', 'k') redis.call('SET', 'k', 'gone') while true do end|0"},
			false, nil,
		},
		{"all keys", true, []string{"FLUSHALL"}, true, []string{"7 flushed"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := s.Stats().Entries
			w.take()
			submit(t, s.Open(), tt.track, len(tt.lines) > 1, tt.lines...)
			if got := w.take(); !slices.Equal(got, tt.want) {
				t.Errorf("told %q, want %q", got, tt.want)
			}
			if logged := s.Stats().Entries > before; logged != tt.log {
				t.Errorf("through the log: %v, want %v", logged, tt.log)
			}
		})
	}
}

func TestTheEndOfATTLIsNobodysChange(t *testing.T) {
	w := newWitness()
	cfg := DefaultConfig(t.TempDir())
	cfg.Sink = w
	st := open(t, cfg).Open()
	submit(t, st, true, false, "SET|k|v|PX|30")
	want := []string{"7 changed k", "0 changed k"}
	var told []string
	for patience := time.After(10 * time.Second); len(told) < len(want); {
		select {
		case <-w.news:
			told = append(told, w.take()...)
		case <-patience:
			t.Fatalf("told %q, want %q", told, want)
		}
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// TestReplayTellsNobody: what a restart applies again concerns no session of this process.
func TestReplayTellsNobody(t *testing.T) {
	cfg := DefaultConfig(t.TempDir())
	first := open(t, cfg)
	submit(t, first.Open(), false, false, "SET|k|v")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWitness()
	cfg.Sink = w
	open(t, cfg)
	for _, told := range w.take() {
		if strings.HasPrefix(told, "7") {
			t.Errorf("told %q", told)
		}
	}
}
