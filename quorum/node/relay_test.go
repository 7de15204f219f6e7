package node

import (
	"math"
	"net"
	"sync"
	"testing"
)

// relay stands between a node and its server, and can hold what flows in one direction.
type relay struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	change *sync.Cond
	held   [2]int // to the server, to the client: how many connections, the oldest ones
	count  int    // connections there were
	ended  int    // directions of connections that are over
	conns  []net.Conn
}

const (
	toServer = iota
	toClient
)

func startRelay(t testing.TB, target string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, target: target}
	r.change = sync.NewCond(&r.mu)
	r.running.Go(r.accept)
	t.Cleanup(func() {
		_ = l.Close()
		r.release(toServer)
		r.release(toClient)
		r.cut()
		r.running.Wait()
	})
	return r
}

func (r *relay) addr() string { return r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, client, server)
		id := r.count
		r.count++
		r.mu.Unlock()
		r.running.Go(func() { r.pump(client, server, id, toServer) })
		r.running.Go(func() { r.pump(server, client, id, toClient) })
	}
}

func (r *relay) pump(from, to net.Conn, id, direction int) {
	defer func() {
		_ = to.Close()
		r.mu.Lock()
		r.ended++
		r.mu.Unlock()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		for id < r.held[direction] {
			r.change.Wait()
		}
		r.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// holdAll keeps back what flows in a direction.
func (r *relay) holdAll(direction int) { r.set(direction, math.MaxInt) }

// holdPresent keeps back what flows through the connections that there are now.
func (r *relay) holdPresent(direction int) {
	r.mu.Lock()
	count := r.count
	r.mu.Unlock()
	r.set(direction, count)
}

// release lets go what was kept back.
func (r *relay) release(direction int) { r.set(direction, 0) }

func (r *relay) set(direction, held int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[direction] = held
	r.change.Broadcast()
}

// cut ends all connections.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// over is how many directions of connections have been read to their end.
func (r *relay) over() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}
