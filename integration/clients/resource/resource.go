// Package resource serves what the locks of the client programs guard: a counter that tolerates one user at a time.
//
// Users talk to it over TCP, a line for each request and a line for each answer ("ok ..." or "violation ..."):
//
//	join N        answers when N users have joined, so that all start to contend at once
//	enter WHO     the user comes in; answers the counter. WHO is GROUP/NAME
//	leave COUNT   the user goes, having set the counter to COUNT
//
// A user that enters while another is inside, leaves without being inside, writes a counter that is not one higher
// than the last, or hangs up inside, is recorded as a violation of mutual exclusion.
package resource

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
)

// Resource is a running resource. Its methods may be called from any goroutine.
type Resource struct {
	listener net.Listener
	users    sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	joined int
	start  *sync.Cond
	inside string // who is inside, or empty
	last   string // the group of the last user who entered, or empty
	result Result
}

// Result is what the users have done so far.
type Result struct {
	Counter    int      // completed uses
	Handovers  int      // entries by another group than that of the entry before
	Violations []string // breaches of mutual exclusion, in the order noticed
}

// Start serves a new resource on a free port of the loopback interface.
func Start() (*Resource, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for users of the resource: %w", err)
	}
	r := &Resource{listener: listener, conns: map[net.Conn]struct{}{}}
	r.start = sync.NewCond(&r.mu)
	r.users.Go(r.accept)
	return r, nil
}

// Addr is where the resource listens, as host:port.
func (r *Resource) Addr() string { return r.listener.Addr().String() }

// Close hangs up on all users and waits until they are gone.
func (r *Resource) Close() error {
	err := r.listener.Close()
	r.mu.Lock()
	for conn := range r.conns {
		conn.Close()
	}
	r.conns = nil
	r.start.Broadcast()
	r.mu.Unlock()
	r.users.Wait()
	return err
}

// Result is a copy of what has been recorded so far.
func (r *Resource) Result() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	result := r.result
	result.Violations = append([]string(nil), r.result.Violations...)
	return result
}

func (r *Resource) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		if !r.track(conn) {
			conn.Close()
			return
		}
		r.users.Go(func() { r.serve(conn) })
	}
}

// track remembers an open connection; false when the resource is closed.
func (r *Resource) track(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns == nil {
		return false
	}
	r.conns[conn] = struct{}{}
	return true
}

func (r *Resource) serve(conn net.Conn) {
	u := &user{resource: r}
	defer u.hangUp(conn)
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if _, err := fmt.Fprintln(conn, u.answer(lines.Text())); err != nil {
			return
		}
	}
}

// user is one connection's state; its fields are guarded by the resource's mu.
type user struct {
	resource *Resource
	inside   bool
}

func (u *user) answer(line string) string {
	r := u.resource
	r.mu.Lock()
	defer r.mu.Unlock()
	var number int
	verb, operand, _ := strings.Cut(line, " ")
	if verb != "enter" {
		if _, err := fmt.Sscan(operand, &number); err != nil {
			return r.violation("%q is not understood", line)
		}
	}
	switch verb {
	case "join":
		return r.join(number)
	case "enter":
		return u.enter(operand)
	case "leave":
		return u.leave(number)
	}
	return r.violation("%q is not understood", line)
}

func (r *Resource) join(parties int) string {
	r.joined++
	r.start.Broadcast()
	for r.joined < parties && r.conns != nil {
		r.start.Wait()
	}
	return "ok go"
}

func (u *user) enter(who string) string {
	r := u.resource
	if r.inside != "" {
		return r.violation("%s entered while %s was inside", who, r.inside)
	}
	r.inside, u.inside = who, true
	group, _, _ := strings.Cut(who, "/")
	if r.last != "" && r.last != group {
		r.result.Handovers++
	}
	r.last = group
	return fmt.Sprint("ok ", r.result.Counter)
}

func (u *user) leave(counter int) string {
	r := u.resource
	if !u.inside {
		return r.violation("a user left that was not inside")
	}
	if counter != r.result.Counter+1 {
		return r.violation("%s set the counter from %d to %d", r.inside, r.result.Counter, counter)
	}
	r.inside, u.inside = "", false
	r.result.Counter = counter
	return "ok left"
}

func (u *user) hangUp(conn net.Conn) {
	r := u.resource
	conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, conn)
	if u.inside {
		r.violation("%s hung up inside", r.inside)
		r.inside = ""
	}
}

// violation records a breach and is the answer to its author. The caller holds mu.
func (r *Resource) violation(format string, args ...any) string {
	text := fmt.Sprintf(format, args...)
	r.result.Violations = append(r.result.Violations, text)
	return "violation " + text
}
