package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // a real database that nobody has to install

	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/fencing/redislock"
)

// shop is the database of the demo: a table with one row.
type shop struct{ *sql.DB }

func openShop(file string) (shop, error) {
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(5000)")
	return shop{db}, err
}

// restock makes the shop as it is at the beginning: one widget, and no token seen.
func (s shop) restock(ctx context.Context) error {
	_, err := s.ExecContext(ctx, `DROP TABLE IF EXISTS stock;
CREATE TABLE stock (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, last_token BIGINT NOT NULL DEFAULT 0);
INSERT INTO stock (id, amount) VALUES ('widget', 1)`)
	return err
}

func (s shop) amount(ctx context.Context) (n int, err error) {
	err = s.QueryRowContext(ctx, "SELECT amount FROM stock WHERE id = 'widget'").Scan(&n)
	return n, err
}

// The two ways to buy. The customer has seen that there is something left before, under the lock.
const (
	buyPlain = "UPDATE stock SET amount = amount - 1 WHERE id = 'widget'"
	buyWith  = "UPDATE stock SET amount = amount - 1, last_token = $1 WHERE id = 'widget' AND last_token <= $1"
)

func (s shop) buy(ctx context.Context) error {
	_, err := s.ExecContext(ctx, buyPlain)
	return err
}

func (s shop) buyFenced(ctx context.Context, token fencing.Token) error {
	write := fencing.Statement{Resource: "the widget", Write: buyWith, Last: "SELECT last_token FROM stock WHERE id = 'widget'"}
	_, err := write.Run(ctx, s, token)
	return err
}

// What a customer says on its standard output, a line each.
const (
	saysLocked  = "locked %d %d\n" // token, amount
	saysBought  = "bought\n"
	saysRefused = "refused %d\n" // the token that the shop has seen
)

// visit takes the lock, looks whether there is a widget, waits for a line on its standard input, and buys.
func (c customer) visit(ctx context.Context, in io.Reader, out io.Writer) error {
	client := redis.NewClient(&redis.Options{Addr: c.addr})
	defer client.Close()
	lock, err := redislock.Acquire(ctx, client, "lock:widget", redislock.Options{TTL: c.lease, Renew: -1, Retry: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	amount, err := c.look(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, saysLocked, lock.Token(), amount)
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return err
	}
	if err := c.buy(ctx, lock.Token(), out); err != nil {
		return err
	}
	if err := lock.Unlock(ctx); err != nil && !errors.Is(err, redislock.ErrLost) {
		return err
	}
	return nil
}

// look tells how much there is. The connection is closed behind it: a customer that is stopped with a lock of the database
// would keep the others out, which is another story.
func (c customer) look(ctx context.Context) (amount int, err error) {
	s, err := openShop(c.shop)
	if err != nil {
		return 0, err
	}
	amount, err = s.amount(ctx)
	return amount, errors.Join(err, s.Close())
}

func (c customer) buy(ctx context.Context, token fencing.Token, out io.Writer) error {
	s, err := openShop(c.shop)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if !c.fenced {
		if err := s.buy(ctx); err != nil {
			return err
		}
		fmt.Fprint(out, saysBought)
		return nil
	}
	err = s.buyFenced(ctx, token)
	if stale, yes := errors.AsType[*fencing.StaleError](err); yes {
		fmt.Fprintf(out, saysRefused, stale.Last)
		return nil
	}
	if err == nil {
		fmt.Fprint(out, saysBought)
	}
	return err
}
