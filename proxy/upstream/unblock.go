package upstream

import "time"

// Waits is part of proxy.Link.
func (l *link) Waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase == open && len(l.out) == 0 && len(l.awaited) > 0
}

// Unblock is part of proxy.Link.
func (l *link) Unblock(withError bool) {
	l.mu.Lock()
	epoch := l.epoch
	l.mu.Unlock()
	how := "TIMEOUT"
	if withError {
		how = "ERROR"
	}
	l.u.running.Go(func() { l.unblock(epoch, how) })
}

// unblockPause is the time between two attempts to end a wait: the command may still be on its way to the server.
const unblockPause = 5 * time.Millisecond

// unblock has the server end the wait, over another connection, until it is answered.
func (l *link) unblock(epoch int, how string) {
	conn, _, err := l.u.dial(l.u.ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	t := newTalk(conn)
	if l.u.login(t) != nil {
		return
	}
	for {
		id, waits := l.waiting(epoch)
		if !waits || l.u.ctx.Err() != nil {
			return
		}
		if id != "" {
			reply, err := t.ask(askTimeout, "CLIENT", "UNBLOCK", id, how)
			if err != nil || reply.IsErr() || reply.Int() == 1 {
				return
			}
		}
		l.u.pause(unblockPause)
	}
}

// waiting tells whether something is unanswered, and what the connection is called at the server once that is known.
func (l *link) waiting(epoch int) (id string, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id, l.epoch == epoch && len(l.awaited)+len(l.held) > 0
}
