package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
)

// greetTimeout is how long a connection may take to say what it is.
const greetTimeout = 5 * time.Second

// Config says how a port is opened.
type Config struct {
	Listen    string      // host:port; port 0 picks a free one
	Advertise string      // what others use; empty is the address that is listened on
	TLS       *tls.Config // both as server and as client; nil is plain TCP
	Logger    *slog.Logger
	// Self says who this member is. It is asked at every connection, since a new member learns its cluster late.
	Self func() Self
}

// Self is who a member is.
type Self struct {
	ID      string // its server id
	Cluster string // the cluster it belongs to, empty when none yet
}

// TCP is a Port over TCP or TLS.
type TCP struct {
	cfg      Config
	listener net.Listener
	done     sync.WaitGroup

	mu       sync.Mutex
	handlers map[byte]func(net.Conn)
	open     map[net.Conn]bool // what was accepted
	closed   bool
}

// Listen opens a port. Until Handle was called for a kind, connections of that kind are refused.
func Listen(cfg Config) (*TCP, error) {
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("cluster port: %w", err)
	}
	p := &TCP{cfg: cfg, listener: l, handlers: map[byte]func(net.Conn){}, open: map[net.Conn]bool{}}
	p.done.Go(p.accept)
	return p, nil
}

// Addr implements Port.
func (p *TCP) Addr() string {
	if p.cfg.Advertise != "" {
		return p.cfg.Advertise
	}
	return p.listener.Addr().String()
}

// Handle implements Port.
func (p *TCP) Handle(kind byte, serve func(net.Conn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handlers[kind] = serve
}

// Dial implements Port.
func (p *TCP) Dial(ctx context.Context, addr string, kind byte) (net.Conn, error) {
	return p.DialMember(ctx, addr, "", kind)
}

// DialMember is Dial to the member of a server id: any other that is found at addr refuses.
func (p *TCP) DialMember(ctx context.Context, addr, id string, kind byte) (net.Conn, error) {
	conn, err := p.connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	if err := p.greet(ctx, conn, id, kind); err != nil {
		return nil, fmt.Errorf("%s: %w", addr, errors.Join(err, conn.Close()))
	}
	return conn, nil
}

func (p *TCP) connect(ctx context.Context, addr string) (net.Conn, error) {
	if p.cfg.TLS == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{Config: p.cfg.TLS}).DialContext(ctx, "tcp", addr)
}

// greet says who calls, and waits for the other side to agree.
func (p *TCP) greet(ctx context.Context, conn net.Conn, to string, kind byte) error {
	self := p.cfg.Self()
	hello, err := greeting{kind: kind, cluster: self.Cluster, from: self.ID, to: to}.append(nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	if _, err = conn.Write(hello); err == nil {
		err = readVerdict(conn)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// accept takes connections until the port is closed.
func (p *TCP) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			p.cfg.Logger.Warn("cluster port", "error", err)
			time.Sleep(10 * time.Millisecond) // out of descriptors: no use in spinning
			continue
		}
		if p.cfg.TLS != nil {
			conn = tls.Server(conn, p.cfg.TLS)
		}
		if !p.track(conn) {
			conn.Close()
			return
		}
		p.done.Go(func() {
			defer p.untrack(conn)
			p.welcome(conn)
		})
	}
}

// welcome hears what a connection is for and hands it over, or says why not.
func (p *TCP) welcome(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(greetTimeout))
	g, err := readGreeting(conn)
	if err != nil {
		p.cfg.Logger.Debug("cluster port: no greeting", "from", conn.RemoteAddr().String(), "error", err)
		conn.Close()
		return
	}
	serve, why := p.judge(g)
	if serve != nil && why != "" {
		p.cfg.Logger.Warn("cluster port: a connection was refused", "from", conn.RemoteAddr().String(),
			"id", g.from, "reason", why)
	}
	if err := writeVerdict(conn, why); err != nil || why != "" {
		conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	serve(conn)
}

// judge returns what serves a connection, and why it is refused all the same. Without a server it is one that comes too early,
// which is no news. A member that has forgotten everything answers at the
// address of its old self, and must not take part in elections for it: so who is called by name has to be that one, and
// only members of the same cluster talk Raft. Anybody may ask questions.
func (p *TCP) judge(g greeting) (func(net.Conn), string) {
	p.mu.Lock()
	serve := p.handlers[g.kind]
	p.mu.Unlock()
	self := p.cfg.Self()
	switch {
	case serve == nil:
		return nil, fmt.Sprintf("nothing serves connections of kind %q here", g.kind)
	case g.to != "" && g.to != self.ID:
		return serve, fmt.Sprintf("this is %s, not %s", self.ID, g.to)
	case g.kind != Member && self.Cluster == "":
		return nil, self.ID + " belongs to no cluster yet"
	case g.kind != Member && g.cluster != self.Cluster:
		return serve, fmt.Sprintf("%s belongs to cluster %s, not to %s", self.ID, self.Cluster, g.cluster)
	}
	return serve, ""
}

// track remembers an accepted connection, unless the port is closed.
func (p *TCP) track(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.open[conn] = true
	}
	return !p.closed
}

func (p *TCP) untrack(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, conn)
}

// Close closes the port and what it has accepted, and waits until all of that is served.
func (p *TCP) Close() error {
	p.mu.Lock()
	p.closed = true
	err := p.listener.Close()
	for conn := range p.open {
		conn.Close()
	}
	p.mu.Unlock()
	p.done.Wait()
	return err
}
