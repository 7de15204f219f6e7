package raftstore

// What one stream may do to the others in the queue.
const (
	// turnBytes is how long a call may be that needs one turn; a longer one waits for as many as it is longer.
	turnBytes = 64 << 10
	// What a stream may always have waiting, however full the queue is, so that those who fill it shut nobody out.
	reservedCalls = 8
	reservedBytes = 32 << 10
	// keptLane is the room in calls that an empty lane keeps.
	keptLane = 64
)

// lane is the calls of one stream that wait for the log, in the order in which they came. The queue guards it.
type lane struct {
	calls  []waiting // those before next are gone
	next   int
	bytes  int
	turns  int   // that the first call has waited for
	behind *lane // the next in the ring
	inRing bool
	closed bool
}

func (l *lane) len() int { return len(l.calls) - l.next }

func (l *lane) put(w waiting) {
	if len(l.calls) == cap(l.calls) && l.next > len(l.calls)/2 {
		n := copy(l.calls, l.calls[l.next:])
		clear(l.calls[n:])
		l.calls, l.next = l.calls[:n], 0
	}
	l.calls = append(l.calls, w)
	l.bytes += w.size
}

func (l *lane) first() waiting { return l.calls[l.next] }

// take removes the first call.
func (l *lane) take() waiting {
	w := l.calls[l.next]
	l.calls[l.next] = waiting{}
	l.next++
	l.bytes -= w.size
	l.turns = 0
	if l.len() == 0 {
		l.reset()
	}
	return w
}

// takeAll appends all calls to list and removes them.
func (l *lane) takeAll(list []waiting) []waiting {
	list = append(list, l.calls[l.next:]...)
	clear(l.calls[l.next:])
	l.reset()
	return list
}

func (l *lane) reset() {
	l.calls, l.next, l.bytes, l.turns = l.calls[:0], 0, 0, 0
	if cap(l.calls) > keptLane {
		l.calls = nil
	}
}

// itsTurn tells whether the first call may go now. It is asked once in each turn, and stays true.
func (l *lane) itsTurn() bool {
	l.turns++
	return l.turns*turnBytes >= l.first().size
}

// ring is the lanes whose turn comes, in that order. A lane may be empty when its turn comes.
type ring struct{ first, last *lane }

func (r *ring) push(l *lane) {
	if l.inRing {
		return
	}
	l.inRing, l.behind = true, nil
	if r.last == nil {
		r.first = l
	} else {
		r.last.behind = l
	}
	r.last = l
}

func (r *ring) pop() *lane {
	l := r.first
	r.first = l.behind
	if r.first == nil {
		r.last = nil
	}
	l.inRing, l.behind = false, nil
	return l
}
