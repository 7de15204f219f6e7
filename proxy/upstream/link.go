package upstream

import (
	"bytes"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy"
	"github.com/redfence/redfence/proxy/instant"
)

// phase is the life of a link.
type phase uint8

const (
	idle     phase = iota // not connected; the next passage connects
	settling              // connecting, or changing the state of the connection; passages are held
	open                  // passages go out as they come
	closed                // for good
)

// fullWrite is how much is gathered before it is sent without being asked to.
const fullWrite = 16 << 10

// link is a session's connection. A goroutine of its own connects and reads; writes that have to wait have another.
type link struct {
	u    *Upstream
	lost func()

	mu      sync.Mutex
	phase   phase
	epoch   int // of the connection: counts those that have ended
	conn    net.Conn
	instant instant.Writer  // nil when a write may always wait
	state   proxy.LinkState // of the connection, as it will be once what was written is executed
	id      string          // of the connection at the server, for CLIENT UNBLOCK
	out     []byte          // not yet written
	writing bool            // somebody writes
	awaited []expected      // replies, in order
	held    []passage
}

type passage struct {
	proxy.Passage
	state proxy.LinkState
}

// expected is a reply that is to come.
type expected struct {
	done func(proxy.Passed) // nil when nobody wants to know
	set  setting
}

// setting says what a reply means for the link.
type setting uint8

const (
	reply   setting = iota // nothing
	set                    // an error means that the state could not be set
	naming                 // the ID of the connection
	lastSet                // the state is set when this has come
)

var _ proxy.Link = (*link)(nil)

// Connect is part of proxy.Upstream.
func (u *Upstream) Connect(lost func()) proxy.Link {
	l := &link{u: u, lost: lost}
	u.enrol(l)
	return l
}

// Send is part of proxy.Link.
func (l *link) Send(state proxy.LinkState, p proxy.Passage) {
	if failed := l.enter(passage{p, state}); failed != nil && p.Done != nil {
		p.Done(proxy.Passed{Failed: resp.UpstreamDown(l.u.target.name, failed)})
	}
}

// enter returns why a passage cannot be sent.
func (l *link) enter(p passage) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.phase {
	case closed:
		return errClosed
	case idle:
		if err := l.u.resting(); err != nil {
			return err
		}
		l.phase = settling
		l.held = append(l.held, p)
		epoch := l.epoch
		l.u.running.Go(func() { l.run(epoch, p.state) })
	case settling:
		l.held = append(l.held, p)
	case open:
		l.write(p)
	}
	return nil
}

// write enters a passage on the connection. l.mu is held, and the link is open.
func (l *link) write(p passage) {
	if p.state != l.state {
		l.settle(p.state)
		l.held = append(l.held, p)
		return
	}
	for i, line := range p.Lines {
		l.out = appendLine(l.out, line)
		e := expected{}
		if i == len(p.Lines)-1 {
			e.done = p.Done
		}
		l.awaited = append(l.awaited, e)
	}
	if len(l.out) > fullWrite {
		l.flush()
	}
}

// settle changes the state of the connection, and holds passages until it is certain to be changed: a command must not run
// in the wrong database. l.mu is held.
func (l *link) settle(want proxy.LinkState) {
	l.phase = settling
	if want.Proto != l.state.Proto {
		l.say(set, "HELLO", strconv.Itoa(int(want.Proto)))
	}
	if want.Name != l.state.Name {
		l.say(set, "CLIENT", "SETNAME", want.Name)
	}
	if want.DB != l.state.DB {
		l.say(set, "SELECT", strconv.Itoa(want.DB))
	}
	l.state = want
	l.awaited[len(l.awaited)-1].set = lastSet
	l.flush()
}

func (l *link) say(s setting, line ...string) {
	l.out = appendLine(l.out, line)
	l.awaited = append(l.awaited, expected{set: s})
}

// settled lets the passages out that were held. l.mu is held.
func (l *link) settled() {
	held := l.held
	l.phase, l.held = open, nil // nothing is kept of what has gone out
	for i, p := range held {
		if p.state != l.state {
			l.settle(p.state)
			l.held = slices.Clone(held[i:])
			break
		}
		l.write(p)
	}
	l.flush()
}

// run connects and then reads until the connection ends.
func (l *link) run(epoch int, state proxy.LinkState) {
	conn, _, err := l.u.dial(l.u.ctx)
	if err == nil {
		defer conn.Close()
		if !l.greet(epoch, conn, state) {
			return
		}
		err = l.read(conn)
	}
	l.end(epoch, idle, err)
}

// greet logs in and sets the state of a new connection. It is false when the link was given up meanwhile.
func (l *link) greet(epoch int, conn net.Conn, state proxy.LinkState) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch != epoch {
		return false
	}
	l.conn, l.instant = conn, instant.New(conn)
	l.state = proxy.LinkState{Proto: resp.RESP2}
	if auth := l.u.target.auth(); auth != nil {
		l.say(set, auth...)
	}
	l.say(naming, "CLIENT", "ID")
	if state != l.state {
		l.settle(state)
		return true
	}
	l.say(lastSet, "PING")
	l.flush()
	return true
}

// read takes replies until the connection ends, and says why it does.
func (l *link) read(conn net.Conn) error {
	in := scanner{limit: l.u.cfg.MaxReply}
	for {
		raw, err := in.next()
		if err != nil {
			return err
		}
		if raw != nil {
			if err := l.take(&in, raw); err != nil {
				return err
			}
			continue
		}
		n, err := conn.Read(in.room())
		in.grown(n)
		if n == 0 && err != nil {
			return err
		}
	}
}

// take hands a reply to who waits for it.
func (l *link) take(in *scanner, raw []byte) error {
	if raw[0] == '>' {
		return nil // nothing was asked for that is pushed
	}
	l.mu.Lock()
	if len(l.awaited) == 0 {
		l.mu.Unlock()
		return resp.ErrMalformed
	}
	e := l.awaited[0]
	l.awaited[0] = expected{}
	if l.awaited = l.awaited[1:]; len(l.awaited) == 0 {
		l.awaited = nil
	}
	err := l.apply(e.set, raw)
	l.mu.Unlock()
	if e.done != nil {
		e.done(proxy.Passed{Raw: in.own(raw)})
	}
	return err
}

// apply does what a reply means for the link. l.mu is held.
func (l *link) apply(s setting, raw []byte) error {
	line, _, _ := bytes.Cut(raw, []byte("\r\n"))
	switch {
	case s == reply:
		return nil
	case s == naming:
		if raw[0] == ':' {
			l.id = string(line[1:])
		}
		return nil
	case raw[0] == '-':
		return resp.Failure(line[1:])
	case s == lastSet && l.phase == settling:
		l.settled()
	}
	return nil
}

// hangUp ends the connection, if there is one, and answers what waits. The next passage connects again.
func (l *link) hangUp(why error) { l.end(anyEpoch, idle, why) }

// Close is part of proxy.Link.
func (l *link) Close() {
	l.end(anyEpoch, closed, errClosed)
	l.u.dismiss(l)
}

const anyEpoch = -1

// end is hangUp for one connection; another that came after it is left alone.
func (l *link) end(epoch int, to phase, why error) {
	l.mu.Lock()
	if l.phase == closed || epoch != anyEpoch && epoch != l.epoch {
		l.mu.Unlock()
		return
	}
	l.epoch++
	awaited, held := l.awaited, l.held
	if l.conn != nil {
		_ = l.conn.Close()
	}
	l.phase, l.conn, l.instant, l.id, l.out, l.writing, l.awaited, l.held = to, nil, nil, "", nil, false, nil, nil
	l.mu.Unlock()
	if owed := l.fail(awaited, held, why); !owed && to == idle {
		l.lost()
	}
}

// fail answers what a connection owed, and what was not sent. It tells whether there was anything of the first kind.
func (l *link) fail(awaited []expected, held []passage, why error) (owed bool) {
	for _, e := range awaited {
		if e.done != nil {
			owed = true
			e.done(proxy.Passed{Failed: resp.UpstreamLost(l.u.target.name, why), Close: true})
		}
	}
	for _, p := range held {
		if p.Done != nil {
			p.Done(proxy.Passed{Failed: resp.UpstreamDown(l.u.target.name, why)})
		}
	}
	return owed
}
