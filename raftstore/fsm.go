package raftstore

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/raftstore/entry"
	"github.com/redfence/redfence/raftstore/keyspace"
)

// fsm is the thin shell between the Raft library and the machine. The library calls all its methods from one
// goroutine.
type fsm struct {
	s    *Store
	left error // why entries were not run, as the store closes
}

// Apply implements raft.FSM. It runs an entry and answers its calls, if they are this node's: an entry that comes here is
// committed, on the disks of a majority if this node's is counted among them. So it waits until this disk has it.
func (f *fsm) Apply(l *raft.Log) any {
	if f.left == nil {
		f.left = f.s.synced(l.Index)
	}
	if f.left != nil {
		if b := f.s.pen.take(l.Data); b != nil {
			f.s.pen.drop(b)
			b.fail(f.s.failure(f.left))
		}
		return nil
	}
	b := f.s.pen.take(l.Data)
	if b != nil && !b.alone {
		f.s.next(b) // it is on its way to the others while this one runs
	}
	w := f.work(b, l) // of the batch itself, if it is one
	replies := f.s.machine.apply(w, f.s.cfg.Sink)
	f.s.applied(len(w.calls))
	if b != nil {
		b.answer(replies, func() { f.s.behind(b) })
		f.s.peers.flush()
	} else {
		f.s.origin.applied(*w, replies)
	}
	return nil
}

// work is what an entry asks for. This node's own entries need no decoding: their requests are still at hand.
func (f *fsm) work(b *batch, l *raft.Log) *work {
	if b != nil {
		return &b.work
	}
	e, err := entry.Decode(l.Data)
	if err != nil {
		// The log is checked by checksums below us: an entry of a later version, or a defect. To go on would make
		// this node differ from the others.
		panic(fmt.Sprintf("log entry %d of term %d: %v", l.Index, l.Term, err))
	}
	w := bound(e)
	f.s.origin.claim(w)
	return &w
}

// Snapshot implements raft.FSM. It only takes a view, which costs the same for any number of keys. The library takes it to hold
// all entries that came here.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	if f.left != nil {
		return nil, f.left
	}
	return snapshot{f.s.machine.view()}, nil
}

// Restore implements raft.FSM: at the start, and on a member that has fallen so far behind that it is sent a snapshot. It tells
// of no single change and no publication, so whoever waits for one has to look, and what clients keep copies of may be
// others.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	f.s.machine.mu.Lock()
	defer f.s.machine.mu.Unlock()
	if err := f.s.machine.restore(r); err != nil {
		return err
	}
	f.s.origin.restored(f.s.machine.ran)
	for db := range keyspace.Databases {
		f.s.cfg.Sink.ReadyAll(db)
	}
	f.s.cfg.Sink.Accessed(0, []commands.Access{{Kind: commands.FlushedKeys}})
	f.s.cfg.Sink.Missed(f.s.machine.ks.Exists)
	return nil
}

// snapshot writes a view while the machine goes on.
type snapshot struct{ view view }

// Persist implements raft.FSMSnapshot.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.view.writeTo(yielding{sink}); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// yielding lets others have the processor behind each block of a snapshot. Its writer hardly ever waits, so on a
// machine with few processors the state machine would wait for it until the scheduler takes it off, which is 10 ms.
type yielding struct{ io.Writer }

func (y yielding) Write(block []byte) (int, error) {
	n, err := y.Writer.Write(block)
	runtime.Gosched()
	return n, err
}

// Release implements raft.FSMSnapshot.
func (snapshot) Release() {}
