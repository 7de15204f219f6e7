package raftstore

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/types"
)

// smallDisk mounts a file system of 1 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := osexec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("skipped: no small disk: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := osexec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v\n%s", err, out)
		}
	})
	return dir
}

// fill leaves no room on a disk until the file that it returns is removed.
func fill(t *testing.T, dir string) (filler string) {
	t.Helper()
	filler = filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	return filler
}

// putAgain appends an entry of term 1, which may be refused for a while.
func putAgain(t *testing.T, log raft.LogStore, index uint64) {
	t.Helper()
	eventually(t, fmt.Sprintf("entry %d is written", index), func() bool {
		return log.StoreLog(&raft.Log{Index: index, Term: 1, Data: payload(1, index)}) == nil
	})
}

// TestALogGoesOnWhenThereIsRoomAgain fills a real disk below a log. Some batches are as large as a segment, so that not only new
// segments lack room, but also writes to one that has its room beforehand. What was taken stays, and can be read meanwhile.
func TestALogGoesOnWhenThereIsRoomAgain(t *testing.T) {
	one := func(uint64) uint64 { return 1 }
	for _, size := range []int{1, 30} {
		t.Run(fmt.Sprint("batches of ", size), func(t *testing.T) {
			disk := smallDisk(t)
			dir := filepath.Join(disk, "wal")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			log, d := logOn(t, WAL, dir)
			put(t, log, 1, 1, 100)
			last := uint64(100)
			for range 3 {
				filler := fill(t, disk)
				var err error
				for ; err == nil; last += uint64(size) {
					batch := make([]*raft.Log, size)
					for i := range batch {
						index := last + uint64(i) + 1
						batch[i] = &raft.Log{Index: index, Term: 1, Data: payload(1, index)}
					}
					err = log.StoreLogs(batch)
				}
				last -= uint64(size)
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("error %v, want ENOSPC", err)
				}
				expectLog(t, log, 1, last, one)
				if err := log.StoreLog(&raft.Log{Index: last + 1, Term: 1, Data: make([]byte, 8192)}); !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("error %v of the next one, want ENOSPC", err)
				}
				expectLog(t, log, 1, last, one)
				if err := os.Remove(filler); err != nil {
					t.Fatal(err)
				}
				last++
				putAgain(t, log, last)
				put(t, log, 1, last+1, last+50)
				last += 50
				expectLog(t, log, 1, last, one)
			}
			if err := d.close(); err != nil {
				t.Fatal(err)
			}
			log, d = logOn(t, WAL, dir)
			expectLog(t, log, 1, last, one)
			if err := errors.Join(log.DeleteRange(last-9, last), log.DeleteRange(1, 20), d.close()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// faultyFS is a disk on which writes or syncs of segments fail while there is a reason.
type faultyFS struct {
	types.VFS
	write, sync atomic.Pointer[error]
}

func (f *faultyFS) Create(dir, name string, size uint64) (types.WritableFile, error) {
	file, err := f.VFS.Create(dir, name, size)
	return faultyFile{file, f}, err
}

func (f *faultyFS) OpenWriter(dir, name string) (types.WritableFile, error) {
	file, err := f.VFS.OpenWriter(dir, name)
	return faultyFile{file, f}, err
}

type faultyFile struct {
	types.WritableFile
	fs *faultyFS
}

// WriteAt writes half of it when it fails.
func (f faultyFile) WriteAt(b []byte, at int64) (int, error) {
	if why := f.fs.write.Load(); why != nil {
		n, _ := f.WritableFile.WriteAt(b[:len(b)/2], at)
		return n, &os.PathError{Op: "write", Path: "segment", Err: *why}
	}
	return f.WritableFile.WriteAt(b, at)
}

func (f faultyFile) Sync() error {
	if why := f.fs.sync.Load(); why != nil {
		return &os.PathError{Op: "sync", Path: "segment", Err: *why}
	}
	return f.WritableFile.Sync()
}

func (f faultyFile) Truncate(size int64) error {
	return f.WritableFile.(interface{ Truncate(size int64) error }).Truncate(size)
}

// TestALogIsOnlyOpenedAgainForWantOfRoom: a write that lacked room can be done again when there is some. After a failed sync, also
// one for want of room, and after any other error, the log takes nothing until a restart, and says so.
func TestALogIsOnlyOpenedAgainForWantOfRoom(t *testing.T) {
	tests := []struct {
		name        string
		write, sync error
		goesOn      bool
	}{
		{"a write lacks room", syscall.ENOSPC, nil, true},
		{"a write lacks quota", syscall.EDQUOT, nil, true},
		{"a write makes too large a file", syscall.EFBIG, nil, true},
		{"a write fails", syscall.EIO, nil, false},
		{"a sync fails", nil, syscall.EIO, false},
		{"a sync lacks room", nil, syscall.ENOSPC, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, files, d := t.TempDir(), &faultyFS{VFS: walfs.New()}, &disk{}
			log, err := d.openWALOn(files, dir, 4096, quiet)
			if err != nil {
				t.Fatal(err)
			}
			put(t, log, 1, 1, 30)
			why := tt.write
			if tt.write != nil {
				files.write.Store(&tt.write)
			} else {
				why = tt.sync
				files.sync.Store(&tt.sync)
			}
			next := &raft.Log{Index: 31, Term: 1, Data: payload(1, 31)}
			failed := log.StoreLog(next)
			if hints := strings.Contains(failed.Error(), "started again"); !errors.Is(failed, why) || hints == tt.goesOn {
				t.Errorf("error %q", failed)
			}
			files.write.Store(nil)
			files.sync.Store(nil)
			one := func(uint64) uint64 { return 1 }
			expectLog(t, log, 1, 30, one)
			if tt.goesOn {
				putAgain(t, log, 31)
				put(t, log, 1, 32, 99)
				expectLog(t, log, 1, 99, one)
			} else {
				for begun := time.Now(); time.Since(begun) < 2*mendEvery; <-time.After(mendEvery / 5) {
					if err := log.StoreLog(next); !errors.Is(err, why) {
						t.Fatalf("then: %v", err)
					}
				}
				if err := log.DeleteRange(1, 10); !errors.Is(err, why) {
					t.Errorf("deleting: %v", err)
				}
			}
			if err := d.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAMarkWithoutRoomIsNoFailure: the entries are written, and would be refused if they were written again.
func TestAMarkWithoutRoomIsNoFailure(t *testing.T) {
	end := filepath.Join(t.TempDir(), "log-end")
	if err := os.Symlink("/dev/full", end); err != nil {
		t.Fatal(err)
	}
	log, err := openChecked(raft.NewInmemStore(), end, 0)
	if err != nil {
		t.Skipf("skipped: no /dev/full: %v", err)
	}
	put(t, log, 1, 1, 3)
	expectLog(t, log, 1, 3, func(uint64) uint64 { return 1 })
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
