package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// demoLease is how long the customers' locks last: long enough to be seen, short enough to be waited for.
const demoLease = time.Second

// oversell tells the story in one mode, or in both.
func oversell(ctx context.Context, out io.Writer, mode string) (err error) {
	logging.Disable()
	dir, err := os.MkdirTemp("", "redfence-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintln(out, "One widget in stock, two customers, one lock. Each customer is a process; the shop is a SQLite database.")
	for _, m := range []string{modeRaft, modeQuorum} {
		if mode != "" && mode != m {
			continue
		}
		err := oversellIn(ctx, out, filepath.Join(dir, m), m)
		if mode == "" && errors.Is(err, exec.ErrNotFound) {
			fmt.Fprintf(out, "\n== %s mode: left out. It needs the program redis-server, which is not installed here (Debian: apt install redis-server)\n", m)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s mode: %w", m, err)
		}
	}
	return nil
}

// oversellIn tells the story in one mode: without the token, then with it.
func oversellIn(ctx context.Context, out io.Writer, dir, mode string) error {
	stage, err := setStage(ctx, dir, mode)
	if err != nil {
		return err
	}
	defer stage.close()
	fmt.Fprintf(out, "\n== %s mode: the lock is %s\n", mode, stage.what)
	s, err := openShop(filepath.Join(dir, "shop.db"))
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	for _, fenced := range []bool{false, true} {
		story := &story{out: out, stage: stage, shop: s, fenced: fenced}
		if err := story.tell(ctx); err != nil {
			return err
		}
	}
	return nil
}

// story is one sale of the last widget.
type story struct {
	out    io.Writer
	stage  *stage
	shop   shop
	fenced bool
	began  time.Time
}

// says prints what has happened to whom.
func (s *story) says(who, format string, args ...any) {
	fmt.Fprintf(s.out, "  %4.1f s  %-8s  %s\n", time.Since(s.began).Seconds(), who, fmt.Sprintf(format, args...))
}

// tell plays the story, and checks that it ends as it must.
func (s *story) tell(ctx context.Context) error {
	if err := s.shop.restock(ctx); err != nil {
		return err
	}
	title, statement, want := "WITHOUT the token", buyPlain, -1
	if s.fenced {
		title, statement, want = "WITH the token", buyWith, 0
	}
	fmt.Fprintf(s.out, "\n%s: %s\n", title, statement)
	s.began = time.Now()
	if err := s.play(ctx); err != nil {
		return err
	}
	left, err := s.shop.amount(ctx)
	if err != nil {
		return err
	}
	verdict := "sold once. The database has seen a higher token, so it knew better than A"
	if left < 0 {
		verdict = "one widget was sold to two customers"
	}
	fmt.Fprintf(s.out, "  => stock: %d, %s\n", left, verdict)
	if left != want {
		return fmt.Errorf("the stock is %d, and was to be %d", left, want)
	}
	return nil
}

// play is what happens: A is stopped with the lock, B comes and buys, A goes on.
func (s *story) play(ctx context.Context) error {
	a, err := s.enter(ctx, "A")
	if err != nil {
		return err
	}
	defer a.leave()
	if err := a.pause(); err != nil {
		return err
	}
	s.says("", "A's process is stopped where it is (SIGSTOP), as by a long garbage collection")
	if err := a.decide(); err != nil { // it will read this when it goes on
		return err
	}
	if err := s.stage.awaitFree(ctx, "lock:widget"); err != nil {
		return err
	}
	s.says("", "the lock's %v are over, it is free; A does not know", demoLease)
	b, err := s.enter(ctx, "B")
	if err != nil {
		return err
	}
	defer b.leave()
	if err := errors.Join(b.decide(), s.outcome(b)); err != nil {
		return err
	}
	if err := a.resume(); err != nil {
		return err
	}
	s.says("", "A's process goes on (SIGCONT), and still believes that it holds the lock")
	return s.outcome(a)
}

// enter starts a customer and returns when it holds the lock and has seen what there is.
func (s *story) enter(ctx context.Context, name string) (*actor, error) {
	a, err := s.stage.customer(ctx, customer{
		addr: s.stage.addr, shop: filepath.Join(s.stage.dir, "shop.db"), name: name, lease: demoLease, fenced: s.fenced,
	})
	if err != nil {
		return nil, err
	}
	var token int64
	var amount int
	if err := a.hears(saysLocked, &token, &amount); err != nil {
		a.leave()
		return nil, err
	}
	s.says(name, "has the lock for %v, token %d, and sees %d in stock", demoLease, token, amount)
	return a, nil
}

// outcome tells what became of a purchase.
func (s *story) outcome(a *actor) error {
	line, err := a.line()
	if err != nil {
		return err
	}
	left, err := s.shop.amount(context.Background())
	if err != nil {
		return err
	}
	var last int64
	if n, _ := fmt.Sscanf(line, saysRefused, &last); n == 1 {
		s.says(a.name, "wants to buy: REFUSED by the database, which has seen token %d", last)
		return nil
	}
	s.says(a.name, "buys the widget: %d left", left)
	return nil
}

// awaitFree returns when nobody holds a lock.
func (s *stage) awaitFree(ctx context.Context, key string) error {
	client := redis.NewClient(&redis.Options{Addr: s.addr})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*demoLease)
	defer cancel()
	for {
		n, err := client.Exists(ctx, key).Result()
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
