package quorum

import "sync"

// gate bounds how many attempts are undecided at a time. Nodes execute one request after the other, so more would only
// wait in front of them while their deadline runs; here they wait without one.
type gate struct {
	mu      sync.Mutex
	open    int
	waiting []*request
}

// maxUndecided is a batch of what a stream writes at once.
const maxUndecided = 256

// enter tells whether an attempt at r may be sent now. If not it is sent when it is its turn.
func (g *gate) enter(r *request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == maxUndecided {
		g.waiting = append(g.waiting, r)
		return false
	}
	g.open++
	return true
}

// leave says that an attempt is decided, and returns the request whose turn it is, nil when none waits.
func (g *gate) leave() *request {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.open--
		return nil
	}
	next := g.waiting[0]
	g.waiting[0] = nil
	g.waiting = g.waiting[1:]
	return next
}
