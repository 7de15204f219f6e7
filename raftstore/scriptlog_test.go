package raftstore

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/raftstore/script"
)

// listener is a slog.Handler that keeps what scripts say.
type listener struct {
	mu    sync.Mutex
	said  []string
	added chan struct{}
}

func (l *listener) Enabled(context.Context, slog.Level) bool { return true }
func (l *listener) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *listener) WithGroup(string) slog.Handler            { return l }

func (l *listener) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "a script says" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "text" {
			l.said = append(l.said, r.Level.String()+" "+a.Value.String())
		}
		return true
	})
	l.added <- struct{}{}
	return nil
}

// wait returns what was said once a line says end.
func (l *listener) wait(t *testing.T, end string) []string {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case <-l.added:
		case <-late:
			t.Fatalf("%q was never said", end)
		}
		l.mu.Lock()
		said := slices.Clone(l.said)
		l.mu.Unlock()
		if len(said) > 0 && strings.HasSuffix(said[len(said)-1], end) {
			return said[:len(said)-1]
		}
	}
}

func listening(t *testing.T) (*Store, Config, *listener) {
	t.Helper()
	l := &listener{added: make(chan struct{}, 4096)}
	cfg := DefaultConfig(t.TempDir())
	cfg.Logger = slog.New(l)
	return open(t, cfg), cfg, l
}

// TestWhatScriptsSayIsLoggedOnce runs scripts that are decided without the log, that are tried and then go through it,
// that are rehearsed, and that run again when the store starts again.
func TestWhatScriptsSayIsLoggedOnce(t *testing.T) {
	const log = "redis.log(redis.LOG_NOTICE, ARGV[1]) "
	tests := []struct {
		name, text string
		times      int // how often it is run
		want       []string
	}{
		{"reads", log + "return redis.call('GET', 'k')", 2, []string{"INFO x", "INFO x"}},
		{"writes", log + "return redis.call('INCR', 'k')", 3, []string{"INFO x", "INFO x", "INFO x"}},
		{"goes over its budget", log + "redis.call('SET', 'k', 1) while true do end", 1, []string{"INFO x"}},
		{"fails", log + "error('no')", 1, []string{"INFO x"}},
		{
			"at all levels",
			"redis.log(redis.LOG_DEBUG, 'a') redis.log(redis.LOG_VERBOSE, 'b') redis.log(redis.LOG_NOTICE, 'c', 'd') redis.log(redis.LOG_WARNING, 'e')",
			1,
			[]string{"DEBUG a", "DEBUG b", "INFO c d", "WARN e"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, cfg, l := listening(t)
			for range tt.times {
				do(t, s.Open(), "EVAL", tt.text, "0", "x")
			}
			do(t, s.Open(), "EVAL", "redis.log(redis.LOG_NOTICE, 'end')", "0")
			if said := l.wait(t, "end"); !slices.Equal(said, tt.want) {
				t.Errorf("said %q, want %q", said, tt.want)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			l.said = nil
			again := open(t, cfg)
			do(t, again.Open(), "EVAL", "redis.log(redis.LOG_NOTICE, 'end again')", "0")
			if said := l.wait(t, "end again"); len(said) > 0 {
				t.Errorf("the replay said %q", said)
			}
		})
	}
}

// TestWhatScriptsSayIsBounded lets a script say too much at once, and more than the log takes.
func TestWhatScriptsSayIsBounded(t *testing.T) {
	s, _, l := listening(t)
	do(t, s.Open(), "EVAL", "for i = 1, 1000 do redis.log(redis.LOG_NOTICE, string.rep('x', 5000)) end", "0")
	do(t, s.Open(), "EVAL", "redis.log(redis.LOG_NOTICE, 'end')", "0")
	said := l.wait(t, "end")
	if len(said) != maxSaid {
		t.Errorf("%d lines", len(said))
	}
	for _, line := range said {
		if line != "INFO "+strings.Repeat("x", maxSaidBytes) {
			t.Fatalf("a line of %d bytes", len(line))
		}
	}
}

// TestAStateMachineDoesNotWaitForTheLog fills the queue, which nobody empties.
func TestAStateMachineDoesNotWaitForTheLog(t *testing.T) {
	m := newMachine(script.DefaultLimits())
	m.says.begin("sha")
	m.says.hear(2, "text")
	for range 3 * maxSaidQueued {
		m.says.lines = append(m.says.lines, said{text: "text"})
	}
	m.says.end(true)
	if n := m.says.dropped.Load(); n != 2*maxSaidQueued+1 {
		t.Errorf("%d lines were left out", n)
	}
	if len(m.says.lines) != 0 {
		t.Errorf("%d lines are kept", len(m.says.lines))
	}
}
