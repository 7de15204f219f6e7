package upstream

import (
	"net"
	"strconv"
	"time"

	"github.com/redfence/redfence/commands/resp"
)

// talk is a connection on which replies are decoded: for what is asked by Redfence itself. One goroutine reads and one may
// write.
type talk struct {
	conn net.Conn
	in   scanner
}

// talkLimit bounds a decoded reply; that of COMMAND is the largest, some 200 KB.
const talkLimit = 16 << 20

func newTalk(conn net.Conn) *talk { return &talk{conn: conn, in: scanner{limit: talkLimit}} }

// receive waits for the next reply or push.
func (t *talk) receive() (resp.Value, error) {
	for {
		raw, err := t.in.next()
		if err != nil {
			return resp.Value{}, err
		}
		if raw != nil {
			v, _, err := resp.Decode(string(raw))
			return v, err
		}
		n, err := t.conn.Read(t.in.room())
		t.in.grown(n)
		if n == 0 && err != nil {
			return resp.Value{}, err
		}
	}
}

// ask sends a command and waits for its reply.
func (t *talk) ask(limit time.Duration, line ...string) (resp.Value, error) {
	if err := t.conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return resp.Value{}, err
	}
	defer t.conn.SetDeadline(time.Time{}) //nolint:errcheck // a broken connection shows at the next use
	if _, err := t.conn.Write(appendLine(nil, line)); err != nil {
		return resp.Value{}, err
	}
	return t.receive()
}

// appendLine appends a command in its wire form.
func appendLine(dst []byte, line []string) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(line)), 10)
	dst = append(dst, "\r\n"...)
	for _, word := range line {
		dst = append(dst, '$')
		dst = strconv.AppendInt(dst, int64(len(word)), 10)
		dst = append(dst, "\r\n"...)
		dst = append(dst, word...)
		dst = append(dst, "\r\n"...)
	}
	return dst
}
