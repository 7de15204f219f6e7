package raftstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/types"
)

var quiet = hclog.New(&hclog.LoggerOptions{Output: io.Discard})

// logOn opens a log of a kind in dir. Segments of raft-wal have 4 KiB, so that there are many.
func logOn(t *testing.T, kind LogStore, dir string) (raft.LogStore, *disk) {
	t.Helper()
	d := &disk{}
	var log raft.LogStore
	var err error
	if kind == WAL {
		log, err = d.openWAL(dir, 4096, quiet)
	} else {
		log, err = d.openLog(dir, kind, quiet)
	}
	if err != nil {
		t.Fatal(err)
	}
	return log, d
}

// put appends entries from..to of a term.
func put(t *testing.T, log raft.LogStore, term, from, to uint64) {
	t.Helper()
	for i := from; i <= to; i++ {
		if err := log.StoreLog(&raft.Log{Index: i, Term: term, Data: payload(term, i)}); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
}

func payload(term, i uint64) []byte {
	return []byte(fmt.Sprintf("%d/%d ", term, i) + strings.Repeat("x", int(i*37%300)))
}

// expectLog checks that the log has just from..to, of the term that termOf says.
func expectLog(t *testing.T, log raft.LogStore, from, to uint64, termOf func(uint64) uint64) {
	t.Helper()
	first, err := log.FirstIndex()
	last, err2 := log.LastIndex()
	if first != from || last != to || err != nil || err2 != nil {
		t.Fatalf("entries %d to %d (%v, %v), want %d to %d", first, last, err, err2, from, to)
	}
	for i := from; i <= to; i++ {
		var l raft.Log
		if err := log.GetLog(i, &l); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		if want := termOf(i); l.Term != want || l.Index != i || string(l.Data) != string(payload(want, i)) {
			t.Fatalf("entry %d: %+v, want one of term %d", i, l, want)
		}
	}
}

// TestALogIsOpenedAgainAfterItsEndWasReplaced is what a follower does whose last entries a new leader replaces, and
// then starts again.
func TestALogIsOpenedAgainAfterItsEndWasReplaced(t *testing.T) {
	for _, kind := range []LogStore{WAL, Bolt} {
		for _, tt := range []struct {
			name     string
			cut, end uint64 // the first entry that is replaced, and the last of its successors; 0 is none
		}{
			{"in the last segment", 98, 120},
			{"nothing follows", 98, 0},
			{"many segments before", 17, 60},
			{"all but the first", 2, 2},
			{"the last one", 100, 100},
		} {
			t.Run(fmt.Sprint(kind, "/", tt.name), func(t *testing.T) {
				dir := t.TempDir()
				log, d := logOn(t, kind, dir)
				put(t, log, 1, 1, 100)
				if err := log.DeleteRange(tt.cut, 100); err != nil {
					t.Fatal(err)
				}
				put(t, log, 2, tt.cut, tt.end)
				end := max(tt.end, tt.cut-1)
				termOf := func(i uint64) uint64 {
					if i < tt.cut {
						return 1
					}
					return 2
				}
				expectLog(t, log, 1, end, termOf)
				for range 2 {
					if err := d.close(); err != nil {
						t.Fatal(err)
					}
					log, d = logOn(t, kind, dir)
					expectLog(t, log, 1, end, termOf)
				}
				put(t, log, 2, end+1, end+50) // it goes on, and can be cut again, at both ends
				if err := errors.Join(log.DeleteRange(end+10, end+50), log.DeleteRange(1, 5)); err != nil {
					t.Fatal(err)
				}
				if err := d.close(); err != nil {
					t.Fatal(err)
				}
				log, d = logOn(t, kind, dir)
				if tt.cut > 5 {
					expectLog(t, log, 6, end+9, termOf)
				}
				if err := d.close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// brokenMeta stops to take notes, as if the process had ended.
type brokenMeta struct {
	types.MetaStore
	broken bool
}

var errBroken = errors.New("broken")

func (m *brokenMeta) CommitState(s types.PersistentState) error {
	if m.broken {
		return errBroken
	}
	return m.MetaStore.CommitState(s)
}

// TestALogGoesOnThatWasKilledWithAFullSegment ends after the last write to a segment and before the note that it is full.
func TestALogGoesOnThatWasKilledWithAFullSegment(t *testing.T) {
	dir := t.TempDir()
	log, d := logOn(t, WAL, dir)
	put(t, log, 1, 1, 1)
	meta := log.(*walLog).meta
	meta.MetaStore = &brokenMeta{MetaStore: meta.MetaStore, broken: true}
	last := uint64(1)
	for ; ; last++ {
		full, _, err := meta.segments.tail.Sealed()
		if err != nil {
			t.Fatal(err)
		}
		if full {
			break
		}
		put(t, log, 1, last+1, last+1)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	log, d = logOn(t, WAL, dir)
	one := func(uint64) uint64 { return 1 }
	expectLog(t, log, 1, last, one)
	put(t, log, 1, last+1, last+100)
	expectLog(t, log, 1, last+100, one)
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	log, d = logOn(t, WAL, dir)
	expectLog(t, log, 1, last+100, one)
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
}

// TestAShortSegmentIsNotTakenForWhole: what a segment without an index has lost is missed.
func TestAShortSegmentIsNotTakenForWhole(t *testing.T) {
	dir := t.TempDir()
	log, d := logOn(t, WAL, dir)
	batch := make([]*raft.Log, 5)
	for i := range batch {
		batch[i] = &raft.Log{Index: uint64(i + 1), Term: 1, Data: payload(1, uint64(i+1))}
	}
	if err := errors.Join(log.StoreLogs(batch), log.DeleteRange(5, 5)); err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	flip(t, files[0], 100)
	d = &disk{}
	_, err = d.openWAL(dir, 4096, quiet)
	if !errors.Is(err, types.ErrCorrupt) {
		t.Errorf("error %v, want ErrCorrupt", err)
	}
	_ = d.close()
}

// flip changes one byte of a file.
func flip(t *testing.T, path string, at int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 0x20
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
