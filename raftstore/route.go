package raftstore

import (
	"context"
	"net"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/raftstore/cluster"
	"github.com/redfence/redfence/raftstore/forward"
)

const (
	// dialTimeout is how long a connection to the leader may take.
	dialTimeout = 500 * time.Millisecond
	// steerEvery is how often the router looks at what waits, and tries again to reach the leader.
	steerEvery = 25 * time.Millisecond
)

// startForwarding begins to take the calls of others, and to send this node's to the leader.
func (s *Store) startForwarding() {
	if s.port == nil {
		return
	}
	s.port.Handle(cluster.Forward, func(conn net.Conn) { s.serveMember(conn) })
	s.done.Go(s.steer)
}

// steer keeps the route of this node's calls.
func (s *Store) steer() {
	changes := make(chan raft.Observation, 1)
	observer := raft.NewObserver(changes, false, func(o *raft.Observation) bool {
		_, is := o.Data.(raft.LeaderObservation)
		return is
	})
	s.raft.RegisterObserver(observer)
	defer s.raft.DeregisterObserver(observer)
	clock := time.NewTicker(steerEvery)
	defer clock.Stop()
	for {
		select {
		case <-s.closing:
			s.origin.reroute(nil)
			return
		case <-changes:
		case <-s.origin.news:
		case now := <-clock.C:
			s.origin.expire(now)
			s.peers.count(s.servers())
			if !s.origin.waits() {
				continue
			}
		}
		s.origin.steer()
	}
}

// waits tells whether calls wait for a route, or there is none.
func (o *origin) waits() bool {
	o.turn.RLock()
	defer o.turn.RUnlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to == nil || o.unsent > 0
}

// steer sends calls to whoever leads now.
func (o *origin) steer() {
	lead := o.s.lead.Load()
	addr, id, self := o.s.leaderAddr()
	if self {
		addr = ""
	}
	o.turn.RLock()
	same := o.to != nil && o.to.same(lead, addr, id)
	old := o.to
	o.turn.RUnlock()
	switch {
	case same:
		o.resend()
		return
	case old != nil:
		o.reroute(nil)
	}
	switch {
	case lead != nil:
		o.reroute(&here{o.s, lead})
	case addr != "":
		if there := o.dial(addr, id); there != nil {
			o.reroute(there)
		}
	}
}

// reroute sends all calls another way. What was sent the old way may still be run.
func (o *origin) reroute(to route) {
	o.turn.Lock()
	if o.to != nil {
		o.to.end()
	}
	o.to = to
	o.mu.Lock()
	o.round++
	for _, p := range o.calls {
		if p.sent {
			o.unsend(p, true)
		}
	}
	o.mu.Unlock()
	o.sendAll()
	o.turn.Unlock()
	o.s.propose() // or refuse what waits here
}

// resend sends the calls that were not taken.
func (o *origin) resend() {
	o.turn.Lock()
	o.sendAll()
	o.turn.Unlock()
	o.s.propose()
}

// sendAll sends what is not sent, in order. turn is held for writing.
func (o *origin) sendAll() {
	if o.to == nil {
		return
	}
	o.mu.Lock()
	var list []*pending
	for _, p := range o.calls {
		if !p.sent && !p.done {
			list = append(list, p)
		}
	}
	o.mu.Unlock()
	for _, p := range list {
		o.send(p)
	}
	o.to.flush()
}

// here is the route of a node that leads.
type here struct {
	s    *Store
	lead *leadership
}

func (h *here) send(p *pending, round uint64, logged bool) {
	o := h.s.origin
	h.s.run(waiting{call: p.call, stream: p.stream, since: p.since, ticket: &ticket{
		from: &o.source, seq: p.seq, lead: h.lead,
		told: func(f forward.Fate, r commands.Result) { o.told(p, round, f, r, true) },
	}}, logged)
}

func (*here) close(*Stream) {} // its lane is closed already
func (*here) flush()        {} // the caller proposes
func (*here) end()          {}

func (h *here) same(lead *leadership, _, _ string) bool { return lead == h.lead }

// run executes a call on this node, which leads, or puts it into the queue for the log: see Stream.Submit. The caller
// proposes.
func (s *Store) run(w waiting, logged bool) {
	st := w.stream
	if st.held != nil {
		s.handOver.release(st.held, s.enqueue)
		st.held = nil
	}
	if !logged && st.pending.Load() == 0 && s.peers.enough.Load() {
		if v, ok := s.tryWithout(w.call, w.ticket.lead); ok {
			if !st.heldBack(w, v) {
				s.confirm(trial{w, v})
			}
			return
		}
	}
	st.pending.Add(1)
	if s.enqueue(w) {
		s.followUp(w.call, w.since)
	}
}

// there is the route of a node that follows: its connection to the leader.
type there struct {
	o        *origin
	addr, id string
	out      *forward.Outbox
	dead     chan struct{} // closed when nothing more comes
}

// dial connects to the leader. It returns nil when that cannot be had now.
func (o *origin) dial(addr, id string) route {
	ctx, cancel := context.WithTimeout(o.s.member.ctx, dialTimeout)
	defer cancel()
	conn, err := o.s.port.DialMember(ctx, addr, id, cluster.Forward)
	if err != nil {
		return nil
	}
	t := &there{o: o, addr: addr, id: id, out: forward.NewOutbox(conn), dead: make(chan struct{})}
	if err := t.greet(conn); err != nil {
		conn.Close()
		return nil
	}
	return t
}

func (t *there) send(p *pending, round uint64, logged bool) {
	t.out.Pile(forward.Frame{
		Kind: forward.Submit, Session: p.stream.number, Round: round, Seq: p.seq, Acked: t.o.acked.Load(),
		Age: uint64(time.Since(p.since).Milliseconds()), Logged: logged || p.here, Call: p.call,
	})
}

func (t *there) close(st *Stream) { t.out.Put(forward.Frame{Kind: forward.Close, Session: st.number}) }
func (t *there) flush()           { t.out.Flush() }
func (t *there) end()             { t.out.Close() }

func (t *there) same(lead *leadership, addr, id string) bool {
	select {
	case <-t.dead:
		return false
	default:
		return lead == nil && addr == t.addr && id == t.id
	}
}
