package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/proxy/instant"
	"github.com/redfence/redfence/proxy/poll"
)

const (
	// hangUpGrace is how long a client that sent its last byte may still be answered before its calls are abandoned.
	// It may have closed only its own direction, as `printf ... | nc` does; one cannot tell.
	hangUpGrace = time.Second
)

// session is one client connection: a reader, which also runs the local commands, and a writer.
type session struct {
	srv        *Server
	id         int64
	conn       net.Conn     // with TLS, if any
	raw        net.Conn     // without; closing it never waits
	handshakes *takingTurns // nil without TLS
	wire       *deadlineWriter
	in         *framer
	input      account // what in holds of the server's budget
	out        *outbox
	began      time.Time
	active     atomic.Int64 // when the client last sent something, in ns since began
	latest     atomic.Pointer[commands.Spec]
	shown      atomic.Pointer[identity] // what other sessions may see
	slow       atomic.Bool              // cut off by the outbox
	hungUp     atomic.Bool              // the client sends no more and may be gone
	ip         string                   // of the client
	multi      atomic.Int32             // 0 outside MULTI, else one more than the number of queued commands

	blocked blocked

	// The rest belongs to the reader.
	identity
	stream   Stream   // nil until first needed
	allowed  bool     // authenticated, or no password is needed
	silent   bool     // CLIENT REPLY OFF
	fencing  bool     // CLIENT FENCING ON
	skipNext bool     // CLIENT REPLY SKIP
	mute     bool     // the command at hand is not answered
	leaving  bool     // the command at hand is the last
	held     leftOver // what the loop has left to the reader
	gathers  bool     // the command at hand is one of those that the loop has read together
	readAt   time.Time
	limited  bool   // reads have a deadline
	turn     *turns // at lengthy work; nil for none
	topics   subscriptions

	tracked tracked
	heard   heard

	tx         *transaction // nil outside MULTI
	watches    []watching
	watchBytes int // what they count

	passing passing
}

// identity is what CLIENT LIST tells of a session.
type identity struct {
	name, library, libraryVersion string
	db                            int
	proto                         resp.Protocol
	channels, patterns, shards    int
	invalid                       *invalid // nil without CLIENT TRACKING
}

func newSession(srv *Server, id int64, raw net.Conn) *session {
	s := &session{srv: srv, id: id, conn: raw, raw: raw, began: time.Now(), in: newFramer(srv.cfg.MaxBulk, srv.cfg.MaxArgs)}
	if srv.cfg.TLS != nil {
		s.secure(srv.cfg.TLS)
	}
	s.polled()
	s.ip = hostOf(raw.RemoteAddr())
	s.wire = &deadlineWriter{conn: s.conn, instant: instant.New(s.conn), timeout: srv.cfg.WriteTimeout, total: &srv.stats.bytesOut}
	s.out = newOutbox(s.wire, srv.cfg.Limits, s.cutOff)
	s.out.pause = s.standBy
	s.input.budget = &srv.input
	s.proto = resp.RESP2
	s.allow(srv.cfg.Password == "")
	s.show()
	return s
}

// hostOf is an address without its port.
func hostOf(addr net.Addr) string {
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	return host
}

// show makes the identity visible to other sessions.
func (s *session) show() {
	seen := s.identity
	seen.invalid = s.tracked.to
	s.shown.Store(&seen)
}

// allow says whether the client is authenticated.
func (s *session) allow(yes bool) {
	s.allowed = yes
	s.in.anonymous = !yes
}

// serve runs the session to its end.
func (s *session) serve() {
	defer s.srv.dismiss(s)
	var writer sync.WaitGroup
	writer.Go(s.write)
	why := s.listen()
	s.giveTurn()
	s.refund()
	s.finish(why)
	writer.Wait()
	s.report()
	s.leaveAll()
	s.stopTracking()
}

// write runs the writer. The connection ends with it.
func (s *session) write() {
	defer s.close()
	defer s.survive()
	s.out.run()
}

// close ends the connection. With TLS it says so to the peer, unless that cannot be done at once.
func (s *session) close() {
	_ = s.conn.SetDeadline(time.Now().Add(refusalTimeout))
	_ = s.conn.Close()
}

// survive keeps a panic inside its session.
func (s *session) survive() {
	if cause := recover(); cause != nil {
		s.srv.log.Error("a session failed and was closed", "client", s.raw.RemoteAddr(), "panic", cause, "stack", string(debug.Stack()))
		s.kill()
	}
}

// kill ends the session without answering what is left.
func (s *session) kill() {
	s.hungUp.Store(true)
	s.out.close()
	_ = s.raw.Close()
}

// drain makes the session end when everything that it has read is answered.
func (s *session) drain() { _ = s.conn.SetReadDeadline(time.Now()) }

// gone tells whether the client sends no more and may be gone, also when that was not read yet: behind a pause of the process
// there may be requests of clients that have given up long ago.
func (s *session) gone() bool { return s.hungUp.Load() || poll.HungUp(s.raw) }

// cutOff ends a session whose client reads too slowly. The outbox calls it under its lock, on a goroutine of the
// backend perhaps, so it neither logs nor waits for the connection to close.
func (s *session) cutOff() {
	s.slow.Store(true)
	go s.raw.Close() //nolint:errcheck // there is nobody to tell
}

// report tells of a session that was cut off.
func (s *session) report() {
	if s.slow.Load() {
		s.srv.stats.cutOff.Add(1)
		s.srv.log.Warn("cut off a client that does not read what it is sent", "client", s.raw.RemoteAddr(),
			"limit", s.srv.cfg.MaxOutput)
	}
}

// listen reads and dispatches until the client leaves, and says why it did: nil when its last command was a last one.
func (s *session) listen() (err error) {
	defer s.survive()
	if err := s.handshake(); err != nil {
		return err
	}
	for !s.leaving {
		if s.isBlocked() {
			if err := s.readOn(); err != nil {
				return err
			}
			continue
		}
		line, err := s.nextLine()
		switch {
		case err != nil:
			s.leaving = true
			s.reply(resp.ReplyFor(err))
		case line == nil:
			if err := s.charge(); err != nil {
				s.leaving = true
				s.reply(resp.ReplyFor(err))
				continue
			}
			if err := s.read(); err != nil {
				return err
			}
		case !s.admit():
			return net.ErrClosed
		default:
			s.dispatch(line)
			s.spendCaching(line[0])
		}
	}
	return nil
}

// read waits for bytes from the client. Before that, what can be written is.
func (s *session) read() error {
	s.pause()
	n, err := s.receive()
	if n > 0 {
		s.received(n)
	}
	if s.in.filled() {
		s.takeTurn()
	}
	s.out.acquire()
	if n > 0 {
		return nil // an error comes again
	}
	return err
}

// received takes note of n bytes that were read.
func (s *session) received(n int) {
	s.in.grown(n)
	s.readAt = time.Now()
	s.active.Store(int64(s.readAt.Sub(s.began)))
	s.srv.stats.bytesIn.Add(int64(n))
}

// receive reads, and goes on past the idle time-out while the client waits for an answer. It reads nothing when a
// blocked command was answered meanwhile.
func (s *session) receive() (int, error) {
	for {
		s.limitRead()
		n, err := s.conn.Read(s.in.room())
		switch {
		case n > 0 || !errors.Is(err, os.ErrDeadlineExceeded):
			return n, err
		case s.awoken():
			return 0, nil
		case s.srv.draining.Load():
			return 0, err
		case !s.out.owes():
			s.tellStalled()
			return 0, err
		}
	}
}

// limitRead sets the time by which the client must send something. A drain that came in between must not be forgotten.
func (s *session) limitRead() {
	limit := s.readTimeout()
	if limit == 0 && !s.limited {
		return
	}
	s.limited = limit > 0
	var deadline time.Time
	if s.limited {
		deadline = time.Now().Add(limit)
	}
	_ = s.conn.SetReadDeadline(deadline)
	if s.srv.draining.Load() {
		s.drain()
	}
	s.renudge()
}

// readTimeout is how long the client may send nothing; zero is for ever. Subscribers may be idle, but nobody stops
// inside a request that takes room from those of others.
func (s *session) readTimeout() time.Duration {
	if s.input.taken > 0 {
		return s.srv.cfg.InputTimeout
	}
	if s.topics.any() {
		return 0
	}
	return s.srv.cfg.IdleTimeout
}

// finish waits for the answers that are due, and ends the connection. Which are due depends on why reading ended.
func (s *session) finish(why error) {
	abandon := make(<-chan time.Time)
	switch {
	case why == nil, errors.Is(why, os.ErrDeadlineExceeded): // the client's last command, a drain or an idle client
	case errors.Is(why, io.EOF):
		s.hungUp.Store(true)
		abandon = time.After(hangUpGrace)
	default: // there is nobody to answer
		s.kill()
	}
	s.stopWaiting()
	s.out.end()
	select {
	case <-s.out.gone:
	case <-abandon:
	}
	if s.stream != nil {
		s.stream.Close()
	}
	s.unlink()
	<-s.out.gone
}
