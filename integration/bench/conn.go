package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// connBuffer is the size of a connection's read buffer in bytes; no reply of a benchmark is larger.
const connBuffer = 4 << 10

// errWrongReply is returned when a server answers something else than what a lock needs. It ends the benchmark:
// figures of a server that answers wrongly mean nothing.
var errWrongReply = errors.New("wrong reply")

// conn is a connection that has one request in flight.
type conn struct {
	net.Conn
	in *bufio.Reader
}

// dial connects; everything on the connection must be over by the deadline.
func dial(addr string, deadline time.Time) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReaderSize(c, connBuffer)}, nil
}

// reply is a RESP2 reply that is no array (https://redis.io/docs/latest/develop/reference/protocol-spec/). Its text
// is valid until the next one is read.
type reply struct {
	kind byte // '+', '-', ':' or '$'; '_' for the null bulk string
	text []byte
}

func (r reply) String() string { return fmt.Sprintf("%c%q", r.kind, r.text) }

// is tells whether the reply is the one that is wanted.
func (r reply) is(w want) bool { return r.kind == w.kind && string(r.text) == w.text }

// want is an expected reply.
type want struct {
	kind byte
	text string
}

// The replies of lock commands.
var (
	wantOK   = want{'+', "OK"}
	wantNull = want{'_', ""}
	wantOne  = want{':', "1"}
	wantZero = want{':', "0"}
)

// do sends an encoded request and reads the reply.
func (c *conn) do(request []byte) (reply, error) {
	if _, err := c.Write(request); err != nil {
		return reply{}, err
	}
	return readReply(c.in)
}

// must is do for a request that has only one right answer.
func (c *conn) must(request []byte, w want) error {
	r, err := c.do(request)
	if err != nil {
		return err
	}
	if !r.is(w) {
		return fmt.Errorf("%w %v to %q", errWrongReply, r, request)
	}
	return nil
}

func readReply(in *bufio.Reader) (reply, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return reply{}, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return reply{}, fmt.Errorf("%w: no RESP line: %q", errWrongReply, line)
	}
	r := reply{line[0], line[1 : len(line)-2]}
	switch r.kind {
	case '+', '-', ':':
		return r, nil
	case '$':
		return readBulk(in, r.text)
	}
	return reply{}, fmt.Errorf("%w: unexpected type %q", errWrongReply, line)
}

func readBulk(in *bufio.Reader, length []byte) (reply, error) {
	n, err := strconv.Atoi(string(length))
	switch {
	case err != nil || n < -1 || n > connBuffer-2:
		return reply{}, fmt.Errorf("%w: length of a string: %q", errWrongReply, length)
	case n == -1:
		return reply{kind: '_'}, nil
	}
	text, err := in.Peek(n + 2)
	if err != nil {
		return reply{}, errors.Join(err, io.ErrUnexpectedEOF)
	}
	_, err = in.Discard(n + 2)
	return reply{'$', text[:n]}, err
}
