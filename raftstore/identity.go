package raftstore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// ErrLocked is returned when another process has the data directory open.
var ErrLocked = errors.New("data directory is in use by another process")

// dirFormat is the version of the layout of a data directory.
const dirFormat = 1

// defaultNodeID names a node whose operator gave it no name.
const defaultNodeID = "redfence"

// maxNodeID bounds a name: with its incarnation it must fit the greeting of the cluster port.
const maxNodeID = 200

// identityFile is the name of the file in a data directory that says whose it is.
const identityFile = "identity.json"

// identity is what a data directory knows of itself. The incarnation tells a node whose disk was lost from its old
// self, which must never vote again under the same id.
type identity struct {
	Format      int      `json:"format"`
	NodeID      string   `json:"node_id"`
	Incarnation string   `json:"incarnation"`
	LogStore    LogStore `json:"log_store"`
	Cluster     string   `json:"cluster,omitempty"`        // what it belongs to; empty for a node that never had others
	Former      string   `json:"former_cluster,omitempty"` // what it belonged to before it was recovered
}

func (id identity) serverID() string { return id.NodeID + "-" + id.Incarnation }

// lockDir makes sure that no other process uses the data directory until the lock is released.
func lockDir(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "LOCK"))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s; stop that process or choose another --data-dir", ErrLocked, dir)
	}
	return lock, nil
}

// loadIdentity reads the identity of a data directory, or makes one for a new directory.
func loadIdentity(cfg Config) (identity, error) {
	path := filepath.Join(cfg.Dir, identityFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newIdentity(cfg, path)
	}
	if err != nil {
		return identity{}, err
	}
	var id identity
	if err := json.Unmarshal(data, &id); err != nil {
		return identity{}, fmt.Errorf("%s is damaged (%w); restore it from a backup", path, err)
	}
	return id, id.check(cfg)
}

func (id identity) check(cfg Config) error {
	switch {
	case id.Format != dirFormat:
		return fmt.Errorf("data directory %s has format %d, this build knows %d", cfg.Dir, id.Format, dirFormat)
	case id.LogStore != cfg.LogStore:
		return fmt.Errorf("data directory %s was made with --log-store %s; start with that", cfg.Dir, id.LogStore)
	case cfg.NodeID != "" && id.NodeID != cfg.NodeID:
		return fmt.Errorf("data directory %s belongs to node %q, not %q; start with --node-id %s",
			cfg.Dir, id.NodeID, cfg.NodeID, id.NodeID)
	}
	return nil
}

func newIdentity(cfg Config, path string) (identity, error) {
	id := identity{
		Format: dirFormat, NodeID: cmp.Or(cfg.NodeID, cfg.Cluster.nodeID(), defaultNodeID), LogStore: cfg.LogStore,
		Incarnation: newIncarnation(),
	}
	if len(id.NodeID) > maxNodeID || strings.ContainsAny(id.NodeID, idMark+" \n") {
		return identity{}, fmt.Errorf("--node-id %q: a name has at most %d bytes, without spaces and %s", id.NodeID, maxNodeID, idMark)
	}
	return id, id.save(path)
}

func (id identity) save(path string) error {
	data, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return err
	}
	return writeDurably(path, append(data, '\n'))
}

// nodeID is the name of a member that was given none: the address under which others know it.
func (c Cluster) nodeID() string {
	addr := cmp.Or(c.Advertise, c.Listen)
	if !c.asked() || strings.HasSuffix(addr, ":0") {
		return ""
	}
	return addr
}

// writeDurably writes a file so that after a crash it is there whole or not at all.
func writeDurably(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
