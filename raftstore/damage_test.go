package raftstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// checkedOn opens a log of a kind in dir with its checksums.
func checkedOn(kind LogStore, dir string) (*checkedLog, *disk, error) {
	d := &disk{}
	var log raft.LogStore
	var err error
	if kind == WAL {
		log, err = d.openWAL(dir, 4096, quiet)
	} else {
		log, err = d.openLog(dir, kind, quiet)
	}
	if err != nil {
		return nil, d, err
	}
	c, err := openChecked(log, filepath.Join(dir, "log-end"), 0)
	return c, d, err
}

// TestNoDamagedLogIsServed flips single bytes all over the files of a log: then either it is refused, or all of it is there.
func TestNoDamagedLogIsServed(t *testing.T) {
	for _, kind := range []LogStore{WAL, Bolt} {
		t.Run(string(kind), func(t *testing.T) {
			dir := t.TempDir()
			log, d, err := checkedOn(kind, dir)
			if err != nil {
				t.Fatal(err)
			}
			put(t, log, 1, 1, 60)
			if err := errors.Join(log.Close(), d.close()); err != nil {
				t.Fatal(err)
			}
			refused, harmless := 0, 0
			for _, at := range damages(t, dir) {
				if opensDamaged(t, kind, dir, at) {
					harmless++
				} else {
					refused++
				}
			}
			t.Logf("%d refused, %d harmless", refused, harmless)
			if refused < 20 {
				t.Error("hardly any damage was noticed")
			}
		})
	}
}

// opensDamaged tells whether a copy of a log with one byte changed is opened, and then it must have all entries.
func opensDamaged(t *testing.T, kind LogStore, dir string, at damage) bool {
	t.Helper()
	broken := t.TempDir()
	if err := os.CopyFS(broken, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	flip(t, filepath.Join(broken, at.file), at.offset)
	log, d, err := checkedOn(kind, broken)
	opened := err == nil
	if opened {
		expectLog(t, log, 1, 60, func(uint64) uint64 { return 1 })
		err = log.Close()
	} else if errors.Is(err, ErrDamaged) {
		err = nil
	}
	if err := errors.Join(err, d.close()); err != nil {
		t.Errorf("%s, byte %d: %v", at.file, at.offset, err)
	}
	return opened
}

type damage struct {
	file   string
	offset int
}

// damages are places in the files of a log: of raft-wal all over its segments, of bolt in entries, since its own pages
// make it end.
func damages(t *testing.T, dir string) (list []damage) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, used := filepath.Base(path), len(bytes.TrimRight(data, "\x00"))
		switch {
		case strings.HasSuffix(name, ".wal"):
			for i := 0; i < used; i += 1 + used/40 {
				list = append(list, damage{name, i})
			}
		case name == "log.db":
			for i := 1; i <= 60; i++ {
				if at := bytes.LastIndex(data, payload(1, uint64(i))); at >= 0 {
					list = append(list, damage{name, at + 1})
				}
			}
		}
	}
	return list
}

// TestDamagedDirectoriesAreNamed damages a data directory in one place, and expects to be told where when it is opened.
func TestDamagedDirectoriesAreNamed(t *testing.T) {
	glob := func(pattern string, at int) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			files, err := filepath.Glob(filepath.Join(dir, "raft", pattern))
			if err != nil || len(files) == 0 {
				t.Fatal(pattern, files, err)
			}
			flip(t, files[len(files)-1], at)
		}
	}
	remove := func(pattern string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			files, err := filepath.Glob(filepath.Join(dir, "raft", pattern))
			if err != nil || len(files) == 0 {
				t.Fatal(pattern, files, err)
			}
			for _, f := range files {
				if err := os.RemoveAll(f); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(*testing.T, string)
		told   string
	}{
		{"the state in the snapshot", glob("snapshots/*/state.bin", 30), "snapshot "},
		{"the members in the snapshot", glob("snapshots/*/meta.json", 100), "snapshot "},
		{"the snapshot's meta.json is no JSON", glob("snapshots/*/meta.json", 0), "snapshot "},
		{"the state is gone", remove("snapshots/*/state.bin"), "snapshot "},
		{"all snapshots are gone", remove("snapshots/*"), "are missing"},
		{"the log is gone", remove("wal/*"), "the log ends with"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := snapshotted(t)
			tt.damage(t, cfg.Dir)
			s, err := Open(cfg)
			if !errors.Is(err, ErrDamaged) || !strings.Contains(fmt.Sprint(err), tt.told) {
				t.Errorf("error %v, want ErrDamaged with %q", err, tt.told)
			}
			if err == nil {
				_ = s.Close()
			}
		})
	}
}

// snapshotted is the configuration of a store that has taken a snapshot and has entries behind it.
func snapshotted(t *testing.T) Config {
	t.Helper()
	cfg := DefaultConfig(t.TempDir())
	cfg.SnapshotEntries, cfg.TrailingEntries, cfg.SnapshotInterval = 20, 5, 5*time.Millisecond
	s := open(t, cfg)
	st := s.Open()
	eventually(t, "a snapshot", func() bool {
		do(t, st, "INCR", "k")
		first, err := s.disk.log.FirstIndex()
		return err == nil && first > 10
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.SnapshotInterval = time.Hour
	s = open(t, cfg)
	for range 5 {
		do(t, s.Open(), "INCR", "k")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestALogIsEmptiedFromItsStart is what a recovery does: it deletes from index 0.
func TestALogIsEmptiedFromItsStart(t *testing.T) {
	dir := t.TempDir()
	log, d, err := checkedOn(Bolt, dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, log, 1, 1, 5)
	if err := errors.Join(log.DeleteRange(0, 5), log.Close(), d.close()); err != nil {
		t.Fatal(err)
	}
	log, d, err = checkedOn(Bolt, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(log.Close(), d.close()); err != nil {
		t.Fatal(err)
	}
}
