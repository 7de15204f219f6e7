package raftstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// watchEvery is how often the disk is tried.
	watchEvery = time.Second
	// diskPatience is how long a write and its sync may take. Behind it a leader hands over: the Raft library only sends
	// heartbeats beside a disk that hangs, so that nobody else would be elected, for as long as it hangs
	// (hashicorp/raft issues 503 and 666).
	diskPatience = 5 * time.Second
	// handOverPatience is how long handing over may take when the disk hangs. Then the process ends, which moves the
	// leadership in any case.
	handOverPatience = 2 * time.Second
	// watchFile is written and synced in the data directory.
	watchFile = "disk-check"
)

var errDiskHangs = errors.New("the disk of the data directory hangs")

// watchDisk tries the disk all the time, on a goroutine of its own since a write may never return.
func (s *Store) watchDisk() {
	tried := make(chan error, 1)
	for s.pause(s.cfg.Cluster.watchEvery) {
		go func() { tried <- s.cfg.Cluster.tryDisk(filepath.Join(s.cfg.Dir, watchFile)) }()
		if !s.awaitDisk(tried) {
			return
		}
	}
}

// awaitDisk waits for the outcome of one try. A disk that hangs or fails costs the leadership, if there is one to take it. It
// tells false when the store closes.
func (s *Store) awaitDisk(tried <-chan error) bool {
	limit := time.NewTimer(s.cfg.Cluster.diskPatience)
	defer limit.Stop()
	for {
		select {
		case err := <-tried:
			if err != nil {
				s.yield(fmt.Errorf("the disk of the data directory fails: %w", err))
			}
			return true
		case <-limit.C:
			s.yield(fmt.Errorf("%w: a write of a few bytes has taken more than %v", errDiskHangs, s.cfg.Cluster.diskPatience))
			limit.Reset(s.cfg.Cluster.diskPatience)
		case <-s.member.ctx.Done():
			return false
		}
	}
}

// yield gives the leadership away because of the disk. A leader that does not get rid of it in time ends.
func (s *Store) yield(why error) {
	s.cfg.Logger.Error("disk check", "error", why, "state", s.state())
	if s.raft.State() != raft.Leader || s.soleVoter() {
		return
	}
	done := make(chan error, 1)
	go func() { done <- s.raft.LeadershipTransfer().Error() }()
	limit := time.NewTimer(handOverPatience)
	defer limit.Stop()
	select {
	case err := <-done:
		if err == nil {
			s.cfg.Logger.Warn("the leadership was handed over because of the disk")
			return
		}
		s.quit(fmt.Errorf("%w; the leadership could not be handed over (%w), so this process ends", why, err))
	case <-limit.C:
		s.quit(fmt.Errorf("%w; the leadership could not be handed over within %v, so this process ends", why, handOverPatience))
	case <-s.member.ctx.Done():
	}
}

// quit stops the heartbeats at once, so that the others elect somebody while this process ends.
func (s *Store) quit(why error) {
	s.raft.Shutdown()
	s.fail(why)
}

// tryDisk writes and syncs a few bytes.
func tryDisk(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("redfence"), 0)
	return errors.Join(err, f.Sync(), f.Close())
}
