package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redfence/redfence/proxy"
	"github.com/redfence/redfence/proxy/route"
	"github.com/redfence/redfence/proxy/upstream"
)

// passThrough is the Redis behind the locks, and which keys are not for it.
type passThrough struct {
	upstream *upstream.Upstream // nil without --upstream
	rules    route.Rules
}

func openUpstream(cfg Config, log *logger, events proxy.Events, lost func([]proxy.Topic)) (p passThrough, err error) {
	if cfg.Upstream == "" {
		return p, nil
	}
	p.rules = route.New(cfg.LockKeys)
	p.upstream, err = upstream.Open(upstream.Config{
		URL: cfg.Upstream, Sink: events, Lost: lost, MaxReply: int(cfg.MaxBulk + cfg.MaxOutput), Logger: log.Logger,
	})
	if err != nil {
		return p, fmt.Errorf("--upstream: %w", err)
	}
	return p, nil
}

// front is the upstream as the front end takes it: nil without one.
func (p passThrough) front() proxy.Upstream {
	if p.upstream == nil {
		return nil
	}
	return p.upstream
}

func (p passThrough) close() {
	if p.upstream != nil {
		p.upstream.Close()
	}
}

// validateUpstream checks that what is not a lock and what is one are both named.
func (c *Config) validateUpstream() error {
	switch {
	case c.Upstream == "" && len(c.LockKeys) == 0:
		return nil
	case c.Upstream == "":
		return errors.New("--lock-keys tells locks from what --upstream serves; without --upstream every key is a lock, so leave it out")
	case len(c.LockKeys) == 0:
		return errors.New("--upstream serves the keys that are no locks; say which are with --lock-keys, for example 'lock:*,redisson_lock*'")
	}
	if slices.Contains(c.LockKeys, "") {
		return errors.New("--lock-keys has an empty pattern; leave it out")
	}
	if err := upstream.Check(c.Upstream); err != nil {
		return fmt.Errorf("--upstream: %w", err)
	}
	return nil
}
