package fencing

import (
	"container/list"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrFull is returned for a resource that a Guard does not know while it may forget none of those that it knows.
var ErrFull = errors.New("the guard remembers as many resources as it may")

// Guard remembers for each resource the highest token that it was shown, and refuses lower ones. It is for resources in
// this process, or that only this process writes to; what it knows is gone when the process ends. It is safe for
// concurrent use. The zero Guard remembers up to a million resources for 720 hours.
type Guard struct {
	// Limit is how many resources are remembered at once. When it is reached and all were used within Memory, further
	// resources are refused with ErrFull: to forget one early would let a stale token through.
	Limit int
	// Memory is for how long a resource is remembered that nobody uses. It must be longer than a client can be paused.
	Memory time.Duration
	// Clock tells the time; nil is time.Now.
	Clock func() time.Time

	mu    sync.Mutex
	known map[string]*list.Element
	used  list.List // of *seen, the one that was used longest ago first
}

// seen is what is known of a resource.
type seen struct {
	name  string
	step  sync.Mutex // held while a function of Do runs
	users int        // of Do; guarded by Guard.mu
	token Token
	at    time.Time
}

const (
	defaultLimit  = 1_000_000
	defaultMemory = 720 * time.Hour
)

// Check remembers a token, or returns a *StaleError when a higher one was seen. The same token may be used again.
//
// What the caller does behind Check may come after what the next owner does. Do has no such gap.
func (g *Guard) Check(resource string, token Token) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := g.check(resource, token)
	return err
}

// Do runs f if no higher token than this was seen. For one resource at most one f runs at a time, so that of a later owner
// waits until an earlier one's is done, and an earlier one's never begins behind it.
func (g *Guard) Do(resource string, token Token, f func() error) error {
	s, err := g.enter(resource, token)
	if err != nil {
		return err
	}
	defer g.leave(s)
	s.step.Lock()
	defer s.step.Unlock()
	if err := g.Check(resource, token); err != nil { // a later owner may have come while this one waited
		return err
	}
	return f()
}

func (g *Guard) enter(resource string, token Token) (*seen, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, err := g.check(resource, token)
	if err == nil {
		s.users++
	}
	return s, err
}

func (g *Guard) leave(s *seen) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.users--
}

// Last is the highest token seen for a resource, 0 when there is none.
func (g *Guard) Last(resource string) Token {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.known[resource]; e != nil {
		return seenIn(e).token
	}
	return 0
}

// check is Check with g.mu held.
func (g *Guard) check(resource string, token Token) (*seen, error) {
	if !token.Valid() {
		return nil, fmt.Errorf("%w: %d", ErrToken, token)
	}
	now := g.now()
	e := g.known[resource]
	if e == nil {
		if err := g.makeRoom(now); err != nil {
			return nil, err
		}
		s := &seen{name: resource, token: token, at: now}
		g.known[resource] = g.used.PushBack(s)
		return s, nil
	}
	s := seenIn(e)
	if token < s.token {
		return nil, &StaleError{Resource: resource, Token: token, Last: s.token}
	}
	s.token, s.at = token, now
	g.used.MoveToBack(e)
	return s, nil
}

// makeRoom forgets what nobody has used for Memory, when there is no room for one more resource.
func (g *Guard) makeRoom(now time.Time) error {
	if g.known == nil {
		g.known = map[string]*list.Element{}
	}
	limit, memory := g.Limit, g.Memory
	if limit <= 0 {
		limit = defaultLimit
	}
	if memory <= 0 {
		memory = defaultMemory
	}
	for len(g.known) >= limit {
		oldest := seenIn(g.used.Front())
		if oldest.users > 0 || now.Sub(oldest.at) < memory {
			return fmt.Errorf("%w (%d)", ErrFull, limit)
		}
		delete(g.known, oldest.name)
		g.used.Remove(g.used.Front())
	}
	return nil
}

func seenIn(e *list.Element) *seen { return e.Value.(*seen) } //nolint:forcetypeassert // nothing else is in the list

func (g *Guard) now() time.Time {
	if g.Clock == nil {
		return time.Now()
	}
	return g.Clock()
}
