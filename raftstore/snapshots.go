package raftstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/raft"
)

const (
	snapshotMeta = "meta.json"
	// metaSum is a file beside it with its CRC-32C, in hexadecimal.
	metaSum = "meta.crc"
)

// checkedSnapshots are the snapshots in a directory. The library checks the state in them when it opens one, and then
// takes an older one instead, which may be without what was acknowledged since; it does not check who the members are.
type checkedSnapshots struct {
	raft.SnapshotStore
	dir string
}

// Create implements raft.SnapshotStore.
func (c checkedSnapshots) Create(
	v raft.SnapshotVersion, index, term uint64, members raft.Configuration, at uint64, trans raft.Transport,
) (raft.SnapshotSink, error) {
	sink, err := c.SnapshotStore.Create(v, index, term, members, at, trans)
	if err != nil {
		return nil, err
	}
	return checkedSink{sink, filepath.Join(c.dir, sink.ID())}, nil
}

// checkedSink writes the checksum of what the library says of a snapshot.
type checkedSink struct {
	raft.SnapshotSink
	dir string
}

// Close implements raft.SnapshotSink. A crash before the checksum is there leaves a snapshot without one.
func (s checkedSink) Close() error {
	if err := s.SnapshotSink.Close(); err != nil {
		return err
	}
	meta, err := os.ReadFile(filepath.Join(s.dir, snapshotMeta))
	if errors.Is(err, fs.ErrNotExist) { // it was cancelled
		return nil
	}
	if err != nil {
		return err
	}
	return writeDurably(filepath.Join(s.dir, metaSum), sumText(meta))
}

func sumText(b []byte) []byte { return fmt.Appendf(nil, "%08x\n", crc32.Checksum(b, crc32c)) }

// verify checks the newest snapshot, and returns the last entry in it; 0 when there is none.
func (c checkedSnapshots) verify() (uint64, error) {
	name, index, err := c.newest()
	if name == "" || err != nil {
		return 0, err
	}
	if err := c.check(name, index); err != nil {
		return 0, fmt.Errorf("%w: snapshot %s: %w; %s", ErrDamaged, filepath.Join(c.dir, name), err, wayOut)
	}
	return index, nil
}

// newest is the newest snapshot by its name: TERM-INDEX-TIME.
func (c checkedSnapshots) newest() (name string, index uint64, err error) {
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return "", 0, err
	}
	var term uint64
	for _, e := range list {
		parts := strings.Split(e.Name(), "-")
		if !e.IsDir() || len(parts) != 3 || strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		t, err := strconv.ParseUint(parts[0], 10, 64)
		i, err2 := strconv.ParseUint(parts[1], 10, 64)
		if err == nil && err2 == nil && (t > term || t == term && i >= index) {
			name, term, index = e.Name(), t, i
		}
	}
	return name, index, nil
}

// check compares a snapshot with its checksums.
func (c checkedSnapshots) check(name string, index uint64) error {
	text, err := os.ReadFile(filepath.Join(c.dir, name, snapshotMeta))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(c.dir, name, metaSum))
	switch {
	case errors.Is(err, fs.ErrNotExist): // of an earlier version
	case err != nil:
		return err
	case string(sum) != string(sumText(text)):
		return errors.New(snapshotMeta + " is not what was written")
	}
	var meta raft.SnapshotMeta
	if err := json.Unmarshal(text, &meta); err != nil {
		return err
	}
	if meta.ID != name || meta.Index != index {
		return errors.New(snapshotMeta + " is of another snapshot")
	}
	_, state, err := c.Open(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, state)
	return errors.Join(err, state.Close())
}
