package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sync"

	"github.com/hashicorp/raft"
)

// ErrDamaged is returned when what is on disk is not what was written.
var ErrDamaged = errors.New("the data directory is damaged")

// wayOut is what an operator can do about damage.
const wayOut = "a member of a cluster can start with an empty --data-dir and gets all from the others; a single node needs a copy " +
	"of the directory, or an empty one, and then has no locks"

// checkedLog gives every entry a checksum, since the libraries read entries without one, and keeps in a file of its own how
// far the log goes: raft-wal takes damage at the end for a write that was cut off by a crash, and drops what it cannot read.
type checkedLog struct {
	raft.LogStore
	mu  sync.Mutex
	end *os.File
}

// openChecked checks a log, and wraps it. The file at path says how far it goes.
func openChecked(log raft.LogStore, path string, base uint64) (*checkedLog, error) {
	end, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	c := &checkedLog{LogStore: log, end: end}
	if err := c.verify(base); err != nil {
		return nil, errors.Join(err, end.Close())
	}
	return c, nil
}

// Close closes the file; the log is closed by who has opened it.
func (c *checkedLog) Close() error { return c.end.Close() }

// StoreLog implements raft.LogStore.
func (c *checkedLog) StoreLog(l *raft.Log) error { return c.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. Nobody else uses the extensions of an entry.
func (c *checkedLog) StoreLogs(logs []*raft.Log) error {
	for _, l := range logs {
		l.Extensions = binary.BigEndian.AppendUint32(nil, sumOf(l))
	}
	if err := c.LogStore.StoreLogs(logs); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.mark(logs[len(logs)-1].Index); !lacksRoom(err) {
		return err
	}
	return nil // the entries are written, and the mark says less
}

// GetLog implements raft.LogStore. An entry of a version that wrote no checksums is taken as it is.
func (c *checkedLog) GetLog(index uint64, l *raft.Log) error {
	if err := c.LogStore.GetLog(index, l); err != nil {
		return err
	}
	sum := l.Extensions
	l.Extensions = nil
	if l.Index != index || len(sum) > 0 && (len(sum) != 4 || binary.BigEndian.Uint32(sum) != sumOf(l)) {
		return fmt.Errorf("%w: log entry %d is not what was written; %s", ErrDamaged, index, wayOut)
	}
	return nil
}

// DeleteRange implements raft.LogStore.
func (c *checkedLog) DeleteRange(from, to uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, err := c.LastIndex()
	if err != nil {
		return err
	}
	if from <= last && last <= to {
		if err := errors.Join(c.mark(max(from, 1)-1), c.end.Sync()); err != nil {
			return err
		}
	}
	return c.LogStore.DeleteRange(from, to)
}

// IsMonotonic implements raft.MonotonicLogStore.
func (c *checkedLog) IsMonotonic() bool {
	m, ok := c.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// sumOf is the checksum of an entry: CRC-32C of its index, term (8 bytes each, big endian), type and data.
func sumOf(l *raft.Log) uint32 {
	var head [17]byte
	binary.BigEndian.PutUint64(head[0:], l.Index)
	binary.BigEndian.PutUint64(head[8:], l.Term)
	head[16] = byte(l.Type)
	return crc32.Update(crc32.Checksum(head[:], crc32c), crc32c, l.Data)
}

// mark writes how far the log goes: the index (8 bytes, big endian) and its CRC-32C. It is synced only when
// it is lowered, so behind a power failure it may say less than there is. mu is held.
func (c *checkedLog) mark(index uint64) error {
	b := binary.BigEndian.AppendUint64(nil, index)
	_, err := c.end.WriteAt(binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crc32c)), 0)
	return err
}

// marked is how far the log went at least; 0 when that is not known.
func (c *checkedLog) marked() uint64 {
	var b [12]byte
	if n, _ := c.end.ReadAt(b[:], 0); n < len(b) || binary.BigEndian.Uint32(b[8:]) != crc32.Checksum(b[:8], crc32c) {
		return 0
	}
	return binary.BigEndian.Uint64(b[:])
}

// verify reads the whole log. It must go on behind base, the last entry in the newest snapshot. A library that falls over
// what it reads has found damage.
func (c *checkedLog) verify(base uint64) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: reading the log: %v; %s", ErrDamaged, p, wayOut)
		}
	}()
	first, err := c.FirstIndex()
	last, err2 := c.LastIndex()
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	switch had := c.marked(); {
	case max(last, base) < had:
		return fmt.Errorf("%w: the log ends with entry %d and went to %d; %s", ErrDamaged, last, had, wayOut)
	case last > base && first > base+1:
		return fmt.Errorf("%w: log entries %d to %d are missing; %s", ErrDamaged, base+1, first-1, wayOut)
	}
	var l raft.Log
	for i := first; i <= last && last > 0; i++ {
		err := c.GetLog(i, &l)
		if err != nil && !errors.Is(err, ErrDamaged) {
			err = fmt.Errorf("%w: log entry %d cannot be read (%w); %s", ErrDamaged, i, err, wayOut)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
