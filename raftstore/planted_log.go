//go:build planted

package raftstore

import (
	"os"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// keptUnsynced is how many entries the end of an unsynced log has that a kill makes it forget.
const keptUnsynced = 64

// unsynced is a log that says that it has synced what it only keeps in memory, as a disk does that lies about it, or a
// program that does not wait: the last entries are lost when the process is killed.
type unsynced struct {
	raft.LogStore
	mu     sync.Mutex
	synced uint64               // the last index on disk
	tail   map[uint64]*raft.Log // what is behind it
}

// LastIndex implements raft.LogStore.
func (u *unsynced) LastIndex() (uint64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.synced + uint64(len(u.tail)), nil
}

// GetLog implements raft.LogStore.
func (u *unsynced) GetLog(index uint64, log *raft.Log) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if kept := u.tail[index]; kept != nil {
		*log = *kept
		return nil
	}
	return u.LogStore.GetLog(index, log)
}

// StoreLog implements raft.LogStore.
func (u *unsynced) StoreLog(log *raft.Log) error { return u.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore. It writes what has become old, and configurations at once: without those a node
// does not come back at all.
func (u *unsynced) StoreLogs(logs []*raft.Log) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	keep := keptUnsynced
	for _, log := range logs {
		kept := *log
		u.tail[kept.Index] = &kept
		if len(u.tail) == 1 {
			u.synced = kept.Index - 1 // also behind a snapshot that has taken the place of all that was there
		}
		if kept.Type == raft.LogConfiguration {
			keep = 0
		}
	}
	return u.write(keep)
}

// write writes all but the last entries.
func (u *unsynced) write(keep int) error {
	for len(u.tail) > keep {
		next := u.synced + 1
		if err := u.LogStore.StoreLogs([]*raft.Log{u.tail[next]}); err != nil {
			return err
		}
		delete(u.tail, next)
		u.synced = next
	}
	return nil
}

// DeleteRange implements raft.LogStore.
func (u *unsynced) DeleteRange(first, last uint64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.write(0); err != nil {
		return err
	}
	if err := u.LogStore.DeleteRange(first, last); err != nil {
		return err
	}
	var err error
	u.synced, err = u.LogStore.LastIndex()
	return err
}

// heldLog is a log that hangs while there is a file.
type heldLog struct {
	raft.LogStore
	file string
}

// StoreLogs implements raft.LogStore.
func (h *heldLog) StoreLogs(logs []*raft.Log) error {
	for {
		if _, err := os.Stat(h.file); err != nil {
			return h.LogStore.StoreLogs(logs)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// IsMonotonic implements raft.MonotonicLogStore.
func (h *heldLog) IsMonotonic() bool {
	m, ok := h.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}
