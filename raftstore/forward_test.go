package raftstore

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/forward"
)

// followers are the members that do not lead.
func (c *nodes) followers() []*Store {
	leads := c.leader()
	return slices.DeleteFunc(c.running(), func(s *Store) bool { return s == leads })
}

// routed waits until every member has somebody to send its calls to, and the leader's can confirm reads.
func (c *nodes) routed() {
	c.t.Helper()
	for _, s := range c.running() {
		eventually(c.t, "a route", func() bool {
			s.origin.turn.RLock()
			defer s.origin.turn.RUnlock()
			return s.origin.to != nil
		})
	}
	eventually(c.t, "followers at the leader", func() bool {
		s := c.leader()
		s.peers.mu.Lock()
		defer s.peers.mu.Unlock()
		return s.peers.enough.Load() && len(s.peers.conns) == len(c.running())-1
	})
}

func TestAnyNodeServesAnyClient(t *testing.T) {
	c := startNodes(t)
	c.routed()
	a, b := c.followers()[0].Open(), c.followers()[1].Open()
	token := do(t, a, "SET", "lock", "me", "NX", "PX", "60000", "FENCE").Reply.Int()
	if token == 0 {
		t.Fatal("the lock was not granted")
	}
	release := "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
	steps := []struct {
		st   *Stream
		line []string
		want resp.Value
	}{
		{b, []string{"GET", "lock"}, resp.Str("me")},
		{b, []string{"SET", "lock", "thief", "NX", "PX", "60000"}, resp.Value{}},
		{b, []string{"FENCE", "lock", "me"}, resp.Int(token)},
		{b, []string{"EVAL", release, "1", "lock", "thief"}, resp.Int(0)},
		{a, []string{"EVAL", release, "1", "lock", "me"}, resp.Int(1)},
		{c.leader().Open(), []string{"EXISTS", "lock"}, resp.Int(0)},
		{a, []string{"HSET", "h", "f", "v"}, resp.Int(1)},
		{b, []string{"HGETALL", "h"}, resp.MapOf(resp.Str("f"), resp.Str("v"))},
		{b, []string{"HRANDFIELD", "h", "1", "WITHVALUES"}, resp.PairsOf(resp.Str("f"), resp.Str("v"))},
		{a, []string{"INCR", "h"}, resp.ErrWrongType.Value()},
		{b, []string{"EVALSHA", strings.Repeat("0", 40), "0"}, resp.ErrNoScript.Value()},
	}
	for _, s := range steps {
		if got := do(t, s.st, s.line...).Reply; fmt.Sprint(got) != fmt.Sprint(s.want) {
			t.Errorf("%q: %+v, want %+v", s.line, got, s.want)
		}
	}
}

// exec runs a block.
func exec(t *testing.T, st *Stream, watched []commands.Watch, lines ...[]string) resp.Value {
	t.Helper()
	result := make(chan commands.Result, 1)
	call := &commands.Call{Block: true, Watched: watched, Done: func(r commands.Result) { result <- r }}
	for _, line := range lines {
		call.Requests = append(call.Requests, request(t, line...))
	}
	st.Submit(call)
	return (<-result).Reply
}

func TestAWatchHoldsOnEveryNode(t *testing.T) {
	c := startNodes(t)
	c.routed()
	a, b := c.followers()[0].Open(), c.followers()[1].Open()
	watch := func() []commands.Watch {
		v := do(t, a, "WATCH", "k").Reply
		return []commands.Watch{{Key: "k", Since: uint64(v.Elems[0].Int()), Present: v.Elems[1].Int() == 1}}
	}
	seen := watch()
	if v := exec(t, a, seen, []string{"INCR", "k"}, []string{"GET", "k"}); len(v.Elems) != 2 || v.Elems[1].Str != "1" {
		t.Errorf("EXEC: %+v", v)
	}
	seen = watch()
	do(t, b, "SET", "k", "other")
	if v := exec(t, a, seen, []string{"INCR", "k"}); v.Kind != resp.NullArray {
		t.Errorf("EXEC after a change through another node: %+v", v)
	}
}

func TestReadsOfAClusterAreNotLogged(t *testing.T) {
	c := startNodes(t)
	c.routed()
	do(t, c.leader().Open(), "SET", "lock", "me", "PX", "60000")
	for _, s := range c.running() {
		st := s.Open()
		before := c.leader().Stats().Tried
		for range 5 {
			if v := do(t, st, "GET", "lock").Reply; v.Str != "me" {
				t.Errorf("GET: %+v", v)
			}
			if v := do(t, st, "SET", "lock", "x", "NX", "PX", "1").Reply; !v.IsNull() {
				t.Errorf("SET NX: %+v", v)
			}
		}
		if n := c.leader().Stats().Tried - before; n != 10 {
			t.Errorf("%d of 10 calls were answered without the log", n)
		}
	}
}

// TestCallsOfASessionKeepTheirOrder pipelines through a follower.
func TestCallsOfASessionKeepTheirOrder(t *testing.T) {
	c := startNodes(t)
	c.routed()
	st := c.followers()[0].Open()
	var all sync.WaitGroup
	for i := range 300 {
		want := strconv.Itoa(i)
		for _, line := range [][]string{{"SET", "k", want}, {"GET", "k"}} {
			all.Add(1)
			st.Submit(&commands.Call{Requests: []*commands.Request{request(t, line...)}, Done: func(r commands.Result) {
				if line[0] == "GET" && r.Reply.Str != want {
					t.Errorf("GET behind SET %s: %+v", want, r.Reply)
				}
				all.Done()
			}})
		}
	}
	all.Wait()
}

// tally counts what clients were told.
type tally struct {
	mu             sync.Mutex
	acked, unknown int64
	replies        map[int64]bool
	refused        map[string]int
}

func (n *tally) note(t *testing.T, r commands.Result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !r.Reply.IsErr():
		n.acked++
		if n.replies[r.Reply.Int()] {
			t.Errorf("two increments were told %d", r.Reply.Int())
		}
		n.replies[r.Reply.Int()] = true
	case r.Close:
		n.unknown++
	default:
		n.refused[r.Reply.Str]++
	}
}

// TestNothingIsAppliedTwice increments a counter through all nodes while the leadership changes again and again: handed
// over, or cut off with all its connections.
func TestNothingIsAppliedTwice(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rounds int
		change func(c *nodes)
	}{
		{"handed over", 12, func(c *nodes) { _ = c.leader().raft.LeadershipTransfer().Error() }},
		{"connections lost", 30, func(c *nodes) { c.leader().peers.hangUp() }},
		{"restarted", 4, func(c *nodes) {
			i := c.index(c.leader())
			c.stop(i)
			c.start(i)
			c.ready()
		}},
		{"cut off", 3, func(c *nodes) {
			i := c.index(c.leader())
			_ = c.stores[i].port.Close()
			_ = c.stores[i].Close() // it says that the port is closed already
			c.start(i)
			c.ready()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { countThrough(t, tt.rounds, tt.change) })
	}
}

// TestAStopLeavesNothingUnknown stops the leader and starts it again, four times: what was sent to it or through it is
// answered, by itself or by its successor.
func TestAStopLeavesNothingUnknown(t *testing.T) {
	n := countThrough(t, 4, func(c *nodes) {
		i := c.index(c.leader())
		c.stop(i)
		c.start(i)
		c.ready()
	})
	for text := range n.refused {
		if !strings.HasPrefix(text, "TRYAGAIN") && !strings.HasPrefix(text, "CLUSTERDOWN") {
			t.Errorf("a client was told %q", text)
		}
	}
	if n.unknown > 0 {
		t.Errorf("%d outcomes are unknown", n.unknown)
	}
}

func countThrough(t *testing.T, rounds int, change func(*nodes)) *tally {
	t.Helper()
	c := startNodes(t)
	c.routed()
	n := &tally{replies: map[int64]bool{}, refused: map[string]int{}}
	for range rounds {
		var clients sync.WaitGroup
		stop := make(chan struct{})
		for _, s := range c.running() {
			for range 4 {
				clients.Go(func() { increment(t, s.Open(), n, stop) })
			}
		}
		before := n.count()
		eventually(t, "increments", func() bool { return n.count() > before+20 })
		change(c)
		before = n.count()
		eventually(t, "increments after the change", func() bool { return n.count() > before+20 })
		close(stop)
		clients.Wait()
	}
	got, err := strconv.ParseInt(c.do("GET", "n").Str, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("counter %d, acknowledged %d, unknown %d, refused %v", got, n.acked, n.unknown, n.refused)
	if got < n.acked || got > n.acked+n.unknown {
		t.Errorf("the counter is %d after %d acknowledged and %d unknown increments", got, n.acked, n.unknown)
	}
	return n
}

func (n *tally) count() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.acked
}

// increment increments with a few calls at a time until stop is closed.
func increment(t *testing.T, st *Stream, n *tally, stop chan struct{}) {
	defer st.Close()
	for {
		select {
		case <-stop:
			return
		case <-st.store.closing:
			return
		default:
		}
		var answers sync.WaitGroup
		for range 3 {
			answers.Add(1)
			st.Submit(&commands.Call{
				Requests: []*commands.Request{request(t, "INCR", "n")},
				Done: func(r commands.Result) {
					n.note(t, r)
					answers.Done()
				},
			})
		}
		answers.Wait()
	}
}

// TestWhatIsToldOnEveryNode: publications are counted and told on the node of the client, and a barrier is behind all that
// was acknowledged elsewhere.
func TestWhatIsToldOnEveryNode(t *testing.T) {
	c := reserve(t, 3)
	told := make([]chan string, 3)
	for i := range c.stores {
		told[i] = make(chan string, 1000)
		cfg := c.config(i)
		cfg.Sink = sinkFunc(func(m commands.Message) int {
			told[i] <- m.Payload
			return 10 + i
		})
		c.startWith(i, cfg)
	}
	c.ready()
	c.routed()
	for n := range 5 {
		for i, s := range c.stores {
			if got := do(t, s.Open(), "PUBLISH", "ch", "m").Reply.Int(); got != int64(10+i) {
				t.Errorf("PUBLISH on node %d: %d receivers", i, got)
			}
			barrier := make(chan error, 1)
			other := (i + 1) % 3
			c.stores[other].Barrier(func(err error) { barrier <- err })
			if err := <-barrier; err != nil {
				t.Fatal(err)
			}
			if got := len(told[other]); got != 3*n+i+1 {
				t.Errorf("behind the barrier node %d was told of %d publications, want %d", other, got, 3*n+i+1)
			}
		}
	}
}

// TestARefusedCallIsNotSentAgain: one that may have been run before is not kept for the next leader either, who would run it
// behind later calls of its session.
func TestARefusedCallIsNotSentAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		doubt bool
		want  commands.Result
	}{
		"sent once":  {false, commands.Result{Reply: resp.ErrTryAgainBusy.Value()}},
		"sent again": {true, commands.Result{Reply: resp.ErrUnknownOutcome.Value(), Close: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Store{cfg: DefaultConfig("")}
			o, told := newOrigin(s), make(chan commands.Result, 1)
			p := &pending{call: &commands.Call{Done: func(r commands.Result) { told <- r }}, stream: &Stream{store: s}}
			if err := o.enlist(p); err != nil {
				t.Fatal(err)
			}
			p.sent, p.doubt = true, tt.doubt
			o.told(p, 0, forward.Refused, commands.Result{Reply: resp.ErrTryAgainBusy.Value()}, false)
			if got := <-told; fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("told %+v, want %+v", got, tt.want)
			}
			if !o.idle() {
				t.Error("it is still pending")
			}
		})
	}
}

func TestPeersAgree(t *testing.T) {
	servers := func(voters string) (list []raft.Server) {
		for id := range strings.SplitSeq(voters, "") {
			list = append(list, raft.Server{ID: raft.ServerID(strings.ToLower(id)), Suffrage: raft.Voter})
			if id != strings.ToLower(id) {
				list[len(list)-1].Suffrage = raft.Nonvoter
			}
		}
		return list
	}
	type pong struct {
		from string
		seq  uint64
		term uint64
	}
	tests := []struct {
		name, servers, connected string
		pongs                    []pong
		want                     string
	}{
		{"one of two others", "abc", "bc", []pong{{"b", 1, 5}}, "true"},
		{"an earlier term is no other leader's", "abc", "bc", []pong{{"c", 1, 4}}, "true"},
		{"a later term", "abc", "bc", []pong{{"b", 1, 6}}, "false"},
		{"nobody answers", "abc", "bc", nil, "open"},
		{"an answer to another question", "abc", "bc", []pong{{"b", 0, 5}, {"b", 2, 5}}, "open"},
		{"one answers twice", "abcde", "bcde", []pong{{"b", 1, 5}, {"b", 1, 5}}, "open"},
		{"two of four others", "abcde", "bcde", []pong{{"b", 1, 5}, {"d", 1, 5}}, "true"},
		{"too few are connected", "abcde", "b", nil, "none"},
		{"one without a vote", "abcD", "bD", []pong{{"d", 1, 5}}, "open"},
		{"alone", "aB", "b", nil, "true"},
		{"without a vote itself", "Abc", "bc", []pong{{"b", 1, 5}}, "open"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &peers{conns: map[string]*inbound{}}
			for id := range strings.SplitSeq(strings.ToLower(tt.connected), "") {
				p.conns[id] = &inbound{server: id, out: silent()}
			}
			v := p.ask(5, servers(tt.servers), "a")
			for _, g := range tt.pongs {
				p.pong(g.from, g.seq, g.term)
			}
			if got := verdict(v); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// silent is an outbox whose connection nobody reads.
func silent() *forward.Outbox {
	conn, _ := net.Pipe()
	return forward.NewOutbox(conn)
}

func verdict(v *votes) string {
	if v == nil {
		return "none"
	}
	select {
	case yes := <-v.decided:
		return strconv.FormatBool(yes)
	default:
		return "open"
	}
}
