package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// etcdProgram returns the etcd program, which it builds below dir when none is given.
func etcdProgram(ctx context.Context, given, dir string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	program := filepath.Join(dir, "etcd-program")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "go.etcd.io/etcd/server/v3").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building etcd: %w\n%s", err, out)
	}
	return program, nil
}

// etcdMembers is an etcd cluster of n, which syncs as it does by default: every change, on a majority, before it answers.
func etcdMembers(program, dir string, n int) (list []*server, err error) {
	peers, err := freeAddrs(n)
	if err != nil {
		return nil, err
	}
	clients, err := freeAddrs(n)
	if err != nil {
		return nil, err
	}
	var cluster []string
	for i, peer := range peers {
		cluster = append(cluster, fmt.Sprintf("etcd%d=http://%s", i+1, peer))
	}
	for i := range n {
		name := "etcd" + strconv.Itoa(i+1)
		list = append(list, &server{
			name: name, dir: filepath.Join(dir, name), addr: clients[i], foreign: true,
			argv: []string{
				program, "--name", name, "--data-dir", "data", "--log-level", "error",
				"--listen-client-urls", "http://" + clients[i], "--advertise-client-urls", "http://" + clients[i],
				"--listen-peer-urls", "http://" + peers[i], "--initial-advertise-peer-urls", "http://" + peers[i],
				"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new",
			},
		})
	}
	return list, nil
}

// etcdSide is etcd's own client and its lock recipe (https://pkg.go.dev/go.etcd.io/etcd/client/v3/concurrency).
func etcdSide(program string, members []*server, shared bool) *server {
	about := "%d members with its defaults, clients on all of them; the client library's concurrency.Mutex and transactions"
	if shared {
		about += ", one connection to each member for all clients"
	}
	return &server{
		name: "etcd", about: fmt.Sprintf(about, len(members)), behind: members, direct: &etcdLibrary{shared: shared},
		foreign: true, version: []string{program, "--version"},
	}
}

// etcdLibrary is etcd's client library.
type etcdLibrary struct {
	shared   bool
	members  []*clientv3.Client     // connected to one member each
	own      []*clientv3.Client     // of the clients of a round, unless shared
	sessions []*concurrency.Session // of the clients of a round
}

func (l *etcdLibrary) open(members []*server) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for _, m := range members {
		c, err := etcdClient(m.addr)
		if err != nil {
			return err
		}
		l.members = append(l.members, c)
		for _, err = c.Get(ctx, "bench"); err != nil; _, err = c.Get(ctx, "bench") {
			if ctx.Err() != nil {
				return fmt.Errorf("%s did not start: %w\n%s", m.name, err, m.log())
			}
		}
	}
	return nil
}

// etcdClient connects to a member. What the library would log comes as errors as well.
func etcdClient(addr string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{addr}, DialTimeout: startTimeout, Logger: zap.NewNop()})
}

// client is that of a number.
func (l *etcdLibrary) client(n int) *clientv3.Client {
	if l.shared {
		return l.members[n%len(l.members)]
	}
	return l.own[n]
}

// join gives a client a connection and a session, whose lease its locks have.
func (l *etcdLibrary) join(client int) error {
	if !l.shared {
		c, err := etcdClient(l.members[client%len(l.members)].Endpoints()[0])
		if err != nil {
			return err
		}
		l.own = append(l.own, c)
	}
	s, err := concurrency.NewSession(l.client(client), concurrency.WithTTL(int(lease/time.Second)))
	if err != nil {
		return fmt.Errorf("session of client %d: %w", client, err)
	}
	l.sessions = append(l.sessions, s)
	return nil
}

// left ends the sessions, and with them what was waited for in vain.
func (l *etcdLibrary) left() error {
	var errs []error
	for _, s := range l.sessions {
		errs = append(errs, s.Close())
	}
	for _, c := range l.own {
		errs = append(errs, c.Close())
	}
	l.sessions, l.own = nil, nil
	r, err := l.members[0].Get(context.Background(), "bench:", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err == nil && r.Count > 0 {
		err = fmt.Errorf("%w: %d keys are left", errWrongReply, r.Count)
	}
	return errors.Join(append(errs, err)...)
}

func (l *etcdLibrary) close() {
	for _, c := range l.members {
		_ = c.Close() // the run is over
	}
}

// etcdOf is the library of a client, nil when it has another one.
func etcdOf(c *client) *etcdLibrary {
	l, _ := c.server.direct.(*etcdLibrary)
	return l
}

// mutexSetting has every client take and release a lock of its own.
func mutexSetting(clients int) setting {
	s := lockSetting(clients)
	s.name = "mutex"
	s.about = "every client takes and releases its own lock: etcd's Mutex with Lock and Unlock, or SET NX PX and compare-and-delete"
	raw := s.enlist
	s.enlist = func(c *client) cycle {
		l := etcdOf(c)
		if l == nil {
			return raw(c)
		}
		m, ctx := concurrency.NewMutex(l.sessions[c.id], "bench:lock:"+strconv.Itoa(c.id)), context.Background()
		return func() error {
			if err := c.timedCall(0, func() error { return m.Lock(ctx) }); err != nil {
				return err
			}
			return c.timedCall(1, func() error { return m.Unlock(ctx) })
		}
	}
	return s
}

// mutexContended has many clients take one lock in turn. Those of etcd wait in its queue.
func mutexContended() setting {
	s := contendedSetting()
	s.name = "mutex-contended"
	s.about = "all clients want one lock, and hold it for no time: etcd's clients wait in Lock, redfence's try again after 0.5 to 1.5 ms; grants and releases are counted"
	raw := s.enlist
	s.enlist = func(c *client) cycle {
		l := etcdOf(c)
		if l == nil {
			return raw(c)
		}
		m := concurrency.NewMutex(l.sessions[c.id], "bench:contended")
		return func() error { return c.wait(m) }
	}
	return s
}

// wait takes the lock when its turn comes, and gives it back. It gives up when the window ends: what fails then is made good
// by the end of the session.
func (c *client) wait(m *concurrency.Mutex) error {
	ctx, cancel := context.WithDeadline(context.Background(), c.window.until)
	defer cancel()
	if err := c.timedCall(0, func() error { return m.Lock(ctx) }); err != nil {
		return c.unlessOver(err)
	}
	if err := c.alone(); err != nil {
		return err
	}
	return c.unlessOver(c.timedCall(1, func() error { return m.Unlock(context.Background()) }))
}

// unlessOver forgets an error behind the end of the window.
func (c *client) unlessOver(err error) error {
	if err == nil || c.window.over(time.Now()) {
		return nil
	}
	return fmt.Errorf("contended mutex: %w", err)
}

// txnSetting is mutexSetting with bare transactions of etcd: create if absent, delete if it has the value.
func txnSetting(clients int) setting {
	s := lockSetting(clients)
	s.name = "txn"
	s.about = "every client creates and deletes its own key: two transactions of etcd without a lease, or SET NX PX and compare-and-delete"
	raw := s.enlist
	s.enlist = func(c *client) cycle {
		l := etcdOf(c)
		if l == nil {
			return raw(c)
		}
		key, db := "bench:lock:"+strconv.Itoa(c.id), l.client(c.id)
		return func() error {
			c.token.next()
			value := string(c.token[:])
			create := db.Txn(context.Background()).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
				Then(clientv3.OpPut(key, value))
			if err := c.timedCall(0, func() error { return succeeded(create) }); err != nil {
				return err
			}
			remove := db.Txn(context.Background()).If(clientv3.Compare(clientv3.Value(key), "=", value)).Then(clientv3.OpDelete(key))
			return c.timedCall(1, func() error { return succeeded(remove) })
		}
	}
	return s
}

// succeeded runs a transaction whose condition holds.
func succeeded(t clientv3.Txn) error {
	r, err := t.Commit()
	if err == nil && !r.Succeeded {
		err = fmt.Errorf("%w: the condition of a transaction does not hold", errWrongReply)
	}
	return err
}
