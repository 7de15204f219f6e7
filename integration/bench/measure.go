package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// grace is how long after the end of a window the last replies may come.
const grace = 30 * time.Second

// row is what was measured in one setting, per server in the order of the servers.
type row struct {
	setting
	sides []side
}

// side is one server's part of a row.
type side struct {
	rates []float64       // counted operations per second, by round
	costs []time.Duration // the server's processor time per counted operation, by round
	seen  []histogram     // per op, over all rounds
}

// measure runs the plan: in every round each setting on one server after the other, in turns which is first, so that what
// else the machine does hits all alike.
func measure(ctx context.Context, o options, plan []setting, servers []*server, stderr io.Writer) ([]row, error) {
	rows := make([]row, len(plan))
	for i, s := range plan {
		rows[i] = row{s, make([]side, len(servers))}
	}
	for round := range o.rounds {
		for i := range rows {
			for turn := range servers {
				j := (round + turn) % len(servers)
				srv := servers[j]
				r, err := runRound(ctx, o, rows[i].setting, srv, round)
				if err != nil {
					return nil, fmt.Errorf("%s with %d clients on %s: %w\n%s", rows[i].name, rows[i].clients, srv.name, err, srv.log())
				}
				rows[i].sides[j].add(r)
				fmt.Fprintf(stderr, "round %d/%d  %-9s %4d clients  %-12s %8.0f op/s\n",
					round+1, o.rounds, rows[i].name, rows[i].clients, srv.name, r.rate)
			}
		}
	}
	return rows, nil
}

// outcome is what one round gave.
type outcome struct {
	rate float64
	cost time.Duration
	seen []histogram
}

func (s *side) add(o outcome) {
	s.rates, s.costs = append(s.rates, o.rate), append(s.costs, o.cost)
	if s.seen == nil {
		s.seen = make([]histogram, len(o.seen))
	}
	for i := range o.seen {
		s.seen[i].merge(&o.seen[i])
	}
}

// runRound runs a setting once on one server.
func runRound(ctx context.Context, o options, s setting, srv *server, round int) (result outcome, err error) {
	deadline := time.Now().Add(o.warmUp + o.duration + grace)
	finish, err := prepare(s, srv, deadline)
	if err != nil {
		return outcome{}, err
	}
	if s.paused {
		last := srv.behind[len(srv.behind)-1]
		if err := last.pause(true); err != nil {
			return outcome{}, err
		}
		defer func() { err = errors.Join(err, last.pause(false)) }()
	}
	crew, err := hire(s, srv, round, deadline)
	defer crew.dismiss()
	if err != nil {
		return outcome{}, err
	}
	start := time.Now()
	w := &window{start.Add(o.warmUp), start.Add(o.warmUp + o.duration)}
	used, err := crew.work(ctx, s, w, srv)
	if err != nil {
		return outcome{}, err
	}
	return crew.sum(s, o.duration, used), finish()
}

// prepare makes the server ready for a round. What it returns cleans up, and finds out whether a lock is left.
func prepare(s setting, srv *server, deadline time.Time) (finish func() error, err error) {
	if srv.foreign {
		return srv.direct.left, nil
	}
	control, err := dial(srv.addr, deadline)
	if err != nil {
		return nil, err
	}
	if err := s.before(control); err != nil {
		return nil, errors.Join(err, control.Close())
	}
	return func() error { return errors.Join(s.after(control), control.Close()) }, nil
}

// team is the clients of one round.
type team []*client

func hire(s setting, srv *server, round int, deadline time.Time) (team, error) {
	var all team
	var holders atomic.Int32
	for id := range s.clients {
		c, err := connect(s.ahead(srv), id, deadline)
		if err != nil {
			return all, err
		}
		all = append(all, &client{
			conn: c, server: srv, id: id, token: newToken((round+1)*maxClients + id), seen: make([]histogram, len(s.ops)),
			holders: &holders, random: rand.New(rand.NewPCG(uint64(round), uint64(id))),
		})
	}
	return all, nil
}

// connect gives a client what it talks to the server by.
func connect(srv *server, id int, deadline time.Time) (*conn, error) {
	if srv.direct != nil {
		if err := srv.direct.join(id); err != nil || srv.foreign {
			return nil, err
		}
	}
	return dial(srv.addrOf(id), deadline)
}

func (t team) dismiss() {
	for _, c := range t {
		if c.conn != nil {
			c.Close()
		}
	}
}

// work has all clients repeat their cycles until the window ends, and returns the processor time that the server used
// in the window. The first error ends it for all.
func (t team) work(ctx context.Context, s setting, w *window, srv *server) (time.Duration, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer context.AfterFunc(ctx, t.dismiss)()
	var clients sync.WaitGroup
	for _, c := range t {
		c.window = w
		do := s.enlist(c)
		clients.Go(func() {
			if err := c.repeat(do); err != nil {
				fail(err)
			}
		})
	}
	before := srv.used(ctx, w.from)
	after := srv.used(ctx, w.until)
	clients.Wait()
	return after - before, context.Cause(ctx)
}

// sum adds up what the clients saw.
func (t team) sum(s setting, d, used time.Duration) outcome {
	o := outcome{seen: make([]histogram, len(s.ops))}
	counted := 0
	for i, op := range s.ops {
		for _, c := range t {
			o.seen[i].merge(&c.seen[i])
		}
		if op.counted {
			counted += o.seen[i].n
		}
	}
	o.rate = float64(counted) / d.Seconds()
	o.cost = used / time.Duration(max(counted, 1))
	return o
}
