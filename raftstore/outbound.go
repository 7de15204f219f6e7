package raftstore

import (
	"bufio"
	"errors"
	"net"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/raftstore/forward"
)

var errNotWelcome = errors.New("it does not lead")

// greet says whose calls come, waits for the leader to agree, and begins to hear it.
func (t *there) greet(conn net.Conn) error {
	hello := forward.Append(nil, forward.Frame{Kind: forward.Hello, Server: t.o.s.id.serverID(), Origin: t.o.name})
	if err := conn.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	if _, err := conn.Write(hello); err != nil {
		return err
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	f, err := forward.Read(r)
	if err == nil && f.Kind != forward.Welcome {
		err = errNotWelcome
	}
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	s := t.o.s
	s.done.Go(t.out.Run)
	s.done.Go(func() {
		t.hear(r)
		t.out.Close()
		close(t.dead)
		t.o.kick()
	})
	return nil
}

// hear takes the answers of the leader until the connection ends.
func (t *there) hear(r *bufio.Reader) {
	for {
		f, err := forward.Read(r)
		if err != nil {
			return
		}
		switch f.Kind {
		case forward.Answer:
			t.o.answered(f)
		case forward.Ping:
			t.out.Put(forward.Frame{Kind: forward.Pong, Seq: f.Seq, Term: t.o.s.raft.CurrentTerm()})
		default: // of a later version
		}
	}
}

// answered takes the leader's answer to a call.
func (o *origin) answered(f forward.Frame) {
	o.mu.Lock()
	p := o.find(f.Seq)
	o.mu.Unlock()
	if p != nil {
		o.told(p, f.Round, f.Fate, commands.Result{Reply: f.Reply, Close: f.Cut}, false)
	}
}
