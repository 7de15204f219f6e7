package raftstore

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestALeaderWhoseDiskHangsOrFailsHandsOver: followers with such a disk stay what they are.
func TestALeaderWhoseDiskHangsOrFailsHandsOver(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	tests := []struct {
		name string
		disk func() error
	}{
		{"hangs", func() error { <-release; return nil }},
		{"is full", func() error { return syscall.ENOSPC }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var bad atomic.Pointer[string] // the directory whose disk is bad
			c := reserve(t, 3)
			for i := range c.stores {
				cfg := c.config(i)
				cfg.Cluster.watchEvery, cfg.Cluster.diskPatience = 20*time.Millisecond, 200*time.Millisecond
				cfg.Cluster.tryDisk = func(path string) error {
					if dir := bad.Load(); dir != nil && *dir == cfg.Dir {
						return tt.disk()
					}
					return tryDisk(path)
				}
				c.startWith(i, cfg)
			}
			c.ready()
			c.voters(3)
			old := c.leader()
			bad.Store(&old.cfg.Dir)
			eventually(t, "another leader", func() bool {
				select {
				case err := <-old.Failed(): // a busy machine: it could not hand over, and ends
					t.Log(err)
					c.stop(c.index(old))
				default:
				}
				return c.leader() != old
			})
		})
	}
}

func TestTheDiskIsTriedForReal(t *testing.T) {
	dir := t.TempDir()
	if err := tryDisk(dir + "/check"); err != nil {
		t.Error(err)
	}
	if err := tryDisk(dir + "/none/check"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
