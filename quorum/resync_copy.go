package quorum

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redfence/redfence/quorum/runner"
)

const (
	// chunk is how many keys are read and written at a time.
	chunk = 256
	// underWay is how many chunks of one source may be on their way to the node.
	underWay = 4
	// beat is how often an attempt shows the other proxies that it goes on.
	beat = 2 * time.Second
)

// copyAll copies all databases of all sources to the node. Each key that it has in a lower version is replaced, so in
// the end it has the highest version of each.
func (r *resync) copyAll() error {
	work, ctx := errgroup.WithContext(r.a.ctx)
	for _, source := range r.task.sources {
		work.Go(func() error {
			for db := range r.texts {
				if err := r.copyDatabase(ctx, source, db); err != nil {
					return err
				}
			}
			return nil
		})
	}
	alive, stop := context.WithCancel(ctx)
	var beating errgroup.Group
	beating.Go(func() error { return r.beatOn(alive) })
	err := work.Wait()
	stop()
	if beatErr := beating.Wait(); err == nil {
		err = beatErr
	}
	return err
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
		if op := copyOf(o.Scanned.Keys, asked); len(op.Keys) > 0 {
			copies.Go(func() error { return r.put(ctx, db, op) })
		}
		if cursor = o.Scanned.Next; cursor == "0" {
			return copies.Wait()
		}
	}
}

// copyOf writes states where the version is lower. Their TTLs count from before they were read.
func copyOf(states []runner.State, asked time.Duration) *runner.Copy {
	op := &runner.Copy{Keys: make([]runner.Conditional, 0, len(states))}
	for _, s := range states {
		if s.Key == runner.CanaryKey {
			continue
		}
		s.Since = asked
		op.Keys = append(op.Keys, runner.Conditional{State: s, Again: true})
	}
	return op
}

func (r *resync) put(ctx context.Context, db int, op *runner.Copy) error {
	o, err := r.a.ask(ctx, r.task.node, db, op)
	if err != nil {
		return err
	}
	for _, c := range o.Copied {
		if c.Done {
			r.copied.Add(1)
		}
	}
	r.seen.Add(int64(len(op.Keys)))
	return nil
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
