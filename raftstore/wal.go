package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// rotationPatience bounds the wait for the library to begin a new segment, which takes it two syncs.
const rotationPatience = 30 * time.Second

// walLog is a log in raft-wal, and mends three faults of its version 0.4.0:
//
//   - A log whose tail was cut off (DeleteRange, as on a follower whose last entries a new leader replaces) cannot be read when
//     it is opened again: the segment counts as sealed, but has no index. See segments.Open.
//   - A log that was closed or killed between the last write to a segment and the note that it is full takes no entries when
//     it is opened again. See walMeta.Load.
//   - A tail that is cut off in the same interval makes the library take the new segment for the full one. See DeleteRange.
type walLog struct {
	*wal.WAL
	segments *segments
}

// openWAL opens the log in dir. segmentSize is in bytes; 0 is the library's.
func (d *disk) openWAL(dir string, segmentSize int, logger hclog.Logger) (raft.LogStore, error) {
	s := &segments{SegmentFiler: segment.NewFiler(dir, walfs.New())}
	// The library never closes the meta store that it makes: the directory could not be opened again in the same process.
	meta := &walMeta{MetaStore: &metadb.BoltMetaDB{}, segments: s}
	w, err := wal.Open(dir, wal.WithLogger(logger), wal.WithMetaStore(meta), wal.WithSegmentFiler(s),
		wal.WithSegmentSize(segmentSize))
	d.closers = append(d.closers, meta)
	if errors.Is(err, types.ErrCorrupt) {
		return nil, fmt.Errorf("%w: log %s: %w; %s", ErrDamaged, dir, err, wayOut)
	}
	if err != nil {
		return nil, fmt.Errorf("log %s: %w", dir, err)
	}
	d.closers = append(d.closers, w)
	return &walLog{w, s}, nil
}

// StoreLog implements raft.LogStore.
func (w *walLog) StoreLog(l *raft.Log) error { return w.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (w *walLog) StoreLogs(logs []*raft.Log) error {
	err := w.WAL.StoreLogs(logs)
	return errors.Join(err, w.segments.watch())
}

// DeleteRange implements raft.LogStore. It first lets the library begin the next segment if the last one is full.
func (w *walLog) DeleteRange(from, to uint64) error {
	select {
	case <-w.segments.rotation():
	case <-time.After(rotationPatience):
		return errors.New("the log does not begin its next segment")
	}
	return w.WAL.DeleteRange(from, to)
}

// segments are the files of the log.
type segments struct {
	types.SegmentFiler

	mu      sync.Mutex
	tail    types.SegmentWriter
	rotates chan struct{} // closed when the next segment is there; nil while the tail is not full
}

// Open implements types.SegmentFiler. A segment without an index is read through, as the library does for the last one.
func (s *segments) Open(info types.SegmentInfo) (types.SegmentReader, error) {
	if info.IndexStart > 0 {
		return s.SegmentFiler.Open(info)
	}
	r, err := s.SegmentFiler.RecoverTail(info)
	if err == nil && r.LastIndex() < info.MaxIndex {
		err = errors.Join(fmt.Errorf("%w: segment %s ends with entry %d, and should have %d",
			types.ErrCorrupt, segment.FileName(info), r.LastIndex(), info.MaxIndex), r.Close())
	}
	return r, err
}

// Create implements types.SegmentFiler.
func (s *segments) Create(info types.SegmentInfo) (types.SegmentWriter, error) {
	w, err := s.SegmentFiler.Create(info)
	s.append(w, err)
	return w, err
}

// RecoverTail implements types.SegmentFiler.
func (s *segments) RecoverTail(info types.SegmentInfo) (types.SegmentWriter, error) {
	w, err := s.SegmentFiler.RecoverTail(info)
	s.append(w, err)
	return w, err
}

// append takes note of the segment that is written to.
func (s *segments) append(w types.SegmentWriter, err error) {
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tail = w
	if s.rotates != nil {
		close(s.rotates)
		s.rotates = nil
	}
}

// watch takes note when the tail is full. Nobody writes to it meanwhile.
func (s *segments) watch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	full, _, err := s.tail.Sealed()
	if full && s.rotates == nil {
		s.rotates = make(chan struct{})
	}
	return err
}

// rotation is closed when there is a segment that can be written to.
func (s *segments) rotation() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rotates != nil {
		return s.rotates
	}
	done := make(chan struct{})
	close(done)
	return done
}

// walMeta knows which segments the log has.
type walMeta struct {
	types.MetaStore
	segments *segments
}

// Load implements types.MetaStore. A last segment that is full counts as such, and a new one is begun: the library would
// append to it.
func (m *walMeta) Load(dir string) (types.PersistentState, error) {
	state, err := m.MetaStore.Load(dir)
	if err != nil || len(state.Segments) == 0 {
		return state, err
	}
	tail := &state.Segments[len(state.Segments)-1]
	if !tail.SealTime.IsZero() {
		return state, nil
	}
	full, last, err := m.segments.inspect(*tail)
	if err != nil || !full {
		return state, err
	}
	next := *tail
	next.ID, next.CreateTime = state.NextSegmentID, time.Now()
	state.NextSegmentID++
	if last == 0 { // nothing in it was acknowledged
		*tail = next
	} else {
		next.BaseIndex, next.MinIndex = last+1, last+1
		tail.SealTime, tail.MaxIndex = time.Now(), last // without an index, since a torn write may have left a bad one
		state.Segments = append(state.Segments, next)
	}
	return state, m.CommitState(state)
}

// inspect tells whether a segment is full, and its last entry.
func (s *segments) inspect(info types.SegmentInfo) (full bool, last uint64, err error) {
	w, err := s.SegmentFiler.RecoverTail(info)
	if errors.Is(err, fs.ErrNotExist) { // the library makes it
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	full, _, err = w.Sealed()
	return full, w.LastIndex(), errors.Join(err, w.Close())
}
