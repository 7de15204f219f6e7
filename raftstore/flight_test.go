package raftstore

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/forward"
)

// Of the calls of one entry each has its own time: one that waited long for its place in the entry takes nothing from
// the others. Every call is answered once.
func TestCallsOfAnEntryAreLateOneByOne(t *testing.T) {
	const patience = time.Minute
	for _, tt := range []struct {
		name   string
		waited []time.Duration // until now; negative for an abandoned call
		sent   time.Duration   // how long ago Raft was given the entry
		want   string
	}{
		{"one is late", []time.Duration{patience / 2, 2 * patience, patience / 2}, patience / 2, "[done] [late] [done]"},
		{"all are late", []time.Duration{2 * patience, patience}, patience, "[late] [late]"},
		{"none is late", []time.Duration{0, patience / 2}, patience / 2, "[done] [done]"},
		{"an abandoned one waits", []time.Duration{-2 * patience, 2 * patience}, patience, "[done] [late]"},
		{"the log gets its time", []time.Duration{0, 2 * patience}, patience / 5, "[done] [done]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Now()
			b, got := &batch{sent: now.Add(-tt.sent)}, make([][]string, len(tt.waited))
			for i, waited := range tt.waited {
				call := &commands.Call{Done: func(r commands.Result) { got[i] = append(got[i], r.Reply.Str) }}
				if waited < 0 {
					call.Abandoned, waited = func() bool { return true }, -waited
				}
				b.waiting = append(b.waiting, waiting{call: call, since: now.Add(-waited)})
			}
			for range 2 {
				fail(b.overdue(now, patience), forward.Lost, commands.Result{Reply: resp.Status("late")})
			}
			b.answer(slices.Repeat([]resp.Value{resp.Status("done")}, len(tt.waited)), func() {})
			b.fail(forward.Lost, commands.Result{Reply: resp.Status("failed")})
			if text := fmt.Sprint(got); text != "["+tt.want+"]" {
				t.Errorf("answers %s, want [%s]", text, tt.want)
			}
		})
	}
}

// Requests that clients send when they are answered share an entry: the first of them does not get one, and a sync, of its own.
func TestWhatComesWithTheAnswersGoesIntoOneEntry(t *testing.T) {
	s := open(t, untimed(t))
	const clients = 8
	var answered sync.WaitGroup
	answered.Add(clients)
	before := s.stats.Entries.Load()
	for i := range clients {
		st := s.Open()
		first := &commands.Call{Requests: []*commands.Request{request(t, "SET", fmt.Sprint("a", i), "1")}, More: true}
		second := &commands.Call{Requests: []*commands.Request{request(t, "SET", fmt.Sprint("b", i), "1")}}
		first.Done = func(commands.Result) { st.Submit(second) }
		second.Done = func(commands.Result) { answered.Done() }
		st.Submit(first)
	}
	s.Flush()
	answered.Wait()
	if n := s.stats.Entries.Load() - before; n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}
