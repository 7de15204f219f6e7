package proxy

import "github.com/redfence/redfence/commands"

// answered completes a slot. It is called from any goroutine, and does not block.
func (o *outbox) answered(s *slot, r commands.Result) {
	if o.complete(s, r, nil) {
		o.writeNow()
	}
}

// passed completes a slot by a reply in its wire form. Unlike answered it waits while too much of what came before has not
// been read by the client.
func (o *outbox) passed(s *slot, raw []byte) {
	o.awaitSpace()
	if o.complete(s, commands.Result{}, raw) {
		o.writeNow()
	}
}

// complete is answered without the writing. It tells whether the caller shall write.
func (o *outbox) complete(s *slot, r commands.Result, raw []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.done || o.phase == phaseClosed {
		return false
	}
	s.reply, s.raw, s.last, s.done = r.Reply, raw, r.Close, true
	if s.call.Fencing {
		s.grant = given(r.Granted)
	}
	o.settled(s, slotBytes+len(raw)+weight(r.Reply)+grantWeight(s.grant))
	if o.owner != ownerNone || o.unanswered > 0 || o.phase != phaseOpen || len(o.buf) > 0 || !o.plain() {
		o.wakeWriter() // more replies come, and one write takes them all; or there is more to it than a write
		return false
	}
	o.owner = ownerCaller
	o.put = o.postpones
	return !o.postpones
}

// postpone tells whether one more command may be taken on without a wait. Then the loop takes it, and what is answered before
// postponed is left to it.
func (o *outbox) postpone() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.postpones = !o.full()
	return o.postpones
}

// postponed ends postpone. It tells whether the caller has something to write.
func (o *outbox) postponed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	put := o.put
	o.postpones, o.put = false, false
	return put
}

// plain tells whether the first slot is a known and small reply, and nothing else happens when it is written. o.mu is held.
func (o *outbox) plain() bool {
	if !o.ready() {
		return false
	}
	s := o.queue.first()
	return s.act == nil && !s.last && s.bytes <= smallWrite
}

// writeNow writes replies for a caller who must not wait. To wake the writer would cost as much as the write. What the
// connection does not take is left to the writer, errors too.
func (o *outbox) writeNow() {
	for len(o.buf) < smallWrite {
		s := o.takePlain()
		if s == nil {
			break
		}
		o.encode(s)
	}
	if len(o.buf) > 0 {
		n := o.conn.tryWrite(o.buf)
		o.buf = o.buf[:copy(o.buf, o.buf[n:])]
	}
	o.mu.Lock()
	o.owner = ownerNone
	o.wakeWriter()
	o.mu.Unlock()
}

// takePlain removes the first slot if it is plain.
func (o *outbox) takePlain() *slot {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase == phaseClosed || !o.plain() {
		return nil
	}
	return o.remove()
}
