package main

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// client is one user of a server: a connection with one request in flight.
type client struct {
	*conn
	server  *server
	id      int
	token   *token
	window  *window
	seen    []histogram // per op
	holders *atomic.Int32
	random  *rand.Rand
}

// window is the time in which operations count, those that end in it.
type window struct {
	from, until time.Time
}

// over tells whether the window has ended at t.
func (w *window) over(t time.Time) bool { return t.After(w.until) }

// repeat runs cycles until the window ends. The last one is finished, so that its lock is released.
func (c *client) repeat(do cycle) error {
	for !c.window.over(time.Now()) {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// timed sends a request that has one right answer, and records it.
func (c *client) timed(op int, request []byte, w want) error {
	began := time.Now()
	if err := c.must(request, w); err != nil {
		return err
	}
	c.record(op, began)
	return nil
}

// timedCall is timed for a call of a library.
func (c *client) timedCall(op int, call func() error) error {
	began := time.Now()
	if err := call(); err != nil {
		return err
	}
	c.record(op, began)
	return nil
}

// record counts an operation that ends now.
func (c *client) record(op int, began time.Time) {
	now := time.Now()
	if now.After(c.window.from) && !c.window.over(now) {
		c.seen[op].add(now.Sub(began))
	}
}

// contend takes the lock that all want, checks that nobody else has it, and releases it. It gives up when the window
// ends.
func (c *client) contend(acquire, release request) error {
	c.token.next()
	began := time.Now()
	for sent := began; ; sent = time.Now() {
		r, err := c.do(acquire.with(c.token))
		switch {
		case err != nil:
			return err
		case r.is(wantOK):
			c.record(0, began)
			return c.leave(release)
		case !r.is(wantNull):
			return fmt.Errorf("%w %v to %q", errWrongReply, r, acquire.wire)
		case c.window.over(sent):
			return nil
		}
		c.record(2, sent)
		time.Sleep(500*time.Microsecond + time.Duration(c.random.Int64N(int64(time.Millisecond))))
	}
}

// leave ends a hold.
func (c *client) leave(release request) error {
	if err := c.alone(); err != nil {
		return err
	}
	return c.timed(1, release.with(c.token), wantOne)
}

// alone is called by who holds the lock that all want. Grants and releases pass through here in their true order, so two
// holders are two grants.
func (c *client) alone() error {
	if n := c.holders.Add(1); n != 1 {
		return fmt.Errorf("%w: %d clients hold one lock", errWrongReply, n)
	}
	c.holders.Add(-1)
	return nil
}

// sha1Hex is the name of a script (https://redis.io/docs/latest/commands/script-load/).
func sha1Hex(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
