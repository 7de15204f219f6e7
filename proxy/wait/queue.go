package wait

import (
	"container/list"

	"github.com/redfence/redfence/commands"
)

// place is what a waiter waits for: elements of a list, or of a sorted set. Both kinds may be waited for under one
// name, and neither minds the other.
type place struct {
	db    int
	key   string
	group commands.Group
}

// queue holds those who wait at a place, in the order in which they came.
type queue struct {
	place
	waiters list.List // of *Waiter
	ready   bool      // in Registry.ready: elements may be there
	batch   int       // how many waiters are served at once
}

// mostAtOnce bounds the requests of one call for one queue.
const mostAtOnce = 64

// entered is a waiter's place in a queue.
type entered struct {
	queue   *queue
	element *list.Element
}

// ahead tells whether others came earlier.
func (e entered) ahead() bool { return e.queue.waiters.Front() != e.element }
