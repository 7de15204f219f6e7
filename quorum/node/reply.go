package node

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/redfence/redfence/quorum/runner"
)

// errProtocol is the cause when a server sends what is no RESP2
// (https://redis.io/docs/latest/develop/reference/protocol-spec/).
var errProtocol = errors.New("no reply that the protocol knows")

// replyError is an error that a server answered.
type replyError string

// Error implements error.
func (e replyError) Error() string { return string(e) }

// maxReply bounds the length of a bulk string, as Redis does.
const maxReply = 512 << 20

// readReply reads a reply in RESP2: nil, int64, string, replyError or []any.
func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	if err != nil || len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, fmt.Errorf("%w: a line of %d bytes", errProtocol, len(line))
	}
	mark, text := line[0], string(line[1:len(line)-2])
	switch mark {
	case '+':
		return text, nil
	case '-':
		return replyError(text), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errProtocol, err)
	case mark == ':':
		return n, nil
	case n < 0:
		return nil, nil //nolint:nilnil // the reply is nil
	case mark == '$' && n <= maxReply:
		return readBulk(r, int(n))
	case mark == '*' && n <= maxReply:
		return readArray(r, int(n))
	}
	return nil, fmt.Errorf("%w: type %q", errProtocol, mark)
}

func readBulk(r *bufio.Reader, n int) (any, error) {
	text := make([]byte, n+2)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	return string(text[:n]), nil
}

func readArray(r *bufio.Reader, n int) (any, error) {
	list := make([]any, 0, min(n, 1024))
	for range n {
		elem, err := readReply(r)
		if err != nil {
			return nil, err
		}
		list = append(list, elem)
	}
	return list, nil
}

// appendLine adds a command line.
func appendLine(dst []byte, words ...any) []byte {
	dst = runner.AppendCount(dst, '*', len(words))
	for _, word := range words {
		switch word := word.(type) {
		case string:
			dst = runner.AppendWord(dst, word)
		case int:
			dst = runner.AppendWord(dst, strconv.Itoa(word))
		case int64:
			dst = runner.AppendWord(dst, strconv.FormatInt(word, 10))
		case uint64:
			dst = runner.AppendWord(dst, strconv.FormatUint(word, 10))
		}
	}
	return dst
}
