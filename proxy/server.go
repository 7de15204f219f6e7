package proxy

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/proxy/hub"
	"github.com/redfence/redfence/proxy/poll"
	"github.com/redfence/redfence/proxy/route"
	"github.com/redfence/redfence/proxy/tracking"
	"github.com/redfence/redfence/proxy/wait"
	"github.com/redfence/redfence/proxy/wake"
)

const (
	// DefaultMaxClients is the number of connections at once, as in Redis.
	DefaultMaxClients = 10_000
	// DefaultIdleTimeout is how long a connection may send nothing. Zero is for ever, as in Redis: pools keep idle
	// connections, and TCP keep-alive finds dead peers. It never applies to subscribers.
	DefaultIdleTimeout time.Duration = 0
)

// Limits bound what clients can make a server hold. A zero field stands for its default.
type Limits struct {
	MaxClients   int           // connections at once
	MaxBulk      int           // bytes of one argument; a command may have twice as many
	MaxArgs      int           // arguments of one command
	MaxPipeline  int           // unanswered commands of one connection
	MaxOutput    int           // bytes that wait for one slow reader
	MaxInput     int           // bytes of requests that are not whole yet, over all connections
	IdleTimeout  time.Duration // time without a command after which a connection is closed
	InputTimeout time.Duration // the same inside a request that counts in MaxInput
	WriteTimeout time.Duration // time without progress of a write after which a connection is closed
}

// withDefaults fills the zero fields.
func (l Limits) withDefaults() Limits {
	for _, field := range []struct {
		n      *int
		normal int
	}{
		{&l.MaxClients, DefaultMaxClients},
		{&l.MaxBulk, DefaultMaxBulk},
		{&l.MaxArgs, DefaultMaxArgs},
		{&l.MaxPipeline, DefaultMaxPipeline},
		{&l.MaxOutput, DefaultMaxOutput},
		{&l.MaxInput, DefaultMaxInput},
	} {
		if *field.n == 0 {
			*field.n = field.normal
		}
	}
	if l.InputTimeout == 0 {
		l.InputTimeout = DefaultInputTimeout
	}
	if l.WriteTimeout == 0 {
		l.WriteTimeout = DefaultWriteTimeout
	}
	return l
}

// Config is what a server needs.
type Config struct {
	Backend  Backend
	Hub      *hub.Hub        // the sink that the backend was given; nil for one that nobody else feeds
	Wait     *wait.Registry  // likewise
	Tracking *tracking.Table // likewise
	Upstream Upstream        // nil when every key is a lock's
	Rules    route.Rules     // beside an upstream: which keys are locks
	Logger   *slog.Logger    // nil for no logs
	Metrics  Metrics         // nil for none
	Password string          // of the user "default"; empty lets everybody in
	TLS      *tls.Config     // nil for plain TCP
	Version  string          // of Redfence, for INFO
	RunID    string          // 40 hexadecimal digits that tell this process from others, for INFO; empty for random ones
	Face     Face            // what to answer as; nil for a data server
	Master   Master          // whom ROLE and INFO call the master; nil for this process
	Asleep   bool            // waiters of Redisson are not woken when their lock is free without a message (see proxy/wake)
	Limits
}

// Server answers Redis clients.
type Server struct {
	cfg      Config
	log      *slog.Logger
	table    *commands.Table
	handlers []handler // by the ID of a command's row
	began    time.Time
	stats    stats
	resends  *resends
	ears     *ears
	wake     *wake.Waker // nil when nobody is to be woken
	pause    pause
	input    inputBudget

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	sessions  map[int64]*session
	lastID    atomic.Int64
	draining  atomic.Bool
	live      sync.WaitGroup // one for each session

	loop  *poll.Loop // reads for the sessions; nil when they do themselves, and before the first
	round []*outbox  // what the loop has to write behind its round; only the loop uses it

	beginning, pipelining, handshaking *turns
}

// stats are the counters of INFO.
type stats struct {
	connections, rejected, commands, failures, cutOff, joined, bytesIn, bytesOut atomic.Int64
}

// New returns a server that does not listen yet.
func New(cfg Config) *Server {
	cfg.Limits = cfg.withDefaults()
	if cfg.Hub == nil {
		cfg.Hub = hub.New()
	}
	if cfg.Wait == nil {
		cfg.Wait = wait.New()
	}
	cfg.Wait.Use(cfg.Backend.Open())
	if cfg.Tracking == nil {
		cfg.Tracking = tracking.New(tracking.DefaultLimit)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.RunID == "" {
		cfg.RunID = newRunID()
	}
	table, handlers := commands.Standard(), localHandlers()
	if cfg.Face != nil {
		table = cfg.Face.Table()
		cfg.Backend, cfg.Upstream = deaf{cfg.Backend}, nil
		handlers = faceHandlers(handlers, table, cfg.Face)
	}
	s := &Server{
		cfg: cfg, log: cfg.Logger, table: table, handlers: newHandlers(table, handlers), began: time.Now(), ears: newEars(listening(cfg)),
		listeners: map[net.Listener]struct{}{}, sessions: map[int64]*session{},
		input:     inputBudget{limit: int64(cfg.MaxInput)},
		beginning: newTurns(beginners), pipelining: halfTheProcessors(), handshaking: halfTheProcessors(),
	}
	s.resends = newResends(cfg.Backend.Open)
	if !cfg.Asleep && cfg.Face == nil {
		s.wake = wake.New(cfg.Hub, func() wake.Stream { return cfg.Backend.Open() })
	}
	return s
}

// listen notes l, unless the server is shutting down.
func (s *Server) listen(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) unlisten(l net.Listener) {
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
	_ = l.Close() // Shutdown may have closed it already
}

// dismiss takes a session that has ended off the books.
func (s *Server) dismiss(ses *session) {
	s.mu.Lock()
	delete(s.sessions, ses.id)
	s.mu.Unlock()
	if s.cfg.Metrics != nil {
		s.cfg.Metrics.ConnClosed()
	}
	s.live.Done()
}

// Shutdown stops accepting, lets the commands that were read be answered, and closes all sessions. When ctx ends
// first, it closes them at once and returns the error of ctx. No goroutine of the server is left when it returns.
func (s *Server) Shutdown(ctx context.Context) error {
	for _, ses := range s.stopListening() {
		ses.drain()
	}
	if s.wake != nil {
		s.wake.Close()
	}
	gone := make(chan struct{})
	go func() {
		s.live.Wait()
		s.resends.takeBacks.close()
		s.stopLoop()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
	}
	for _, ses := range s.all() {
		ses.kill()
	}
	<-gone
	return ctx.Err()
}

func (s *Server) stopListening() []*session {
	s.mu.Lock()
	s.draining.Store(true)
	s.pause.set(noPause)
	for l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	return s.all()
}

// byID returns the session of that ID, nil when there is none.
func (s *Server) byID(id int64) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// all returns the sessions there are now, in no order.
func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*session, 0, len(s.sessions))
	for _, ses := range s.sessions {
		list = append(list, ses)
	}
	return list
}
