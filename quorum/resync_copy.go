package quorum

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redfence/redfence/quorum/runner"
	"github.com/redfence/redfence/quorum/tally"
)

const (
	// chunk is how many keys are read and written at a time.
	chunk = 256
	// underWay is how many chunks of one source may be on their way to the node.
	underWay = 4
	// beat is how often an attempt shows the other proxies that it goes on.
	beat = 2 * time.Second
	// restless is how long keys are looked at again before an attempt ends without them.
	restless = 30 * time.Second
)

// sighting is the version that the node had of a key which is not settled, and when that was first seen.
type sighting struct {
	version tally.Version
	since   time.Duration
}

// copyAll gives the node what it may have forgotten, and shows meanwhile that it is at it.
func (r *resync) copyAll() error {
	alive, stop := context.WithCancel(r.a.ctx)
	var beating errgroup.Group
	beating.Go(func() error { return r.beatOn(alive) })
	err := r.copyKeys(alive)
	stop()
	if beatErr := beating.Wait(); err == nil {
		err = beatErr
	}
	return err
}

// copyKeys goes through all keys of all sources, and then again through those that were not settled.
func (r *resync) copyKeys(ctx context.Context) error {
	work, passCtx := errgroup.WithContext(ctx)
	for _, source := range r.task.sources {
		work.Go(func() error {
			for db := range r.texts {
				if err := r.copyDatabase(passCtx, source, db); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	for began := r.a.cfg.Clock.Now(); len(r.open) > 0; {
		if r.a.cfg.Clock.Now()-began > restless {
			return fmt.Errorf("%w: %d, such as %q", errRestless, len(r.open), r.example())
		}
		if err := r.a.pause(r.a.settling() / 2); err != nil {
			return err
		}
		if err := r.settleOpen(ctx); err != nil {
			return err
		}
	}
	return nil
}

// copyDatabase copies one database of one source. SCAN returns every key that is there from its beginning to its end
// (https://redis.io/docs/latest/commands/scan/); what is written meanwhile goes to all nodes, this one included.
func (r *resync) copyDatabase(ctx context.Context, source, db int) error {
	copies, ctx := errgroup.WithContext(ctx)
	copies.SetLimit(underWay)
	for cursor := "0"; ; {
		asked := r.a.cfg.Clock.Now()
		o, err := r.a.ask(ctx, source, db, &runner.Scan{Cursor: cursor, Count: chunk})
		if err != nil {
			_ = copies.Wait() // they end with the same cause, or with a later one
			return err
		}
		if err := r.raise(ctx, db, o.Scanned.Resources); err != nil {
			_ = copies.Wait()
			return err
		}
		if states := withoutCanary(o.Scanned.Keys); len(states) > 0 {
			copies.Go(func() error { return r.settleScanned(ctx, source, db, states, asked) })
		}
		if cursor = o.Scanned.Next; cursor == "0" {
			return copies.Wait()
		}
	}
}

// raise makes the node remember what a source does of resources. A majority that has seen a token and of which the node was a
// part has another of the sources in it.
func (r *resync) raise(ctx context.Context, db int, resources []runner.Remembered) error {
	if len(resources) == 0 {
		return nil
	}
	_, err := r.a.ask(ctx, r.task.node, db, &runner.Raise{Resources: resources})
	return err
}

func withoutCanary(states []runner.State) []runner.State {
	return slices.DeleteFunc(states, func(s runner.State) bool { return s.Key == runner.CanaryKey })
}

// settleScanned gives the node what it does not have of a part of a source, as far as that can be told at once.
func (r *resync) settleScanned(ctx context.Context, source, db int, states []runner.State, asked time.Duration) error {
	own, err := r.fetch(ctx, r.task.node, db, namesOf(states))
	if err != nil {
		return err
	}
	r.seen.Add(int64(len(states)))
	l := look{db: db, asked: asked, seen: r.a.cfg.Clock.Now()}
	for i := range states {
		if now := (reading{own: own[i]}); !now.has(&states[i]) { // what it has, but another source does not, comes up there
			l.own, l.scanned = append(l.own, own[i]), append(l.scanned, states[i])
		}
	}
	return r.settle(ctx, source, &l)
}

func namesOf(states []runner.State) []string {
	keys := make([]string, len(states))
	for i := range states {
		keys[i] = states[i].Key
	}
	return keys
}

// settleOpen looks again at the keys that were not settled.
func (r *resync) settleOpen(ctx context.Context) error {
	byDB := map[int][]string{}
	for at := range r.open {
		byDB[at.db] = append(byDB[at.db], at.key)
	}
	for db, keys := range byDB {
		for part := range slices.Chunk(keys, chunk) {
			if err := r.settleKeys(ctx, db, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleKeys reads some keys anew, the node before the others.
func (r *resync) settleKeys(ctx context.Context, db int, keys []string) error {
	own, err := r.fetch(ctx, r.task.node, db, keys)
	if err != nil {
		return err
	}
	now := r.a.cfg.Clock.Now()
	return r.settle(ctx, noSource, &look{db: db, own: own, asked: now, seen: now})
}

// look is a look at some keys.
type look struct {
	db      int
	own     []runner.State // of the node
	scanned []runner.State // of a source, read before own; nil when all sources are read after it
	asked   time.Duration  // before any source was read
	seen    time.Duration  // after own was read
}

// noSource is the source of a look for which none has been read.
const noSource = -1

// settle reads the sources, but for one that was scanned, and gives the node of each key what it is to have.
func (r *resync) settle(ctx context.Context, scanned int, l *look) error {
	if len(l.own) == 0 {
		return nil
	}
	others, err := r.fetchOthers(ctx, scanned, l)
	if err != nil {
		return err
	}
	op := &runner.Copy{}
	for i, own := range l.own {
		at := place{l.db, own.Key}
		now := reading{own: own, others: others[i], rested: l.scanned == nil && r.rested(at, own.Version, l.seen)}
		c, again := now.choose("resync." + r.marker.Attempt)
		r.note(at, own.Version, l.seen, again)
		if c != nil {
			c.Since = l.asked
			op.Keys = append(op.Keys, *c)
		}
	}
	if len(op.Keys) == 0 {
		return nil
	}
	return r.put(ctx, l.db, op)
}

// put writes states to the node. What it refuses has changed meanwhile and is looked at again.
func (r *resync) put(ctx context.Context, db int, op *runner.Copy) error {
	o, err := r.a.ask(ctx, r.task.node, db, op)
	if err != nil {
		return err
	}
	for i, c := range o.Copied {
		switch {
		case c.Done:
			r.copied.Add(1)
		case !op.Keys[i].Again: // or else a client has set it directly, and it stays
			r.note(place{db, op.Keys[i].Key}, c.Version, r.a.cfg.Clock.Now(), true)
		}
	}
	return nil
}

// fetch reads keys on one node.
func (r *resync) fetch(ctx context.Context, node, db int, keys []string) ([]runner.State, error) {
	o, err := r.a.ask(ctx, node, db, &runner.Fetch{Keys: keys})
	if err == nil && len(o.States) != len(keys) {
		err = fmt.Errorf("%w: %d of %d", errStates, len(o.States), len(keys))
	}
	return o.States, err
}

// fetchOthers reads keys on all sources, but for one that was scanned. It returns the states of each key.
func (r *resync) fetchOthers(ctx context.Context, scanned int, l *look) ([][]runner.State, error) {
	bySource := make([][]runner.State, len(r.task.sources))
	keys := namesOf(l.own)
	work, ctx := errgroup.WithContext(ctx)
	for i, source := range r.task.sources {
		if source == scanned {
			bySource[i] = l.scanned
			continue
		}
		work.Go(func() (err error) {
			bySource[i], err = r.fetch(ctx, source, l.db, keys)
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	byKey := make([][]runner.State, len(keys))
	for _, states := range bySource {
		for i, s := range states {
			if knows := s.Exists || s.Version != (tally.Version{}); knows || !r.task.waited {
				byKey[i] = append(byKey[i], s) // of too few, one that knows nothing may have forgotten as well
			}
		}
	}
	return byKey, nil
}

// rested tells whether the node has had a version of a key for so long that nobody who wrote it can write to the others any more.
func (r *resync) rested(at place, version tally.Version, now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known := r.open[at]
	return known && s.version == version && now-s.since >= r.a.settling()
}

// note notes that a key is to be looked at again, or that it is not.
func (r *resync) note(at place, version tally.Version, now time.Duration, again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known := r.open[at]
	switch {
	case !again:
		delete(r.open, at)
	case !known || s.version != version:
		r.open[at] = sighting{version, now}
	}
}

// example is one of the keys that are not settled.
func (r *resync) example() string {
	for at := range r.open {
		return at.key
	}
	return ""
}

// beatOn changes the marker of database 0 from time to time, so that no other proxy takes the attempt for abandoned.
func (r *resync) beatOn(ctx context.Context) error {
	ticks := make(chan struct{}, 1)
	for {
		stop := r.a.cfg.Clock.AfterFunc(beat, func() { ticks <- struct{}{} })
		select {
		case <-ticks:
		case <-ctx.Done():
			stop()
			return nil
		}
		next := r.marker
		next.At = (r.task.facts.Offset + r.a.cfg.Clock.Now()).Milliseconds()
		if err := r.replace(0, r.texts[0], next.String()); err != nil {
			return err
		}
		r.a.mu.Lock()
		r.a.mine[r.task.node] = next.String()
		r.a.mu.Unlock()
		r.a.log.Info("bringing a node up to date", "node", r.a.cfg.Members[r.task.node].Name(), "seen", r.seen.Load(), "copied", r.copied.Load())
	}
}
