package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// errUsed is returned when go-redis wants to dial again: each connection has its own client, so that it is never
// replaced unseen.
var errUsed = errors.New("the connection was used up")

// connection is one connection to one database. go-redis opens it: it logs in, selects the database and asks who
// the server is. Operations are written to the socket directly, and their answers read from it.
type connection struct {
	wire     *wire
	socket   net.Conn // wire, or what encrypts it
	in       *bufio.Reader
	patience time.Duration
	client   *redis.Client
	conn     *redis.Conn
	loaded   map[string]struct{} // SHAs of the scripts that the server has, as far as this connection knows
}

// open dials, logs in and selects the database (go-redis does both with the first command).
func (n *Node) open(db int, read time.Duration) (*connection, error) {
	w, socket, err := n.address.dial(context.Background(), n.o.DialTimeout)
	if err != nil {
		return nil, err
	}
	options := n.address.client(db)
	options.ReadTimeout, options.WriteTimeout = read, read
	once := socket
	options.Dialer = func(context.Context, string, string) (net.Conn, error) {
		if once == nil {
			return nil, errUsed
		}
		given := once
		once = nil
		return given, nil
	}
	client := redis.NewClient(options)
	return &connection{
		wire: w, socket: socket, in: bufio.NewReader(socket), patience: read,
		client: client, conn: client.Conn(), loaded: map[string]struct{}{},
	}, nil
}

// maxLoaded bounds what a connection remembers of loaded scripts. Loading one again does no harm.
const maxLoaded = 10_000

// learn notes that the server is about to have a script. It tells whether it must be loaded for that.
func (c *connection) learn(sha string) bool {
	if _, ok := c.loaded[sha]; ok {
		return false
	}
	if len(c.loaded) >= maxLoaded {
		clear(c.loaded)
	}
	c.loaded[sha] = struct{}{}
	return true
}

// tryWrite writes what the socket takes at once. An error means that the other end has hung up. What is encrypted is
// never written at once.
func (c *connection) tryWrite(p []byte) (int, error) {
	if c.socket != net.Conn(c.wire) {
		return 0, nil
	}
	return c.wire.tryWrite(p)
}

// write writes all of p, and cuts the connection when that fails or takes too long.
func (c *connection) write(p []byte) {
	if c.socket.SetWriteDeadline(time.Now().Add(c.patience)) != nil {
		return // it is cut
	}
	if _, err := c.socket.Write(p); err != nil {
		c.cut()
		return
	}
	_ = c.socket.SetWriteDeadline(time.Time{}) // it would fail tryWrite when it passes
}

// own takes the socket over from go-redis, which has set deadlines for what it asked.
func (c *connection) own() { _ = c.socket.SetDeadline(time.Time{}) }

// readUntil sets how long reading may take from now on, 0: for ever.
func (c *connection) readUntil(d time.Duration) {
	at := time.Time{}
	if d != 0 {
		at = time.Now().Add(d)
	}
	_ = c.socket.SetReadDeadline(at) // it fails when the connection is cut, and then reading does
}

// cut ends the connection, also while it is being read from.
func (c *connection) cut() { _ = c.wire.Close() }

// close gives back what the connection holds.
func (c *connection) close() {
	c.cut()
	_ = c.conn.Close()
	_ = c.client.Close()
}

// do sends the commands in one write and reads all answers. An error means that the connection cannot be used any
// more, or could not be opened; error replies are in the commands.
func (c *connection) do(cmds ...redis.Cmder) error {
	pipe := c.conn.Pipeline()
	_ = pipe.BatchProcess(context.Background(), cmds...) // it only collects them
	_, err := pipe.Exec(context.Background())            // that of the first command that has one
	if err == nil {
		return nil
	}
	for _, cmd := range cmds {
		switch cmdErr := cmd.Err(); {
		case cmdErr == nil:
		case isReply(cmdErr):
			err = nil
		default:
			return cmdErr
		}
	}
	return err // no command has it when the log-in was refused
}

// isReply tells whether err is something that the server answered.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) // redis.Nil is one too
}

// identity is what a stream asks a server first.
type identity struct {
	client int64 // the connection's id
	runID  string
}

// greet asks for the identity of the server, before any request is sent to it.
func (n *Node) greet(c *connection) (identity, error) {
	ctx := context.Background()
	late := time.AfterFunc(n.o.DialTimeout, c.cut)
	defer late.Stop()
	id, info, at := redis.NewIntCmd(ctx, "client", "id"), redis.NewStringCmd(ctx, "info", "server"), redis.NewTimeCmd(ctx, "time")
	sent := n.o.Clock.Now()
	err := c.do(id, info, at)
	if !late.Stop() && errors.Is(err, net.ErrClosed) {
		return identity{}, context.DeadlineExceeded
	}
	if err = errors.Join(err, id.Err(), info.Err(), at.Err()); err != nil {
		return identity{}, err
	}
	n.observe(sent, n.o.Clock.Now(), sinceEpoch(at.Val()))
	runID := infoField(info.Val(), "run_id")
	if runID == "" {
		return identity{}, fmt.Errorf("INFO has no run_id: %w", errUsed)
	}
	return identity{client: id.Val(), runID: runID}, nil
}

// kill ends a former connection of ours on the server, so that nothing written to it takes place any more.
func (c *connection) kill(id int64) error {
	return c.do(redis.NewIntCmd(context.Background(), "client", "kill", "id", id))
}

func sinceEpoch(t time.Time) time.Duration { return time.Duration(t.UnixMicro()) * time.Microsecond }

// infoField is the value of a field in the text that INFO answers (https://redis.io/docs/latest/commands/info/).
func infoField(text, field string) string {
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok && name == field {
			return value
		}
	}
	return ""
}

func infoNumber(text, field string) int64 {
	n, err := strconv.ParseInt(infoField(text, field), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
