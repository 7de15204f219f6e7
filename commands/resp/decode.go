package resp

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// ErrMalformed is returned by Decode for bytes that are no reply.
var ErrMalformed = errors.New("malformed reply")

// deepestReply bounds how aggregates may be nested.
const deepestReply = 512

// Decode reads one reply in RESP2 or RESP3 from the beginning of s, and returns what follows it. The strings of the
// reply share the memory of s. Streamed and attribute types are none of Redis's replies and are refused.
func Decode(s string) (v Value, rest string, err error) { return decode(s, 0) }

func decode(s string, depth int) (Value, string, error) {
	if s == "" || depth > deepestReply {
		return Value{}, "", ErrMalformed
	}
	end := strings.IndexByte(s, '\n')
	if end < 2 || s[end-1] != '\r' {
		return Value{}, "", ErrMalformed
	}
	mark, head, rest := s[0], s[1:end-1], s[end+1:]
	switch mark {
	case '+':
		return Value{Kind: Simple, Str: head}, rest, nil
	case '-':
		return Err(head), rest, nil
	case '(':
		return Value{Kind: BigNumber, Str: head}, rest, nil
	case '_':
		return Value{}, rest, nil
	case '$', '=':
		return decodeBulk(mark, head, rest)
	case '*', '%', '~', '>':
		return decodeAggregate(mark, head, rest, depth)
	}
	v, err := decodeNumber(mark, head)
	return v, rest, err
}

// decodeNumber reads the one-line values that are numbers or truth values.
func decodeNumber(mark byte, head string) (Value, error) {
	switch mark {
	case ':':
		n, err := strconv.ParseInt(head, 10, 64)
		if err != nil {
			return Value{}, ErrMalformed
		}
		return Int(n), nil
	case ',':
		f, err := strconv.ParseFloat(head, 64)
		if err != nil && !math.IsInf(f, 0) {
			return Value{}, ErrMalformed
		}
		return Float(f), nil
	case '#':
		if head == "t" || head == "f" {
			return Bool(head == "t"), nil
		}
	}
	return Value{}, ErrMalformed
}

func decodeBulk(mark byte, head, rest string) (Value, string, error) {
	n, err := strconv.Atoi(head)
	switch {
	case err == nil && n == -1 && mark == '$':
		return Value{}, rest, nil
	case err != nil || n < 0 || n > len(rest)-2 || rest[n:n+2] != "\r\n":
		return Value{}, "", ErrMalformed
	}
	s, rest := rest[:n], rest[n+2:]
	if mark == '$' {
		return Str(s), rest, nil
	}
	if len(s) < 4 || s[3] != ':' {
		return Value{}, "", ErrMalformed
	}
	return Text(s[4:]), rest, nil
}

// aggregates are the kinds by their marks.
func aggregateKind(mark byte) Kind {
	switch mark {
	case '%':
		return Map
	case '~':
		return Set
	case '>':
		return Push
	}
	return Array
}

func decodeAggregate(mark byte, head, rest string, depth int) (Value, string, error) {
	n, err := strconv.Atoi(head)
	if err == nil && n == -1 && mark == '*' {
		return Value{Kind: NullArray}, rest, nil
	}
	if err != nil || n < 0 || n > len(rest) { // an element takes more than a byte
		return Value{}, "", ErrMalformed
	}
	if mark == '%' {
		n *= 2
	}
	v := Value{Kind: aggregateKind(mark)}
	if n > 0 {
		v.Elems = make([]Value, 0, min(n, len(rest)/3+1)) // the smallest element is "_\r\n"
	}
	for range n {
		var e Value
		if e, rest, err = decode(rest, depth+1); err != nil {
			return Value{}, "", err
		}
		v.Elems = append(v.Elems, e)
	}
	return v, rest, nil
}
