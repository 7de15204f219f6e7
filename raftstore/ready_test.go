package raftstore

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/redfence/redfence/commands"
)

// readySink keeps what it is told of ready keys.
type readySink struct {
	noSink
	mu   sync.Mutex
	told []string
}

func (s *readySink) Ready(db int, key string) { s.note(strconv.Itoa(db) + " " + key) }
func (s *readySink) ReadyAll(db int)          { s.note(strconv.Itoa(db) + " *") }

func (s *readySink) note(text string) {
	s.mu.Lock()
	s.told = append(s.told, text)
	s.mu.Unlock()
}

func (s *readySink) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.told
	s.told = nil
	return told
}

// TestReadyKeysAreTold wants the sink to be told before the call is answered, once for a whole block.
func TestReadyKeysAreTold(t *testing.T) {
	sink := &readySink{}
	cfg := DefaultConfig(t.TempDir())
	cfg.Sink = sink
	s := open(t, cfg)
	st := s.Open()
	tests := []struct {
		name  string
		block [][]string
		want  []string
	}{
		{"a lock", [][]string{{"SET", "k", "v", "NX"}}, nil},
		{"a push", [][]string{{"RPUSH", "l", "a"}}, []string{"0 l"}},
		{"a member", [][]string{{"ZADD", "z", "1", "m"}}, []string{"0 z"}},
		{"a pop", [][]string{{"BLPOP", "l", "0"}}, nil},
		{"a pop of nothing", [][]string{{"BLPOP", "l", "0"}}, nil},
		{"a block", [][]string{{"RPUSH", "b", "1"}, {"RPUSH", "a", "1"}, {"RPUSH", "b", "2"}}, []string{"0 b", "0 a"}},
		{"a block that takes it back", [][]string{{"RPUSH", "n", "1"}, {"LPOP", "n"}}, nil},
		{"a script", [][]string{{"EVAL", "redis.call('RPUSH', KEYS[1], 'x')", "1", "n"}}, []string{"0 n"}},
		{"exchanged databases", [][]string{{"SWAPDB", "0", "7"}}, []string{"7 *"}},
	}
	for _, tt := range tests {
		call := &commands.Call{Block: true}
		for _, line := range tt.block {
			call.Requests = append(call.Requests, request(t, line...))
		}
		answer := make(chan []string, 1)
		call.Done = func(commands.Result) { answer <- sink.take() }
		st.Submit(call)
		if got := <-answer; !slices.Equal(got, tt.want) {
			t.Errorf("%s: told %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestRestoreTellsOfAllKeys: what a snapshot brings has not been told key by key.
func TestRestoreTellsOfAllKeys(t *testing.T) {
	sink := &readySink{}
	cfg := DefaultConfig(t.TempDir())
	s := open(t, cfg)
	do(t, s.Open(), "RPUSH", "l", "a")
	if err := s.raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Sink = sink
	s = open(t, cfg)
	if err := s.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	if told := sink.take(); !slices.Contains(told, "0 *") || !slices.Contains(told, "15 *") {
		t.Errorf("told %q, want all databases", told)
	}
}
