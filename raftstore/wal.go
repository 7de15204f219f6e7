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

// walLog is a log in raft-wal, and mends four faults of its version 0.4.0:
//
//   - A log whose tail was cut off (DeleteRange, as on a follower whose last entries a new leader replaces) cannot be read when
//     it is opened again: the segment counts as sealed, but has no index. See segments.Open.
//   - A log that was closed or killed between the last write to a segment and the note that it is full takes no entries when
//     it is opened again. See walMeta.Load.
//   - A tail that is cut off in the same interval makes the library take the new segment for the full one. See DeleteRange.
//   - A log that a write has failed in takes no entries any more. See mend.
type walLog struct {
	open   func() (*wal.WAL, *walMeta, error)
	logger hclog.Logger

	writes  sync.Mutex // held by who changes the log
	mended  time.Time  // when mend last tried to open the log again
	lacking error      // why it did; nil once an entry was written

	mu   sync.RWMutex // held against opening it again
	log  *wal.WAL
	meta *walMeta
}

// openWAL opens the log in dir. segmentSize is in bytes; 0 is the library's.
func (d *disk) openWAL(dir string, segmentSize int, logger hclog.Logger) (raft.LogStore, error) {
	return d.openWALOn(walfs.New(), dir, segmentSize, logger)
}

// openWALOn opens the log in dir of a file system.
func (d *disk) openWALOn(files types.VFS, dir string, segmentSize int, logger hclog.Logger) (raft.LogStore, error) {
	// The library never closes the meta store that it makes: the directory could not be opened again in the same process.
	db := &metadb.BoltMetaDB{}
	d.closers = append(d.closers, db)
	w := &walLog{logger: logger, open: func() (*wal.WAL, *walMeta, error) {
		s := &segments{}
		s.SegmentFiler = segment.NewFiler(dir, walFS{files, s.failed})
		meta := &walMeta{MetaStore: db, segments: s}
		log, err := wal.Open(dir, wal.WithLogger(logger), wal.WithMetaStore(meta), wal.WithSegmentFiler(s),
			wal.WithSegmentSize(segmentSize))
		return log, meta, err
	}}
	var err error
	w.log, w.meta, err = w.open()
	if errors.Is(err, types.ErrCorrupt) {
		return nil, fmt.Errorf("%w: log %s: %w; %s", ErrDamaged, dir, err, wayOut)
	}
	if err != nil {
		return nil, fmt.Errorf("log %s: %w", dir, err)
	}
	d.closers = append(d.closers, w)
	return w, nil
}

// Close implements io.Closer.
func (w *walLog) Close() error {
	w.writes.Lock()
	defer w.writes.Unlock()
	return w.log.Close()
}

// FirstIndex implements raft.LogStore.
func (w *walLog) FirstIndex() (uint64, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.log.FirstIndex()
}

// LastIndex implements raft.LogStore.
func (w *walLog) LastIndex() (uint64, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.log.LastIndex()
}

// GetLog implements raft.LogStore.
func (w *walLog) GetLog(index uint64, l *raft.Log) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.log.GetLog(index, l)
}

// IsMonotonic implements raft.MonotonicLogStore.
func (*walLog) IsMonotonic() bool { return true }

// StoreLog implements raft.LogStore.
func (w *walLog) StoreLog(l *raft.Log) error { return w.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. It first begins the next segment if the last one is full.
func (w *walLog) StoreLogs(logs []*raft.Log) error {
	w.writes.Lock()
	defer w.writes.Unlock()
	if err := w.mend(); err != nil {
		return err
	}
	err := errors.Join(w.log.StoreLogs(logs), w.meta.segments.watch())
	if err == nil && w.lacking != nil {
		w.logger.Info("the log takes entries again", "had failed", w.lacking)
		w.lacking = nil
	}
	return w.meta.segments.explain(err)
}

// DeleteRange implements raft.LogStore. It first begins the next segment if the last one is full.
func (w *walLog) DeleteRange(from, to uint64) error {
	w.writes.Lock()
	defer w.writes.Unlock()
	if err := w.mend(); err != nil {
		return err
	}
	return w.meta.segments.explain(w.log.DeleteRange(from, to))
}

// segments are the files of the log.
type segments struct {
	types.SegmentFiler

	mu      sync.Mutex
	tail    types.SegmentWriter
	rotates chan struct{} // closed when the next segment is there, or cannot be made; nil while the tail is not full
	lacking error         // why a write has failed, when it lacked nothing but room
	broken  error         // why another write has failed, or a sync
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
	if full && s.rotates == nil && s.lacking == nil && s.broken == nil {
		s.rotates = make(chan struct{})
	}
	return err
}

// settle waits until there is a segment that can be written to, or until it is known that there is none.
func (s *segments) settle() error {
	s.mu.Lock()
	rotates := s.rotates
	s.mu.Unlock()
	if rotates == nil {
		return nil
	}
	select {
	case <-rotates:
		return nil
	case <-time.After(rotationPatience):
		return errors.New("the log does not begin its next segment")
	}
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

// CommitState implements types.MetaStore.
func (m *walMeta) CommitState(state types.PersistentState) error {
	err := m.MetaStore.CommitState(state)
	if err != nil {
		m.segments.failed(err, lacksRoom(err) && isWrite(err))
	}
	return err
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
