package raftstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands/resp"
)

// settle is how long a cluster may take for what takes well under a second on an idle machine.
const settle = 60 * time.Second

// nodes are members of a cluster in this process, over loopback and with real disks.
type nodes struct {
	t      *testing.T
	addrs  []string
	dirs   []string
	stores []*Store // nil while stopped
	heart  time.Duration
}

// reserve finds free addresses for n members.
func reserve(t *testing.T, n int) *nodes {
	t.Helper()
	c := &nodes{t: t, stores: make([]*Store, n), heart: 100 * time.Millisecond}
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c.addrs = append(c.addrs, l.Addr().String())
		c.dirs = append(c.dirs, t.TempDir())
	}
	t.Cleanup(func() {
		for i := range c.stores {
			c.stop(i)
		}
	})
	return c
}

// startNodes forms a cluster of three members.
func startNodes(t *testing.T) *nodes {
	t.Helper()
	c := reserve(t, 3)
	for i := range c.stores {
		c.start(i)
	}
	c.ready()
	return c
}

func (c *nodes) config(i int) Config {
	cfg := DefaultConfig(c.dirs[i])
	cfg.NodeID = string(rune('a' + i))
	cfg.Cluster.Listen, cfg.Cluster.Expect, cfg.Cluster.Join = c.addrs[i], len(c.addrs), c.addrs
	cfg.Cluster.Heartbeat = c.heart
	return cfg
}

func (c *nodes) start(i int) { c.startWith(i, c.config(i)) }

func (c *nodes) startWith(i int, cfg Config) {
	c.t.Helper()
	s, err := Open(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	c.stores[i] = s
}

func (c *nodes) stop(i int) {
	c.t.Helper()
	if c.stores[i] == nil {
		return
	}
	if err := c.stores[i].Close(); err != nil {
		c.t.Error(err)
	}
	c.stores[i] = nil
}

// running are the members that are not stopped.
func (c *nodes) running() []*Store {
	return slices.DeleteFunc(slices.Clone(c.stores), func(s *Store) bool { return s == nil })
}

// ready waits until all running members can serve.
func (c *nodes) ready() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), settle)
	defer cancel()
	for _, s := range c.running() {
		if err := s.Wait(ctx); err != nil {
			c.t.Fatal(err)
		}
	}
}

// leader waits until one member leads and is ready.
func (c *nodes) leader() *Store {
	c.t.Helper()
	var found *Store
	eventually(c.t, "a leader", func() bool {
		for _, s := range c.running() {
			if s.lead.Load() != nil && s.raft.State() == raft.Leader {
				found = s
			}
		}
		return found != nil
	})
	return found
}

// index is the place of a store.
func (c *nodes) index(s *Store) int { return slices.Index(c.stores, s) }

// do runs a command on the leader, again when it surely was not executed.
func (c *nodes) do(line ...string) resp.Value {
	c.t.Helper()
	var v resp.Value
	eventually(c.t, fmt.Sprint(line), func() bool {
		v = do(c.t, c.leader().Open(), line...).Reply
		return !v.IsErr()
	})
	return v
}

// voters waits until the leader knows just so many members, all with a vote.
func (c *nodes) voters(n int) {
	c.t.Helper()
	eventually(c.t, fmt.Sprint(n, " voters"), func() bool {
		servers := c.leader().servers()
		return len(servers) == n && !slices.ContainsFunc(servers, func(s raft.Server) bool { return s.Suffrage != raft.Voter })
	})
}

// eventually waits until something is the case.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.NewTimer(settle)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-deadline.C:
			t.Fatalf("still waiting for %s", what)
		case <-tick.C:
		}
	}
}

func TestAClusterFormsInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			c := reserve(t, 3)
			for i, n := range order {
				c.start(n)
				if i < 2 {
					eventually(t, "the nodes see each other", func() bool {
						seen := c.stores[n].member.seen.Load()
						return seen != nil && len(*seen) == i+1
					})
				}
			}
			c.ready()
			c.voters(3)
			for _, s := range c.stores {
				if s.clusterID() == "" || s.clusterID() != c.stores[0].clusterID() {
					t.Errorf("cluster %q", s.clusterID())
				}
			}
			if v := c.do("SET", "lock", "owner", "NX", "PX", "60000"); v.Str != "OK" {
				t.Errorf("SET NX: %+v", v)
			}
		})
	}
}

func TestTooFewNodesFormNothing(t *testing.T) {
	c := reserve(t, 3)
	c.start(0)
	c.start(1)
	eventually(t, "two see each other", func() bool {
		seen := c.stores[0].member.seen.Load()
		return seen != nil && len(*seen) == 2
	})
	if !c.stores[0].empty() || !c.stores[1].empty() {
		t.Error("two of three made a cluster")
	}
}

func TestAllRestartWithWhatTheyHave(t *testing.T) {
	c := startNodes(t)
	token := c.do("SET", "lock", "owner", "NX", "PX", "60000", "FENCE").Int()
	for i := range c.stores {
		c.stop(i)
	}
	for i := range c.stores {
		cfg := c.config(i)
		cfg.Cluster.Expect, cfg.Cluster.Join = 0, nil // they know each other
		c.startWith(i, cfg)
	}
	c.ready()
	if got := c.do("FENCE", "lock", "owner").Int(); got != token {
		t.Errorf("token %d after a restart of all, want %d", got, token)
	}
}

func TestTheOthersGoOnWithoutTheLeader(t *testing.T) {
	c := startNodes(t)
	token := c.do("SET", "lock", "owner", "NX", "PX", "600000", "FENCE").Int()
	old := c.index(c.leader())
	c.stop(old)
	if v := c.do("GET", "lock"); v.Str != "owner" {
		t.Errorf("the lock after a change of leader: %+v", v)
	}
	if got := c.do("SET", "other", "x", "FENCE").Int(); got <= token {
		t.Errorf("token %d after a change of leader, was %d", got, token)
	}
	c.start(old)
	c.ready()
	c.voters(3)
}

func TestAWipedNodeComesBackWithoutTheVoteOfItsOldSelf(t *testing.T) {
	c := startNodes(t)
	c.do("SET", "lock", "owner", "NX", "PX", "600000")
	lost := (c.index(c.leader()) + 1) % 3
	was := c.stores[lost].id.serverID()
	c.stop(lost)
	if err := os.RemoveAll(c.dirs[lost]); err != nil {
		t.Fatal(err)
	}
	c.start(lost)
	c.ready()
	c.voters(3)
	servers := c.leader().servers()
	if _, found := serverOf(servers, was); found {
		t.Error("the old self is still a member")
	}
	if _, found := serverOf(servers, c.stores[lost].id.serverID()); !found {
		t.Error("the new self is no member")
	}
	eventually(t, "it has the lock", func() bool { return c.stores[lost].Stats().Keys == 1 })
}

// TestAnAmnesiacDoesNotVote: two of three are gone, one of them for good. What remains is no majority, and the wiped node
// at the address of the lost one must not make it one.
func TestAnAmnesiacDoesNotVote(t *testing.T) {
	c := startNodes(t)
	c.do("SET", "lock", "owner", "NX", "PX", "600000")
	leads := c.index(c.leader())
	c.stop(leads)
	wiped, stays := (leads+1)%3, (leads+2)%3
	c.stop(wiped)
	if err := os.RemoveAll(c.dirs[wiped]); err != nil {
		t.Fatal(err)
	}
	c.start(wiped)
	eventually(t, "the one that stays has asked for votes", func() bool {
		return c.stores[stays].raft.State() == raft.Candidate
	})
	for range 10 { // ten election timeouts
		if !c.stores[stays].pause(2 * c.heart) {
			t.Fatal("closed")
		}
		if c.stores[stays].raft.State() == raft.Leader || !c.stores[wiped].empty() {
			t.Fatal("a node without memory has made a majority")
		}
	}
	c.start(leads)
	c.voters(3)
	if v := c.do("GET", "lock"); v.Str != "owner" {
		t.Errorf("GET: %+v", v)
	}
}

func TestAForeignNodeIsRefused(t *testing.T) {
	c := startNodes(t)
	other := startNodes(t)
	other.stop(0)
	cfg := other.config(0)
	cfg.Cluster.Join = c.addrs
	other.startWith(0, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	if err := other.stores[0].Wait(ctx); !errors.Is(err, errAlien) {
		t.Errorf("error %v, want errAlien", err)
	}
}

func TestASingleNodeGrowsIntoACluster(t *testing.T) {
	c := reserve(t, 3)
	cfg := c.config(0)
	cfg.Cluster.Expect, cfg.Cluster.Join = 0, nil
	s := open(t, cfg)
	token := do(t, s.Open(), "SET", "lock", "owner", "NX", "PX", "600000", "FENCE").Reply.Int()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range c.stores {
		c.start(i)
	}
	c.ready()
	c.voters(3)
	if c.leader().lead.Load().alone.Load() {
		t.Error("a leader of three takes itself for the only one")
	}
	if got := c.do("FENCE", "lock", "owner").Int(); got != token {
		t.Errorf("token %d in the cluster, want %d", got, token)
	}
}

func TestAMemberMayMove(t *testing.T) {
	c := startNodes(t)
	moves := (c.index(c.leader()) + 1) % 3
	c.stop(moves)
	cfg := c.config(moves)
	cfg.Cluster.Listen = "127.0.0.1:0"
	c.startWith(moves, cfg)
	c.ready()
	eventually(t, "the others know its address", func() bool {
		self, found := serverOf(c.leader().servers(), c.stores[moves].id.serverID())
		return found && string(self.Address) == c.stores[moves].port.Addr()
	})
}

// administer asks a member what an operator would.
func administer(t *testing.T, s *Store, line ...string) resp.Value {
	t.Helper()
	return s.Administer(t.Context(), request(t, append([]string{"REDFENCE"}, line...)...))
}

func TestMembersAreChangedThroughAnyMember(t *testing.T) {
	c := startNodes(t)
	c.voters(3)
	leads := c.index(c.leader())
	asked, gone := c.stores[(leads+1)%3], (leads+2)%3
	name := c.stores[gone].id.NodeID
	if v := administer(t, asked, "MEMBER", "REMOVE", "nobody"); !v.IsErr() {
		t.Errorf("nobody was removed: %+v", v)
	}
	if v := administer(t, asked, "MEMBER", "REMOVE", name); v.IsErr() {
		t.Fatal(v.Str)
	}
	c.voters(2)
	c.stop(gone)
	c.start(gone) // it does not come back by itself
	other := (leads + 1) % 3
	if v := administer(t, asked, "MEMBER", "REMOVE", c.stores[leads].id.NodeID); !v.IsErr() {
		c.voters(1) // one of two: the other one is a majority
	}
	if v := administer(t, c.stores[other], "STATUS"); v.IsErr() {
		t.Error(v.Str)
	}
}

func TestRemovingTheMajorityAsksForForce(t *testing.T) {
	c := startNodes(t)
	c.voters(3)
	leads := c.index(c.leader())
	down, up := (leads+1)%3, (leads+2)%3
	name := c.stores[up].id.NodeID
	c.stop(down)
	v := administer(t, c.leader(), "MEMBER", "REMOVE", name)
	if !strings.Contains(v.Str, "no majority") || !strings.Contains(v.Str, "--force") {
		t.Errorf("answer %+v", v)
	}
	if v := administer(t, c.leader(), "MEMBER", "REMOVE", c.config(down).NodeID); v.IsErr() {
		t.Errorf("the one that is down: %+v", v)
	}
}

func TestTheLeadershipIsHandedOver(t *testing.T) {
	c := startNodes(t)
	c.voters(3)
	to := (c.index(c.leader()) + 1) % 3
	eventually(t, "the new leader", func() bool { // a slow machine may need more than one attempt, and says so
		v := administer(t, c.stores[(to+1)%3], "MEMBER", "TRANSFER", c.stores[to].id.serverID())
		return !v.IsErr() && c.stores[to].lead.Load() != nil
	})
}

func TestAnEmptyNodeIsAdded(t *testing.T) {
	c := startNodes(t)
	more := reserve(t, 2) // waits for another one, and is invited instead
	more.dirs[1] = more.dirs[0]
	cfg := more.config(0)
	cfg.NodeID = "z"
	more.startWith(0, cfg)
	if v := administer(t, c.stores[0], "MEMBER", "ADD", more.addrs[0]); v.IsErr() {
		t.Fatal(v.Str)
	}
	more.ready()
	c.voters(4)
	if v := administer(t, c.stores[0], "MEMBER", "ADD", more.addrs[1]); !v.IsErr() {
		t.Errorf("nobody was added: %+v", v)
	}
}

func TestStatusTellsOfAllMembers(t *testing.T) {
	c := startNodes(t)
	c.voters(3)
	leader := c.leader()
	down := (c.index(leader) + 1) % 3
	id := c.stores[down].id.serverID()
	c.stop(down)
	asked := c.stores[(c.index(leader)+2)%3]
	st := asked.Status(t.Context())
	if st.Cluster != leader.clusterID() || st.Leader != leader.id.serverID() || len(st.Members) != 3 {
		t.Errorf("status %+v", st)
	}
	for _, m := range st.Members {
		if (m.Error != "") != (m.ID == id) || !m.Voter || m.Error == "" && m.Term == 0 {
			t.Errorf("member %+v", m)
		}
	}
}

// TestALaggingMemberCatchesUpBySnapshot: what it lacks is in the log of nobody any more, and the others go on meanwhile.
func TestALaggingMemberCatchesUpBySnapshot(t *testing.T) {
	c := reserve(t, 3)
	start := func(i int) {
		cfg := c.config(i)
		cfg.SnapshotEntries, cfg.TrailingEntries, cfg.SnapshotInterval = 20, 5, 20*time.Millisecond
		c.startWith(i, cfg)
	}
	for i := range c.stores {
		start(i)
	}
	c.ready()
	c.voters(3)
	leader := c.leader()
	late := (c.index(leader) + 1) % 3
	c.stop(late)
	had, err := leader.disk.log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	st := leader.Open()
	eventually(t, "the log of the leader is cut", func() bool {
		do(t, st, "INCR", "n")
		first, err := leader.disk.log.FirstIndex()
		return err == nil && first > had+1
	})
	start(late)
	eventually(t, "it has what the leader has", func() bool {
		do(t, st, "INCR", "n")
		return c.stores[late].Stats().Keys == 1
	})
	c.ready()
	eventually(t, "it has applied as much", func() bool {
		return c.stores[late].raft.AppliedIndex() == leader.raft.AppliedIndex()
	})
}
