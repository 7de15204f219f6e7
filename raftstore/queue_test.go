package raftstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// crowd is streams that fill a queue with calls whose names tell the stream and the place in it: a1, a2, b1.
type crowd struct {
	t       *testing.T
	q       *queue
	streams map[string]*Stream
	counts  map[string]int
}

func newCrowd(t *testing.T, limit int) *crowd {
	t.Helper()
	return &crowd{t: t, q: newQueue(limit), streams: map[string]*Stream{}, counts: map[string]int{}}
}

func (c *crowd) stream(name string) *Stream {
	if c.streams[name] == nil {
		c.streams[name] = &Stream{}
	}
	return c.streams[name]
}

// push adds n calls of a stream, each with a value of size bytes, and returns the first error.
func (c *crowd) push(name string, n, size int) error {
	c.t.Helper()
	for range n {
		key := fmt.Sprint(name, c.counts[name]+1)
		call := &commands.Call{Requests: []*commands.Request{request(c.t, "SET", key, strings.Repeat("x", size))}}
		if err := c.q.push(waiting{call: call, stream: c.stream(name), since: time.Now()}); err != nil {
			return err
		}
		c.counts[name]++
	}
	return nil
}

func (c *crowd) mustPush(name string, n, size int) {
	c.t.Helper()
	if err := c.push(name, n, size); err != nil {
		c.t.Fatal(err)
	}
}

func names(calls []waiting) string {
	var list []string
	for _, w := range calls {
		list = append(list, w.call.Requests[0].Args[1])
	}
	return strings.Join(list, " ")
}

func TestLanesTakeTurns(t *testing.T) {
	type send struct {
		stream  string
		n, size int
	}
	tests := map[string]struct {
		sent []send
		n    int // calls of an entry
		want []string
	}{
		"what fits one entry goes in the order of the streams": {
			[]send{{"a", 3, 1}, {"b", 1, 1}, {"c", 2, 1}}, 6, []string{"a1 a2 a3 b1 c1 c2"},
		},
		"one call of each stream in turn": {
			[]send{{"a", 6, 1}, {"b", 2, 1}, {"c", 1, 1}}, 4, []string{"a1 b1 c1 a2", "b2 a3 a4 a5", "a6"},
		},
		"a stream alone": {
			[]send{{"a", 5, 1}}, 2, []string{"a1 a2", "a3 a4", "a5"},
		},
		"an entry has 1 MiB, and a call that does not fit keeps its turn": {
			[]send{{"a", 3, 60 << 10}, {"b", 1, 900 << 10}, {"c", 20, 60 << 10}},
			100,
			[]string{
				"a1 c1 a2 c2 a3 c3 c4 c5 c6 c7 c8 c9 c10 c11 c12 c13 c14", "b1 c15 c16", "c17 c18 c19 c20",
			},
		},
		"a large call waits for as many turns as it is larger": {
			[]send{{"a", 2, 150 << 10}, {"b", 9, 1}}, 3, []string{"b1 b2 a1", "b3 b4 b5", "a2 b6 b7", "b8 b9"},
		},
		"one larger than an entry goes alone": {
			[]send{{"a", 1, 3 << 20}, {"b", 1, 1}}, 3, []string{"b1", "a1"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, 100)
			for _, s := range tt.sent {
				c.mustPush(s.stream, s.n, s.size)
			}
			for _, want := range tt.want {
				if got := names(c.q.pop(tt.n)); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
			if left := c.q.pop(100); len(left) > 0 || c.q.count != 0 || c.q.bytes != 0 {
				t.Errorf("left: %s; %d calls, %d bytes", names(left), c.q.count, c.q.bytes)
			}
		})
	}
}

func TestAFullQueueHasRoomForOthers(t *testing.T) {
	tests := map[string]struct{ size, most int }{
		"of calls": {1, 400},
		"of bytes": {1 << 20, 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, 1000)
			for i := range 50 {
				err := c.push(fmt.Sprint("greedy", i, ":"), tt.most, tt.size)
				if i == 0 && tt.size > 1 && !errors.Is(err, resp.ErrTryAgainBusy) {
					t.Errorf("the first of them: %v", err)
				}
			}
			if err := c.push("greedy0:", reservedCalls+1, 1); !errors.Is(err, resp.ErrTryAgainBusy) {
				t.Errorf("one that has much waiting: %v", err)
			}
			for i := range 2000 {
				c.mustPush(fmt.Sprint("modest", i, ":"), reservedCalls, 1)
			}
		})
	}
}

// A client keeps its order whatever others do and however the queue is emptied.
func TestLanesKeepTheirOrder(t *testing.T) {
	c := newCrowd(t, 1<<16)
	got := map[string][]string{}
	note := func(calls []waiting) {
		for _, w := range calls {
			key := w.call.Requests[0].Args[1]
			got[key[:1]] = append(got[key[:1]], key)
		}
	}
	for i := range 200 {
		c.mustPush("a", i%7, i*100)
		c.mustPush("b", i%3, i*1000)
		c.mustPush("c", i%2, 1)
		note(c.q.pop(1 + i%5))
	}
	note(c.q.close())
	for name, n := range c.counts {
		var want []string
		for i := range n {
			want = append(want, fmt.Sprint(name, i+1))
		}
		if !slices.Equal(got[name], want) {
			t.Errorf("stream %s: %v", name, got[name])
		}
	}
}

func TestOldCallsAreFoundInEveryLane(t *testing.T) {
	c := newCrowd(t, 100)
	c.mustPush("a", 2, 1)
	c.mustPush("b", 1, 1)
	now := time.Now()
	c.mustPush("b", 1, 1)
	c.mustPush("d", 1, 1)
	if got := names(c.q.popOld(now)); got != "a1 a2 b1" {
		t.Errorf("old: %s", got)
	}
	if got := names(c.q.pop(10)); got != "b2 d1" {
		t.Errorf("left: %s", got)
	}
}

func TestAnAbandonedLane(t *testing.T) {
	c := newCrowd(t, 100)
	c.mustPush("a", 3, 1)
	c.mustPush("b", 2, 1)
	c.q.pop(1)
	if got := names(c.q.abandon(&c.stream("a").lane)); got != "a2 a3" {
		t.Errorf("dropped: %s", got)
	}
	if err := c.push("a", 1, 1); !errors.Is(err, resp.ErrAbandoned) {
		t.Errorf("a later call: %v", err)
	}
	if got := names(c.q.pop(10)); got != "b1 b2" {
		t.Errorf("left: %s", got)
	}
	if c.q.count != 0 || c.q.bytes != 0 {
		t.Errorf("%d calls, %d bytes are left", c.q.count, c.q.bytes)
	}
}

// What a client had sent to the log takes effect when it hangs up; what had not got so far is dropped, and answered.
func TestCloseDropsWhatWaits(t *testing.T) {
	s, l := openStuck(t, DefaultConfig(t.TempDir()))
	first := ask(t, s, "first")
	<-l.writing
	st, answers := s.Open(), make(chan commands.Result, 1)
	st.Submit(&commands.Call{
		Requests: []*commands.Request{request(t, "SET", "second", "v")},
		Done:     func(r commands.Result) { answers <- r },
	})
	st.Close()
	if r := <-answers; r.Reply.Str != string(resp.ErrAbandoned) {
		t.Errorf("answered %+v", r)
	}
	l.stuck.Store(false)
	l.tokens <- struct{}{} // for the one that hangs
	if a := <-first; a.Reply.IsErr() {
		t.Errorf("answered %+v", a)
	}
	if n := do(t, s.Open(), "EXISTS", "first", "second").Reply.Int(); n != 1 {
		t.Errorf("%d keys", n)
	}
}

// BenchmarkQueue is the way of a call through the queue, with one call of each stream waiting at a time.
func BenchmarkQueue(b *testing.B) {
	for _, streams := range []int{1, 64, 1024} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			q, call := newQueue(1<<16), &commands.Call{Requests: []*commands.Request{request(b, "SET", "key", "value")}}
			all := make([]Stream, streams)
			b.ReportAllocs()
			for i := 0; i < b.N; i += streams {
				for j := range all {
					if err := q.push(waiting{call: call, stream: &all[j]}); err != nil {
						b.Fatal(err)
					}
				}
				q.pop(1024)
			}
		})
	}
}
