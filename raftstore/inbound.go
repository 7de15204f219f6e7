package raftstore

import (
	"bufio"
	"net"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
	"github.com/redfence/redfence/raftstore/forward"
)

// inbound is the connection of a member that sends its calls to this node, which leads. It ends with the term.
type inbound struct {
	s        *Store
	source   // whose calls come
	server   string
	lead     *leadership
	out      *forward.Outbox
	sessions map[uint64]*Stream
}

// serveMember takes the calls of a member until the connection ends.
func (s *Store) serveMember(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(dialTimeout))
	r := bufio.NewReaderSize(conn, 64<<10)
	hello, err := forward.Read(r)
	lead := s.lead.Load()
	if err != nil || hello.Kind != forward.Hello || lead == nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	in := &inbound{s: s, server: hello.Server, lead: lead, out: forward.NewOutbox(conn), sessions: map[uint64]*Stream{}}
	in.name = hello.Origin
	in.out.Put(forward.Frame{Kind: forward.Welcome, Term: lead.term})
	done := make(chan struct{})
	go func() { in.out.Run(); close(done) }()
	s.peers.add(in, s.servers())
	if s.lead.Load() == lead { // else it was lost before peers knew of this one
		in.hear(r)
	}
	s.peers.remove(in)
	for _, st := range in.sessions {
		refuse(s.queue.abandon(&st.lane), resp.ErrAbandoned)
	}
	in.out.Close()
	<-done
}

// hear takes what the member says until the connection ends. Calls that have come together go into the log together.
func (in *inbound) hear(r *bufio.Reader) {
	defer in.s.propose()
	for {
		if !forward.AtHand(r) {
			in.s.propose()
		}
		f, err := forward.Read(r)
		if err != nil {
			return
		}
		switch f.Kind {
		case forward.Submit:
			in.submit(f)
		case forward.Close:
			if st := in.sessions[f.Session]; st != nil {
				refuse(in.s.queue.abandon(&st.lane), resp.ErrAbandoned)
				delete(in.sessions, f.Session)
			}
		case forward.Pong:
			in.s.peers.pong(in.server, f.Seq, f.Term)
		default: // of a later version
		}
	}
}

// submit runs a call of the member as one of a session of this node. The caller proposes.
func (in *inbound) submit(f forward.Frame) {
	st := in.sessions[f.Session]
	if st == nil {
		st = &Stream{store: in.s}
		in.sessions[f.Session] = st
	}
	in.acked.Store(max(in.acked.Load(), f.Acked))
	t := &ticket{from: &in.source, seq: f.Seq, lead: in.lead, flush: in.out.Flush, told: func(fate forward.Fate, r commands.Result) {
		in.out.Pile(forward.Frame{Kind: forward.Answer, Round: f.Round, Seq: f.Seq, Fate: fate, Cut: r.Close, Reply: r.Reply})
	}}
	call, err := callOf(f.Decoded)
	if err != nil {
		t.told(forward.Refused, commands.Result{Reply: resp.ReplyFor(err)})
		t.flush()
		return
	}
	since := time.Now().Add(-time.Duration(f.Age) * time.Millisecond)
	in.s.run(waiting{call: call, stream: st, since: since, ticket: t}, f.Logged)
}

// callOf binds what a member has sent. It has no session here: who changes and reads keys is the member's to know.
func callOf(c entry.Call) (*commands.Call, error) {
	call := &commands.Call{Block: c.Block, Watched: c.Watched, Requests: make([]*commands.Request, len(c.Lines))}
	for i, line := range c.Lines {
		r, err := commands.Bind(line.Args, line.DB)
		if err != nil {
			return nil, err
		}
		call.Requests[i] = r
	}
	return call, nil
}
