package harness

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Direction is one of the two ways through a Relay.
type Direction int

// The directions of a Relay.
const (
	ToServer Direction = iota
	ToClient
)

// Relay passes TCP connections on to a server, and can delay, hold back or cut what flows. Its methods may be called on
// any goroutine.
type Relay struct {
	Addr string // host:port that stands for the server

	target   string
	listener net.Listener
	running  sync.WaitGroup
	done     chan struct{}
	who      func(first []byte) string // names the client of a connection; nil when nobody asks for it

	mu     sync.Mutex
	change *sync.Cond
	held   [2]bool
	apart  [2]map[string]bool // clients for whom a direction is held
	delay  [2]time.Duration
	conns  map[net.Conn]*link
	over   bool
}

// link is a connection through a Relay: both its halves.
type link struct{ client string }

// StartRelay passes on to target what connects to a free loopback port, until the test ends.
func StartRelay(t testing.TB, target string) *Relay {
	t.Helper()
	return startRelay(t, target, nil)
}

// startRelay is StartRelay with a function that names the client of a connection by what it says first.
func startRelay(t testing.TB, target string, who func(first []byte) string) *Relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{
		Addr: l.Addr().String(), target: target, listener: l, who: who,
		apart: [2]map[string]bool{{}, {}}, done: make(chan struct{}), conns: map[net.Conn]*link{},
	}
	r.change = sync.NewCond(&r.mu)
	r.running.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

// Hold keeps back all that flows in a direction, that of new connections too, until Release.
func (r *Relay) Hold(d Direction) { r.set(func() { r.held[d] = true }) }

// Release lets a direction flow again, beginning with what was kept back.
func (r *Relay) Release(d Direction) { r.set(func() { r.held[d] = false }) }

// HoldApart is Hold for the connections of one client.
func (r *Relay) HoldApart(client string, d Direction) { r.set(func() { r.apart[d][client] = true }) }

// ReleaseApart ends all HoldApart.
func (r *Relay) ReleaseApart() { r.set(func() { r.apart = [2]map[string]bool{{}, {}} }) }

// Delay makes everything in a direction arrive later by so much. It keeps its order.
func (r *Relay) Delay(d Direction, by time.Duration) { r.set(func() { r.delay[d] = by }) }

// Cut ends all connections; what was kept back on them is lost.
func (r *Relay) Cut() {
	r.set(func() {
		for c := range r.conns {
			_ = c.Close() // it is meant to break
		}
		r.conns = map[net.Conn]*link{}
	})
}

func (r *Relay) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	r.change.Broadcast()
}

func (r *Relay) close() {
	_ = r.listener.Close() // nothing is lost
	close(r.done)
	r.set(func() { r.over = true })
	r.Cut()
	r.running.Wait()
}

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.target)
		if err != nil {
			_ = client.Close() // as a server would that is not there
			continue
		}
		r.set(func() {
			l := &link{}
			r.conns[client], r.conns[server] = l, l
			r.running.Go(func() { r.carry(client, server, ToServer) })
			r.running.Go(func() { r.carry(server, client, ToClient) })
		})
	}
}

// chunk is what was read at once, and when it is to arrive.
type chunk struct {
	bytes []byte
	due   time.Time
}

// carry reads from one end and has deliver write to the other, so that a delay does not slow the reading.
func (r *Relay) carry(from, to net.Conn, d Direction) {
	chunks := make(chan chunk, 4096)
	r.running.Go(func() { r.deliver(to, d, chunks) })
	defer close(chunks)
	for first := true; ; first = false {
		buffer := make([]byte, 64<<10)
		n, err := from.Read(buffer)
		r.mu.Lock()
		due := time.Now().Add(r.delay[d])
		if l := r.conns[from]; l != nil && first && d == ToServer && r.who != nil {
			l.client = r.who(buffer[:n])
		}
		r.mu.Unlock()
		if n > 0 {
			chunks <- chunk{buffer[:n], due}
		}
		if err != nil {
			return
		}
	}
}

// deliver writes what is due until the connection ends, and then reads the rest in vain.
func (r *Relay) deliver(to net.Conn, d Direction, chunks <-chan chunk) {
	defer to.Close()
	broken := false
	for c := range chunks {
		if broken || !r.await(to, d, c.due) {
			broken = true
			continue
		}
		_, err := to.Write(c.bytes)
		broken = err != nil
	}
}

// await returns when something due then may be delivered, false when it never will be.
func (r *Relay) await(to net.Conn, d Direction, due time.Time) bool {
	if wait := time.Until(due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.done:
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.alive(to) && (r.held[d] || r.apart[d][r.conns[to].client]) {
		r.change.Wait()
	}
	return r.alive(to)
}

// alive tells whether a connection was not cut. The caller holds mu.
func (r *Relay) alive(c net.Conn) bool {
	_, ok := r.conns[c]
	return ok && !r.over
}
