package raftstore

import (
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/raftstore/entry"
	"github.com/redfence/redfence/raftstore/keyspace"
)

// fsm is the thin shell between the Raft library and the machine. The library calls all its methods from one
// goroutine.
type fsm struct{ s *Store }

// Apply implements raft.FSM. It runs an entry, delivers its publications in order, and returns the replies, one per
// call.
func (f fsm) Apply(l *raft.Log) any {
	e, err := entry.Decode(l.Data)
	if err != nil {
		// The log is checked by checksums below us: an entry of a later version, or a defect. To go on would make
		// this node differ from the others.
		panic(fmt.Sprintf("log entry %d of term %d: %v", l.Index, l.Term, err))
	}
	outcomes, expired := f.s.machine.apply(e)
	for _, msg := range expired {
		f.s.cfg.Sink.Message(msg)
	}
	replies := make([]resp.Value, len(outcomes))
	for i := range outcomes {
		f.deliver(e.Calls[i], outcomes[i])
		replies[i] = joined(e.Calls[i], outcomes[i].replies)
	}
	f.s.applied(len(e.Calls))
	return replies
}

// deliver sends the publications of a call to the local subscribers. A PUBLISH of a client, unlike one of a script,
// is answered with their number.
func (f fsm) deliver(c entry.Call, o outcome) {
	for _, p := range o.events {
		n := f.s.cfg.Sink.Message(p.Message)
		if isPublish(c.Lines[p.request].Args) {
			o.replies[p.request] = resp.Int(int64(n))
		}
	}
}

func isPublish(args []string) bool {
	spec, err := commands.Lookup(args)
	return err == nil && spec.Group == commands.PubSubs
}

func joined(c entry.Call, replies []resp.Value) resp.Value {
	if c.Block {
		return resp.Arr(replies...)
	}
	return replies[0]
}

// Snapshot implements raft.FSM. It only takes a view, which costs the same for any number of keys.
func (f fsm) Snapshot() (raft.FSMSnapshot, error) { return snapshot{f.s.machine.view()}, nil }

// Restore implements raft.FSM.
func (f fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	f.s.machine.mu.Lock()
	defer f.s.machine.mu.Unlock()
	return f.s.machine.ks.Restore(r)
}

// snapshot writes a view while the machine goes on.
type snapshot struct{ view *keyspace.View }

// Persist implements raft.FSMSnapshot.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := s.view.WriteTo(sink); err != nil {
		return fmt.Errorf("%w (cancel: %v)", err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (snapshot) Release() {}
