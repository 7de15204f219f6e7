package raftstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// keptSnapshots is how many snapshots stay on disk: the newest, and one in case it is damaged.
const keptSnapshots = 2

// disk is what a node keeps on disk for Raft.
type disk struct {
	log       *watchedLog
	ahead     *aheadLog // what the library writes to
	stable    raft.StableStore
	snapshots raft.SnapshotStore
	closers   []io.Closer
}

// openDisk opens, or makes, the stores below dir. The stable store (term and vote) is always bolt; the log is in
// the store of kind.
func openDisk(dir string, kind LogStore, logger hclog.Logger) (_ *disk, err error) {
	d := &disk{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if err := os.MkdirAll(filepath.Join(dir, "wal"), 0o700); err != nil {
		return d, err
	}
	stable, err := openBolt(filepath.Join(dir, "stable.db"))
	if err != nil {
		return d, err
	}
	d.stable, d.closers = stable, append(d.closers, stable)
	log, err := d.openLog(dir, kind, logger)
	if err != nil {
		return d, err
	}
	base, err := d.openSnapshots(dir, logger)
	if err != nil {
		return d, err
	}
	checked, err := openChecked(log, filepath.Join(dir, "log-end"), base)
	if err != nil {
		return d, err
	}
	d.log = &watchedLog{LogStore: checked}
	d.ahead = newAhead(d.log)
	d.closers = append(d.closers, checked, d.ahead)
	return d, nil
}

// openSnapshots opens the snapshots, and returns the last entry in the newest one.
func (d *disk) openSnapshots(dir string, logger hclog.Logger) (uint64, error) {
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, keptSnapshots, logger)
	if err != nil {
		return 0, fmt.Errorf("snapshot store: %w", err)
	}
	checked := checkedSnapshots{files, filepath.Join(dir, "snapshots")}
	d.snapshots = checked
	return checked.verify()
}

func (d *disk) openLog(dir string, kind LogStore, logger hclog.Logger) (raft.LogStore, error) {
	switch kind {
	case WAL:
		return d.openWAL(filepath.Join(dir, "wal"), 0, logger)
	case Bolt:
		b, err := openBolt(filepath.Join(dir, "log.db"))
		if err != nil {
			return nil, err
		}
		d.closers = append(d.closers, b)
		return b, nil
	default:
		return nil, fmt.Errorf("unknown log store %q: use wal or bolt", kind)
	}
}

func openBolt(path string) (*raftboltdb.BoltStore, error) {
	s, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{NoFreelistSync: true}})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// close closes what was opened, the last first.
func (d *disk) close() error {
	var errs []error
	for _, c := range slices.Backward(d.closers) {
		errs = append(errs, c.Close())
	}
	d.closers = nil
	return errors.Join(errs...)
}
