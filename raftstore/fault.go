package raftstore

import (
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// watchedLog is the log, and remembers why it could not be written, so that clients can be told. The Raft library
// only steps down then.
type watchedLog struct {
	raft.LogStore
	fault atomic.Pointer[error] // of the first write since one has succeeded; nil when the last one has
}

// StoreLog implements raft.LogStore.
func (w *watchedLog) StoreLog(l *raft.Log) error { return w.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (w *watchedLog) StoreLogs(logs []*raft.Log) error {
	err := w.LogStore.StoreLogs(logs)
	if err != nil {
		w.fault.CompareAndSwap(nil, &err) // the next ones may only say that they do not follow on it
	} else if w.fault.Load() != nil {
		w.fault.Store(nil)
	}
	return err
}

// IsMonotonic implements raft.MonotonicLogStore: raft-wal wants no gaps, bolt does not care.
func (w *watchedLog) IsMonotonic() bool {
	m, ok := w.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}
