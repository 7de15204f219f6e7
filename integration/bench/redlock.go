package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// nodeServer is one of the independent servers of quorum mode. It keeps nothing on disk: both sides do the same there.
func nodeServer(program, dir string, i int) *server {
	return &server{
		name: "node" + strconv.Itoa(i+1), about: "no persistence", dir: filepath.Join(dir, "node"+strconv.Itoa(i+1)),
		argv:    []string{program, "--bind", "127.0.0.1", "--dir", ".", "--save", ""},
		version: []string{program, "--version"},
	}
}

// quorumServer is redfence in front of the nodes.
func quorumServer(program, dir string, nodes []*server) *server {
	s := &server{
		name: "redfence", about: fmt.Sprintf("quorum over %d redis-servers, its processor time with theirs", len(nodes)),
		dir: filepath.Join(dir, "redfence"), behind: nodes,
		version: []string{program, "version"}, ready: regexp.MustCompile(`redfence ready listen=(\S+)`),
	}
	s.late = func() []string {
		argv := []string{program, "--listen", "127.0.0.1:0", "--http-listen", "", "--log-level", "warn"}
		for _, n := range nodes {
			argv = append(argv, "--node", "redis://"+n.addr)
		}
		return argv
	}
	return s
}

// redsyncSide is the Redlock library redsync in the clients, over the same nodes.
func redsyncSide(nodes []*server) *server {
	return &server{
		name: "redsync", about: fmt.Sprintf("v4 in the clients over %d redis-servers, whose processor time is shown", len(nodes)),
		behind: nodes, direct: &redsyncLibrary{}, version: []string{"echo", "redsync v4"},
	}
}

// redsyncLibrary is redsync with its connections, which all clients share, as users do.
type redsyncLibrary struct {
	clients []*redis.Client
	sync    *redsync.Redsync
}

func (l *redsyncLibrary) open(nodes []*server) error {
	var all []pools.Pool
	for _, n := range nodes {
		c := redis.NewClient(&redis.Options{Addr: n.addr, PoolSize: maxPool, MinIdleConns: crowd})
		l.clients = append(l.clients, c)
		all = append(all, goredis.NewPool(c))
		if err := c.Ping(context.Background()).Err(); err != nil {
			return err
		}
	}
	l.sync = redsync.New(all...)
	return nil
}

// maxPool is enough for all clients at once.
const maxPool = 300

func (l *redsyncLibrary) close() {
	for _, c := range l.clients {
		_ = c.Close() // the run is over
	}
}

func (*redsyncLibrary) join(int) error { return nil }

func (*redsyncLibrary) left() error { return nil } // see noCheck

// mutex is a lock that is tried once, with the same lease as everywhere.
func (l *redsyncLibrary) mutex(key string) *redsync.Mutex {
	return l.sync.NewMutex(key, redsync.WithExpiry(lease), redsync.WithTries(1))
}

const lease = 30 * time.Second

// redlockSetting has every client take and release a lock of its own, on a majority of the nodes.
func redlockSetting(clients int, paused bool) setting {
	s := lockSetting(clients)
	s.name, s.paused = "redlock", paused
	s.about = "every client takes and releases its own lock on a majority: redsync in the client, or SET NX PX and compare-and-delete through redfence"
	if paused {
		s.name = "redlock-paused"
		s.about = "as redlock, while one of the nodes is stopped"
	}
	raw := s.enlist
	s.after = noCheck
	s.enlist = func(c *client) cycle {
		l, ok := c.server.direct.(*redsyncLibrary)
		if !ok {
			return raw(c)
		}
		m := l.mutex("bench:lock:" + strconv.Itoa(c.id))
		return func() error {
			if err := c.timedCall(0, m.TryLock); err != nil {
				return err
			}
			return c.timedCall(1, func() error { return unlock(m) })
		}
	}
	return s
}

// redlockContended has many clients try for one lock on a majority.
func redlockContended() setting {
	s := contendedSetting()
	s.name = "redlock-contended"
	raw := s.enlist
	s.after = noCheck
	s.enlist = func(c *client) cycle {
		l, ok := c.server.direct.(*redsyncLibrary)
		if !ok {
			return raw(c)
		}
		m := l.mutex("bench:contended")
		return func() error { return c.contendDirect(m) }
	}
	return s
}

// contendDirect is contend by redsync.
func (c *client) contendDirect(m *redsync.Mutex) error {
	began := time.Now()
	for sent := began; ; sent = time.Now() {
		err := m.TryLock()
		var taken *redsync.ErrTaken
		switch {
		case err == nil:
			c.record(0, began)
			if err := c.alone(); err != nil {
				return err
			}
			return c.timedCall(1, func() error { return unlock(m) })
		case !errors.As(err, &taken) && !errors.Is(err, redsync.ErrFailed):
			return err
		case c.window.over(sent):
			return nil
		}
		c.record(2, sent)
		time.Sleep(500*time.Microsecond + time.Duration(c.random.Int64N(int64(time.Millisecond))))
	}
}

func unlock(m *redsync.Mutex) error {
	if ok, err := m.Unlock(); !ok {
		return fmt.Errorf("%w: a lock was not released: %w", errWrongReply, err)
	}
	return nil
}

// noCheck leaves out the look for keys that are left: the nodes keep versions of keys that are gone.
func noCheck(*conn) error { return nil }
