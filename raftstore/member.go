package raftstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/raftstore/cluster"
)

// askTimeout is how long another member has for the answer to a question that it can answer by itself.
const askTimeout = time.Second

// member is what a node knows of its membership beside what Raft knows.
type member struct {
	ctx     context.Context // ends when the store closes
	stop    context.CancelFunc
	cluster atomic.Pointer[string]   // what this node belongs to
	seen    atomic.Pointer[[]string] // server ids of the empty nodes that answer, itself among them
	near    atomic.Bool              // this node has caught up with a leader since it started
	failed  chan error               // why this node must end
	changes sync.Mutex               // held by the leader while it changes the members
	cards   *cards
}

func newMember() member {
	ctx, stop := context.WithCancel(context.Background())
	return member{ctx: ctx, stop: stop, failed: make(chan error, 1), cards: newCards()}
}

// question is what members ask each other. Fields may be added; what one does not know it leaves alone.
type question struct {
	Ask     string `json:"ask"` // "who", "come", "admit", "add", "remove" or "transfer"
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Addr    string `json:"addr,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	Empty   bool   `json:"empty,omitempty"`
	Force   bool   `json:"force,omitempty"`
	Passed  bool   `json:"passed,omitempty"` // by a member that believes that this one leads
}

// introduction answers "who".
type introduction struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Addr    string   `json:"addr"`
	Cluster string   `json:"cluster,omitempty"`
	Empty   bool     `json:"empty,omitempty"` // it knows no members, not even itself
	Expect  int      `json:"expect,omitempty"`
	Seen    []string `json:"seen,omitempty"`
	State   string   `json:"state"`
	Term    uint64   `json:"term"`
	Commit  uint64   `json:"commit"`
	Applied uint64   `json:"applied"`
	// LastContact is how long ago the leader was heard of, in ms; -1 is never. 0 on the leader.
	LastContact int64  `json:"last_contact_ms"`
	StoreTime   int64  `json:"store_time_ms"`
	Leader      string `json:"leader,omitempty"` // server id
	// Led is for how long it has led, in ms; 0 when it does not.
	Led   int64             `json:"led_ms,omitempty"`
	Cards map[string]string `json:"cards,omitempty"` // that it knows, by server id, with its own
}

// admission answers "admit" when the one who asks is a member now.
type admission struct {
	Cluster string `json:"cluster"`
}

// openPort opens the cluster port if there are, or are to be, others.
func (s *Store) openPort() (err error) {
	s.member.cluster.Store(&s.id.Cluster)
	if !s.cfg.Cluster.asked() && s.id.Cluster == "" {
		return nil
	}
	s.port, err = cluster.Listen(cluster.Config{
		Listen: s.cfg.Cluster.Listen, Advertise: s.cfg.Cluster.Advertise, TLS: s.cfg.Cluster.TLS, Logger: s.cfg.Logger,
		Self: func() cluster.Self { return cluster.Self{ID: s.id.serverID(), Cluster: s.clusterID()} },
	})
	return err
}

// startMember begins to answer the questions of others, and to ask.
func (s *Store) startMember() {
	if s.port == nil {
		return
	}
	s.port.Handle(cluster.Member, func(conn net.Conn) {
		if err := cluster.Answer(conn, s.hear); err != nil {
			s.cfg.Logger.Debug("a question of another member", "error", err)
		}
	})
	s.done.Go(s.form)
	s.done.Go(s.steward)
	s.done.Go(s.exchange)
	s.done.Go(s.watchDisk)
}

// hear answers a question.
func (s *Store) hear(ctx context.Context, q question) (any, error) {
	switch q.Ask {
	case "who":
		return s.introduce(), nil
	case "admit":
		return s.admit(ctx, q)
	case "come":
		return q, s.come(q.Cluster)
	case "add", "remove", "transfer":
		return q, s.change(ctx, q)
	default:
		return nil, errors.New("this build does not know the question " + q.Ask)
	}
}

func (s *Store) introduce() introduction {
	i := introduction{
		ID: s.id.serverID(), Name: s.id.NodeID, Addr: s.addr(), Cluster: s.clusterID(), Empty: s.empty(),
		Expect: s.cfg.Cluster.Expect, State: s.state(), Term: s.raft.CurrentTerm(),
		Commit: s.raft.CommitIndex(), Applied: s.raft.AppliedIndex(),
	}
	if seen := s.member.seen.Load(); seen != nil {
		i.Seen = *seen
	}
	_, i.Leader, _ = s.leaderAddr()
	i.LastContact = s.lastContact().Milliseconds()
	i.StoreTime, _, _ = s.machine.times()
	i.Led, i.Cards = s.ledMs(), s.member.cards.all(i.ID)
	return i
}

// lastContact is how long ago this node has heard of its leader: 0 when it leads, -1 ms when never.
func (s *Store) lastContact() time.Duration {
	at := s.raft.LastContact()
	switch {
	case s.raft.State() == raft.Leader:
		return 0
	case at.IsZero():
		return -time.Millisecond
	}
	return time.Since(at)
}

// come makes an empty node belong to the cluster whose leader has added it.
func (s *Store) come(cluster string) error {
	switch mine := s.clusterID(); {
	case mine == cluster:
		return nil
	case mine != "" || !s.empty():
		return fmt.Errorf("%s belongs to cluster %s already", s.id.serverID(), mine)
	}
	return s.setCluster(cluster)
}

// addr is the address of the cluster port, empty when this node is alone.
func (s *Store) addr() string {
	if s.port == nil {
		return ""
	}
	return s.port.Addr()
}

// who asks a member who it is.
func (s *Store) who(ctx context.Context, addr string) (i introduction, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return i, cluster.Ask(ctx, s.port, addr, question{Ask: "who"}, &i)
}

// clusterID is what this node belongs to, empty when nothing yet.
func (s *Store) clusterID() string { return *s.member.cluster.Load() }

// setCluster makes this node belong to a cluster for good.
func (s *Store) setCluster(id string) error {
	changed := s.id
	changed.Cluster = id
	if err := changed.save(filepath.Join(s.cfg.Dir, identityFile)); err != nil {
		return err
	}
	s.member.cluster.Store(&id)
	return nil
}

func newClusterID() (string, error) {
	var random [8]byte
	_, err := rand.Read(random[:])
	return hex.EncodeToString(random[:]), err
}

// servers are the members, as far as this node knows.
func (s *Store) servers() []raft.Server { return s.raft.GetConfiguration().Configuration().Servers }

// empty tells whether this node knows of no members: it has never been one.
func (s *Store) empty() bool { return len(s.servers()) == 0 }

// self is this node among the members.
func (s *Store) self() (raft.Server, bool) { return serverOf(s.servers(), s.id.serverID()) }

func serverOf(servers []raft.Server, id string) (raft.Server, bool) {
	for _, server := range servers {
		if string(server.ID) == id {
			return server, true
		}
	}
	return raft.Server{}, false
}

// fail makes the process end, which Wait and Failed tell.
func (s *Store) fail(err error) {
	select {
	case s.member.failed <- err:
	default: // there is a reason already
	}
}

// Failed gives the reason when this node cannot go on and should be closed.
func (s *Store) Failed() <-chan error { return s.member.failed }

// follows tells whether this node has caught up and knows a leader.
func (s *Store) follows() bool {
	addr, _, self := s.leaderAddr()
	return s.member.near.Load() && addr != "" && !self
}

// pause waits for d, and tells whether the store is still open.
func (s *Store) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.member.ctx.Done():
		return false
	}
}
