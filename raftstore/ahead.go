package raftstore

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// rewriteAfter is when a write that has failed is tried again. Whoever needs it to succeed has it tried at once.
const rewriteAfter = 500 * time.Millisecond

const (
	keptEntries = 64       // entries that are on disk and stay in memory as well, to be sent and applied
	keptSize    = 64 << 10 // bytes of one of them at most
)

var errLogClosed = errors.New("the log is closed")

// aheadLog lets the disk of a leader write while its followers do (Raft dissertation, section 10.2.1). The library sends an
// entry when the log has taken it, so the commands of a leader are taken into memory, and one goroutine writes them. DESIGN.md
// says why nothing shows that rests on an entry which the disk does not have yet.
//
// All else goes to the disk at once, behind what is in memory.
type aheadLog struct {
	raft.LogStore
	leads  func() bool // whether entries may be taken into memory
	failed func(error) // told that they cannot be written, on the goroutine that writes

	first atomic.Uint64 // index of the first entry that only memory has; 0 when the disk has all

	mu      sync.Mutex
	entries []*raft.Log // that only memory has, without a gap; they are never changed
	kept    [keptEntries]*raft.Log
	err     error  // why they cannot be written; nil when that is not known yet
	tries   uint64 // writes that have ended
	again   bool   // the next one need not wait
	leaving bool   // the state machine does not wait for writes that fail
	closed  bool
	work    sync.Cond   // there is something to write, or again, or closed
	wrote   sync.Cond   // a write has ended, or leaving
	later   *time.Timer // has a write that has failed tried again
	ended   chan struct{}
}

// newAhead takes nothing into memory until leads and failed are set.
func newAhead(log raft.LogStore) *aheadLog {
	l := &aheadLog{
		LogStore: log, leads: func() bool { return false }, failed: func(error) {}, ended: make(chan struct{}),
	}
	l.work.L, l.wrote.L = &l.mu, &l.mu
	l.later = time.AfterFunc(rewriteAfter, l.retry) // which finds nothing to do
	go l.write()
	return l
}

// StoreLog implements raft.LogStore.
func (l *aheadLog) StoreLog(log *raft.Log) error { return l.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore.
func (l *aheadLog) StoreLogs(logs []*raft.Log) error {
	isOther := func(log *raft.Log) bool { return log.Type != raft.LogCommand }
	if !slices.ContainsFunc(logs, isOther) && l.leads() {
		return l.take(logs)
	}
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.LogStore.StoreLogs(logs); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, log := range logs {
		entry := *log
		entry.Extensions = nil // they are of the log below
		l.keep(&entry)
	}
	return nil
}

// keep keeps an entry that is on disk. mu is held.
func (l *aheadLog) keep(entry *raft.Log) {
	if len(entry.Data) <= keptSize {
		l.kept[entry.Index%keptEntries] = entry
	}
}

// take takes entries into memory. Once they cannot be written it takes no more, so that the leader steps down.
func (l *aheadLog) take(logs []*raft.Log) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	for _, log := range logs {
		entry := *log // the library goes on to use its own
		l.entries = append(l.entries, &entry)
	}
	l.first.Store(l.entries[0].Index)
	l.work.Signal()
	return nil
}

// GetLog implements raft.LogStore. Only a leader, who sends entries, gets those that the disk does not have: an answer of a
// follower says that it has stored them.
func (l *aheadLog) GetLog(index uint64, log *raft.Log) error {
	if !l.has(index) && !l.leads() {
		if err := l.flush(); err != nil {
			return err
		}
	}
	if entry := l.inMemory(index); entry != nil {
		*log = *entry
		return nil
	}
	return l.LogStore.GetLog(index, log)
}

// inMemory returns an entry that is in memory, or nil.
func (l *aheadLog) inMemory(index uint64) *raft.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) > 0 && index >= l.entries[0].Index && index <= l.entries[len(l.entries)-1].Index {
		return l.entries[index-l.entries[0].Index]
	}
	if entry := l.kept[index%keptEntries]; entry != nil && entry.Index == index {
		return entry
	}
	return nil
}

// FirstIndex implements raft.LogStore.
func (l *aheadLog) FirstIndex() (uint64, error) {
	if err := l.flush(); err != nil {
		return 0, err
	}
	return l.LogStore.FirstIndex()
}

// LastIndex implements raft.LogStore.
func (l *aheadLog) LastIndex() (uint64, error) {
	if err := l.flush(); err != nil {
		return 0, err
	}
	return l.LogStore.LastIndex()
}

// DeleteRange implements raft.LogStore.
func (l *aheadLog) DeleteRange(from, to uint64) error {
	if err := l.flush(); err != nil {
		return err
	}
	l.mu.Lock()
	clear(l.kept[:])
	l.mu.Unlock()
	return l.LogStore.DeleteRange(from, to)
}

// IsMonotonic implements raft.MonotonicLogStore.
func (l *aheadLog) IsMonotonic() bool {
	m, ok := l.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// has tells whether the disk has all entries up to index that the log has taken.
func (l *aheadLog) has(index uint64) bool {
	first := l.first.Load()
	return first == 0 || index < first
}

// onDisk is the last of the entries up to index that the disk has.
func (l *aheadLog) onDisk(index uint64) uint64 {
	if first := l.first.Load(); first != 0 {
		return min(index, first-1)
	}
	return index
}

// wait waits until the disk has all entries up to index. When the store is closed, it does not wait for a disk that fails.
func (l *aheadLog) wait(index uint64) error {
	if l.has(index) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.has(index) {
		if l.leaving && l.err != nil {
			return l.err
		}
		l.wrote.Wait()
	}
	return nil
}

// flush waits until the disk has all that is in memory now, or a write fails.
func (l *aheadLog) flush() error {
	if l.first.Load() == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == 0 {
		return nil
	}
	last, tries := l.entries[len(l.entries)-1].Index, l.tries
	l.again = true
	l.work.Signal()
	for !l.has(last) {
		switch {
		case l.tries > tries && l.err != nil:
			return l.err
		case l.closed:
			return errLogClosed
		}
		l.wrote.Wait()
	}
	return nil
}

// leave has the state machine not wait for a disk that fails.
func (l *aheadLog) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaving = true
	l.wrote.Broadcast()
}

// Close writes what is in memory, unless that has failed before. The log below is closed by who has opened it.
func (l *aheadLog) Close() error {
	l.mu.Lock()
	l.closed = true
	l.work.Signal()
	l.wrote.Broadcast()
	l.mu.Unlock()
	<-l.ended
	l.later.Stop()
	return nil
}

// write writes what is in memory, all that there is at once.
func (l *aheadLog) write() {
	defer close(l.ended)
	for {
		batch := l.next()
		if batch == nil {
			return
		}
		runtime.Gosched() // those who send the entries go first: a sync may keep the processor for as long as it takes
		l.written(len(batch), l.LogStore.StoreLogs(batch))
	}
}

// next waits for entries to write, and returns copies for the log below to change. It returns nil when the log is closed.
func (l *aheadLog) next() []*raft.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && (len(l.entries) == 0 || l.err != nil && !l.again) {
		l.work.Wait()
	}
	if len(l.entries) == 0 || l.closed && l.err != nil {
		return nil
	}
	l.again = false
	batch := make([]*raft.Log, len(l.entries))
	for i, entry := range l.entries {
		log := *entry
		batch[i] = &log
	}
	return batch
}

// written takes note of how a write of n entries has ended. The first reason of those that fail in a row counts: the log below
// may only say of the next ones that they do not follow on the first.
func (l *aheadLog) written(n int, err error) {
	l.mu.Lock()
	news := err != nil && l.err == nil
	switch {
	case err == nil:
		for _, entry := range l.entries[:n] {
			l.keep(entry)
		}
		l.entries, l.err = slices.Clone(l.entries[n:]), nil
	case news:
		l.err = err
	}
	if err != nil {
		l.later.Reset(rewriteAfter)
	}
	if len(l.entries) == 0 {
		l.first.Store(0)
	} else {
		l.first.Store(l.entries[0].Index)
	}
	l.tries++
	l.wrote.Broadcast()
	l.mu.Unlock()
	if news {
		l.failed(err)
	}
}

// retry has a write that has failed tried again.
func (l *aheadLog) retry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = true
	l.work.Signal()
}
