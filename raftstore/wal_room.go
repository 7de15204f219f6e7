package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hashicorp/raft-wal/types"
)

// mendEvery is how often a log is opened again at most when it lacks room. That takes reading its last segment.
const mendEvery = 500 * time.Millisecond

// lacksRoom tells whether a write has failed for want of room on the disk, of the quota, or of what a file may have.
func lacksRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// isWrite tells whether it was a write that failed, and not a sync.
func isWrite(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && at.Op == "write"
}

// mend opens a log again in which a write has failed for want of room, as a restart would: raft-wal takes no entries any more
// then, and room may have been made. All entries that were acknowledged are synced, the failed write has left nothing behind
// (see walFile), and the entries that can be read stay the same meanwhile and afterwards.
//
// After any other failure the log stays as it is: when a sync fails, what is read back may be memory that is not on disk
// (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020). writes is held.
func (w *walLog) mend() error {
	s := w.meta.segments
	if err := s.settle(); err != nil {
		return err
	}
	lacking, broken := s.failure()
	switch {
	case broken != nil:
		return s.explain(broken)
	case lacking == nil:
		return nil
	case time.Since(w.mended) < mendEvery:
		return lacking
	}
	w.mended, w.lacking = time.Now(), lacking
	return w.reopen()
}

// reopen puts a log that is newly opened in the place of the one that lacked room. When that does not go, all can still be read.
func (w *walLog) reopen() error {
	log, meta, err := w.open()
	if err != nil {
		if _, broken := meta.segments.failure(); broken != nil || !lacksRoom(err) {
			w.meta.segments.failed(err, false)
		}
		return w.meta.segments.explain(fmt.Errorf("opening the log again: %w", err))
	}
	first, last, err := span(w.log)
	newFirst, newLast, err2 := span(log)
	if err = errors.Join(err, err2); err == nil && (first != newFirst || last != newLast) {
		err = fmt.Errorf("the log had entries %d to %d, and opened again it has %d to %d", first, last, newFirst, newLast)
	}
	if err != nil {
		w.meta.segments.failed(err, false)
		return w.meta.segments.explain(errors.Join(err, log.Close()))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.log
	w.log, w.meta = log, meta
	return old.Close()
}

// span is the first and the last entry of a log.
func span(log interface {
	FirstIndex() (uint64, error)
	LastIndex() (uint64, error)
},
) (first, last uint64, err error) {
	first, err = log.FirstIndex()
	last, err2 := log.LastIndex()
	return first, last, errors.Join(err, err2)
}

// failed takes note of a failure. When nothing but room was lacking, the log can be opened again.
func (s *segments) failed(err error, onlyRoom bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if onlyRoom {
		s.lacking = err
	} else if s.broken == nil {
		s.broken = err
	}
	if s.rotates != nil {
		close(s.rotates)
		s.rotates = nil
	}
}

func (s *segments) failure() (lacking, broken error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lacking, s.broken
}

// explain adds to an error what there is to do about it.
func (s *segments) explain(err error) error {
	if _, broken := s.failure(); err != nil && broken != nil {
		return fmt.Errorf("%w; the log takes no entries until this process is started again", err)
	}
	return err
}

// walFS is where the files of a log are. failed is told of what cannot be written.
type walFS struct {
	types.VFS
	failed func(err error, onlyRoom bool)
}

// Create implements types.VFS. A file that there is no room for is made without any: it may be made before it is written to.
func (v walFS) Create(dir, name string, size uint64) (types.WritableFile, error) {
	f, err := v.VFS.Create(dir, name, size)
	if lacksRoom(err) {
		if err = v.Delete(dir, name); err == nil || errors.Is(err, fs.ErrNotExist) {
			f, err = v.VFS.Create(dir, name, 0)
		}
	}
	if err != nil {
		v.failed(fmt.Errorf("%s: %w", filepath.Join(dir, name), err), lacksRoom(err))
		return nil, err
	}
	return walFile{f, v.failed}, nil
}

// OpenWriter implements types.VFS.
func (v walFS) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := v.VFS.OpenWriter(dir, name)
	if err != nil {
		return nil, err
	}
	return walFile{f, v.failed}, nil
}

// walFile is a segment.
type walFile struct {
	types.WritableFile
	failed func(err error, onlyRoom bool)
}

// WriteAt implements io.WriterAt. What a failed write may have left is cut off, so that nobody reads it behind later entries.
func (f walFile) WriteAt(b []byte, at int64) (int, error) {
	n, err := f.WritableFile.WriteAt(b, at)
	if err != nil {
		file, ok := f.WritableFile.(interface{ Truncate(size int64) error })
		f.failed(err, ok && lacksRoom(err) && file.Truncate(at) == nil)
	}
	return n, err
}

// Sync implements types.WritableFile.
func (f walFile) Sync() error {
	err := f.WritableFile.Sync()
	if err != nil {
		f.failed(err, false)
	}
	return err
}
