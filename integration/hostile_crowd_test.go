package integration

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redfence/redfence/integration/harness"
)

const (
	// maxIdle is how many connections are open at once: the default of
	// --max-clients.
	maxIdle = 10_000
	// spareClients is how many more the server under test accepts, for those
	// that are attacked beside them.
	spareClients = 50
	// slowCrowd is how many connections send a byte now and then.
	slowCrowd = 2_000
)

// raiseDescriptorLimit makes room for as many connections as the tests open, or
// skips the test. The Go runtime has raised the soft limit already; the hard one
// only root can raise.
func raiseDescriptorLimit(t *testing.T) {
	t.Helper()
	const needed = maxIdle + 1000
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Fatal(err)
	}
	if l.Cur >= needed {
		return
	}
	l.Cur, l.Max = needed, max(l.Max, needed)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		t.Skipf("skipped: needs %d open files, and the limit cannot be raised: %v", needed, err)
	}
}

// crowd is many connections to one server.
type crowd []*harness.Wire

func gather(addr string, n int) (crowd, error) {
	all := make(crowd, 0, n)
	for range n {
		w, err := harness.Open(addr)
		if err != nil {
			return all, err
		}
		all = append(all, w)
	}
	return all, nil
}

func (c crowd) leave() {
	for _, w := range c {
		_ = w.Close()
	}
}

// slowLoris has many connections send a command byte by byte. No client of
// locks is that slow, but it does no harm either: in the end each is answered.
func slowLoris(s *harness.Server, enough <-chan struct{}) error {
	all, err := gather(s.Addr, slowCrowd)
	defer all.leave()
	if err != nil {
		return err
	}
	command := harness.Encode("ECHO", strings.Repeat("slow", 10))
	for at := range command {
		for _, w := range all {
			if err := w.SendRaw(command[at : at+1]); err != nil {
				return fmt.Errorf("byte %d: %w", at, err)
			}
		}
		if closed(enough) { // the rest in one go
			return errors.Join(all.send(command[at+1:]), all.want(strings.Repeat("slow", 10)))
		}
	}
	return all.want(strings.Repeat("slow", 10))
}

func (c crowd) send(b []byte) error {
	for _, w := range c {
		if err := w.SendRaw(b); err != nil {
			return err
		}
	}
	return nil
}

// wrong says what went wrong instead of the right answer.
func wrong(what string, reply harness.Reply, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: answered %s", what, reply)
}

func (c crowd) want(text string) error {
	for i, w := range c {
		if reply, err := w.Receive(); err != nil || reply.Text != text {
			return fmt.Errorf("connection %d was answered %s, %w", i, reply, err)
		}
	}
	return nil
}

// idleConnections opens as many as a default server accepts, leaves them idle,
// and then one too many.
func idleConnections(s *harness.Server, enough <-chan struct{}) error {
	all, err := gather(s.Addr, maxIdle)
	defer all.leave()
	if err != nil {
		return fmt.Errorf("after %d connections: %w", len(all), err)
	}
	if err := errors.Join(all.send([]byte("PING\r\n")), all.want("PONG")); err != nil {
		return err
	}
	select {
	case <-enough:
	case <-time.After(attackTimeout):
		return errors.New("another client was not served")
	}
	return oneTooMany(s.Addr)
}

// oneTooMany connects until the server is full and wants to be told so.
func oneTooMany(addr string) error {
	more, err := gather(addr, spareClients)
	defer more.leave()
	if err != nil {
		return err
	}
	last := more[len(more)-1] // the probe has the place of one of them
	if reply, err := last.Receive(); err != nil || reply.Text != "ERR max number of clients reached" {
		return wrong("one client too many", reply, err)
	}
	return wantEnd(last)
}

// deafSubscriber subscribes and never reads, while another connection publishes
// until nobody is subscribed any more: the subscriber is cut off.
func deafSubscriber(s *harness.Server, enough <-chan struct{}) error {
	deaf, err := gather(s.Addr, 1)
	defer deaf.leave()
	if err != nil {
		return err
	}
	if err := deaf.subscribe("flood"); err != nil {
		return err
	}
	publisher, err := harness.Open(s.Addr)
	if err != nil {
		return err
	}
	defer crowd{publisher}.leave()
	return flood(publisher, "flood", enough)
}

func (c crowd) subscribe(channel string) error {
	for _, w := range c {
		if reply, err := w.Do("SUBSCRIBE", channel); err != nil || reply.IsError() {
			return wrong("SUBSCRIBE", reply, err)
		}
	}
	return nil
}

// flood publishes to a channel until it has no receivers and enough is closed.
func flood(publisher *harness.Wire, channel string, enough <-chan struct{}) error {
	const most = 1 << 30 // bytes; over it, the deaf are not cut off
	message := strings.Repeat("x", 256<<10)
	for sent := 0; sent < most; sent += len(message) {
		reply, err := publisher.Do("PUBLISH", channel, message)
		if err != nil || reply.IsError() {
			return wrong("PUBLISH", reply, err)
		}
		if n, _ := reply.Int(); n == 0 && closed(enough) {
			return nil
		}
	}
	return fmt.Errorf("after %d bytes the subscriber is still there", most)
}

// deafPipeliner asks for a large value over and over and never reads. The server
// stops reading from it; then the pipeliner cannot send any more.
func deafPipeliner(s *harness.Server, enough <-chan struct{}) error {
	w, err := harness.Open(s.Addr)
	if err != nil {
		return err
	}
	defer crowd{w}.leave()
	if reply, err := w.Do("SET", "large", strings.Repeat("x", 1<<20), "PX", "600000"); err != nil || reply.IsError() {
		return wrong("SET", reply, err)
	}
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := sendUntilStuck(conn, bytes.Repeat(harness.Encode("GET", "large"), 1000)); err != nil {
		return err
	}
	select {
	case <-enough:
	case <-time.After(attackTimeout):
		return errors.New("another client was not served")
	}
	reply, err := w.Do("DEL", "large")
	if err != nil || reply.String() != "(integer) 1" {
		return wrong("DEL", reply, err)
	}
	return nil
}

// sendUntilStuck writes until no more can be written.
func sendUntilStuck(conn net.Conn, b []byte) error {
	const most = 256 << 20 // bytes; over it, the server reads without a bound
	const stuck = 2 * time.Second
	for sent := 0; sent < most; {
		if err := conn.SetWriteDeadline(time.Now().Add(stuck)); err != nil {
			return err
		}
		n, err := conn.Write(b)
		sent += n
		var late net.Error
		switch {
		case errors.As(err, &late) && late.Timeout():
			return nil
		case err != nil:
			return err
		}
	}
	return fmt.Errorf("%d bytes of commands were read without an answer", most)
}
