package raftstore

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// batch is the calls of one entry on its way through the log.
type batch struct {
	work
	waiting []waiting // the same calls, with what is needed to answer them
	data    []byte    // the entry
	future  raft.ApplyFuture
	late    *time.Timer // says that the outcome is unknown
	claimed atomic.Bool // somebody answers the calls
}

// answer gives the calls their replies, unless they were answered with an error before.
func (b *batch) answer(replies []resp.Value) {
	if b.claimed.Swap(true) {
		return
	}
	for i, w := range b.waiting {
		w.finish(commands.Result{Reply: replies[i]})
	}
}

// fail answers all calls with an error, unless they were answered before.
func (b *batch) fail(r commands.Result) {
	if !b.claimed.Swap(true) {
		fail(b.waiting, r)
	}
}

// flight holds the entries in flight, so that the state machine finds the calls that an entry is made of.
type flight struct {
	mu      sync.Mutex
	batches []*batch // at most inFlight
}

func (f *flight) add(b *batch) {
	f.mu.Lock()
	f.batches = append(f.batches, b)
	f.mu.Unlock()
}

// take removes and returns the batch whose entry data is: not one of the same bytes, but the very slice that was
// handed to Raft. It returns nil for entries of other nodes and other runs.
func (f *flight) take(data []byte) *batch {
	return f.remove(func(b *batch) bool { return &b.data[0] == &data[0] })
}

// drop removes a batch that will not be applied.
func (f *flight) drop(b *batch) {
	f.remove(func(other *batch) bool { return other == b })
}

func (f *flight) remove(wanted func(*batch) bool) *batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.batches, wanted)
	if i < 0 {
		return nil
	}
	b := f.batches[i]
	f.batches = slices.Delete(f.batches, i, i+1)
	return b
}
