package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// errMalformed is returned when a server sends bytes that are not RESP.
var errMalformed = errors.New("malformed RESP")

// Reply is one decoded RESP2 or RESP3 value together with its exact bytes
// (redis.io "Redis serialization protocol specification").
type Reply struct {
	Kind  byte    // the type byte: + - : $ * _ # , ( ! = % ~ > |
	Text  string  // payload of a scalar
	Null  bool    // $-1, *-1 or _
	Elems []Reply // of an aggregate; keys and values in turn for a map
	Raw   []byte  // the bytes on the wire
}

// ReadReply decodes the next value of r.
func ReadReply(r *bufio.Reader) (Reply, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return Reply{}, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return Reply{}, fmt.Errorf("%w: line %q", errMalformed, line)
	}
	reply := Reply{Kind: line[0], Text: string(line[1 : len(line)-2]), Raw: line}
	switch reply.Kind {
	case '+', '-', ':', '#', ',', '(':
	case '_':
		reply.Null = true
	case '$', '!', '=':
		err = reply.readBulk(r)
	case '*', '~', '>', '%', '|':
		err = reply.readElems(r)
	default:
		err = fmt.Errorf("%w: type byte of %q", errMalformed, line)
	}
	return reply, err
}

// readBulk reads the payload of a length-prefixed string.
func (v *Reply) readBulk(r *bufio.Reader) error {
	size, err := strconv.Atoi(v.Text)
	if err != nil || size < -1 {
		return fmt.Errorf("%w: length %q", errMalformed, v.Text)
	}
	if size == -1 {
		v.Null, v.Text = true, ""
		return nil
	}
	payload := make([]byte, size+2)
	if _, err := io.ReadFull(r, payload); err != nil {
		return err
	}
	if !bytes.HasSuffix(payload, []byte("\r\n")) {
		return fmt.Errorf("%w: bulk without end", errMalformed)
	}
	v.Text = string(payload[:size])
	v.Raw = append(v.Raw, payload...)
	return nil
}

// readElems reads the values of an aggregate.
func (v *Reply) readElems(r *bufio.Reader) error {
	count, err := strconv.Atoi(v.Text)
	if err != nil || count < -1 {
		return fmt.Errorf("%w: count %q", errMalformed, v.Text)
	}
	v.Text = ""
	if count == -1 {
		v.Null = true
		return nil
	}
	if v.Kind == '%' || v.Kind == '|' {
		count *= 2
	}
	for range count {
		elem, err := ReadReply(r)
		if err != nil {
			return err
		}
		v.Elems = append(v.Elems, elem)
		v.Raw = append(v.Raw, elem.Raw...)
	}
	return nil
}

// IsError tells whether the server refused.
func (v Reply) IsError() bool { return v.Kind == '-' || v.Kind == '!' }

// Int is the number of an integer reply; ok is false for any other reply.
func (v Reply) Int() (n int64, ok bool) {
	if v.Kind != ':' {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	return n, err == nil
}

// String shows the value on one line, in the manner of redis-cli:
// OK, (error) ERR ..., (integer) 1, "foo", (nil), [a, b], {k: v}.
func (v Reply) String() string {
	switch {
	case v.Null && v.Kind == '_':
		return "(null)"
	case v.Null && v.Kind == '*':
		return "(nil array)"
	case v.Null:
		return "(nil)"
	}
	switch v.Kind {
	case '+':
		return v.Text
	case '-':
		return "(error) " + v.Text
	case ':':
		return "(integer) " + v.Text
	case '$':
		return strconv.Quote(v.Text)
	case '%', '|':
		return v.pairs()
	case '*', '~', '>':
		return v.list()
	}
	return scalarNames[v.Kind] + strconv.Quote(v.Text)
}

// scalarNames are the RESP3-only scalars as String shows them.
var scalarNames = map[byte]string{
	'#': "(boolean) ", ',': "(double) ", '(': "(big number) ",
	'!': "(blob error) ", '=': "(verbatim) ",
}

func (v Reply) list() string {
	prefix := strings.TrimPrefix(string(v.Kind), "*")
	parts := make([]string, len(v.Elems))
	for i, elem := range v.Elems {
		parts[i] = elem.String()
	}
	return prefix + "[" + strings.Join(parts, ", ") + "]"
}

func (v Reply) pairs() string {
	var parts []string
	for i := 0; i+1 < len(v.Elems); i += 2 {
		parts = append(parts, v.Elems[i].String()+": "+v.Elems[i+1].String())
	}
	return strings.TrimPrefix(string(v.Kind), "%") + "{" + strings.Join(parts, ", ") + "}"
}
