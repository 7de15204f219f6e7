package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lookEvery is how often the Sentinels are asked who the master is, and how often the server is asked whether it is there.
const lookEvery = 500 * time.Millisecond

// watch keeps a connection of its own, for the table of commands, for the state that INFO shows, and to see when another
// server becomes the master.
func (u *Upstream) watch() {
	for u.ctx.Err() == nil {
		err := u.look()
		if u.ctx.Err() != nil {
			return
		}
		u.tried("", err)
		if errors.Is(err, errMoved) {
			u.log.Warn("another server is the upstream's master now", "upstream", u.target.name)
			u.dropLinks(errMoved)
			u.listener.reconnect()
			continue
		}
		u.pause(retryPause)
	}
}

// look watches one server until it is lost, or is no longer the master.
func (u *Upstream) look() error {
	conn, addr, err := u.dial(u.ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(u.ctx, func() { _ = conn.Close() })
	defer stop()
	t := newTalk(conn)
	if err := u.login(t); err != nil {
		return err
	}
	reply, err := t.ask(askTimeout, "COMMAND")
	if err != nil {
		return err
	}
	if reply.IsErr() {
		return fmt.Errorf("COMMAND: %s", reply.Str)
	}
	u.mu.Lock()
	u.table = readTable(reply)
	u.mu.Unlock()
	for {
		if err := u.still(t, addr); err != nil {
			return err
		}
		u.pause(lookEvery)
		if u.ctx.Err() != nil {
			return errClosed
		}
	}
}

// still returns an error when the server at addr is not there any more, or not the master.
func (u *Upstream) still(t *talk, addr string) error {
	if u.target.addr != "" {
		_, err := t.ask(silentFor, "PING")
		return err
	}
	ctx, cancel := context.WithTimeout(u.ctx, askTimeout)
	defer cancel()
	now, err := u.target.resolve(ctx)
	if err != nil {
		return nil //nolint:nilerr // Sentinels that do not answer say nothing against the master
	}
	if now != addr {
		return errMoved
	}
	return nil
}

// silentFor is how long a server may be busy with one command before INFO calls it down.
const silentFor = 10 * time.Second

func (u *Upstream) login(t *talk) error {
	auth := u.target.auth()
	if auth == nil {
		return nil
	}
	reply, err := t.ask(askTimeout, auth...)
	if err == nil && reply.IsErr() {
		err = errors.New(reply.Str)
	}
	return err
}

func (u *Upstream) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-u.ctx.Done():
	}
}
