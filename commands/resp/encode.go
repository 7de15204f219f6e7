package resp

import (
	"math"
	"strconv"
)

// Protocol is the version of RESP that a connection speaks.
type Protocol uint8

// The two versions in use. A connection begins with RESP2 and changes by HELLO.
const (
	RESP2 Protocol = 2
	RESP3 Protocol = 3
)

// Append writes v in protocol p behind dst and returns the extended slice. In RESP2 kinds that it lacks take the
// form that Redis gives them: maps, sets and pushes become arrays, doubles and big numbers become bulk strings.
func Append(dst []byte, v Value, p Protocol) []byte {
	switch v.Kind {
	case Simple:
		return line(dst, '+', v.Str)
	case Error:
		return line(dst, '-', v.Str)
	case Integer:
		return number(dst, ':', v.Int())
	case Bulk:
		return bulk(dst, '$', v.Str)
	case Array:
		return elements(number(dst, '*', int64(len(v.Elems))), v.Elems, p)
	case NullArray:
		if p == RESP2 {
			return append(dst, "*-1\r\n"...)
		}
	case Map, Set, Push:
		return aggregate(dst, v, p)
	case Pairs:
		if p == RESP3 {
			return Append(dst, Arr(v.Rows()...), p)
		}
		return elements(number(dst, '*', int64(len(v.Elems))), v.Elems, p)
	case Double, Boolean, BigNumber, Verbatim:
		return scalar3(dst, v, p)
	case Null:
	}
	return null(dst, p)
}

func null(dst []byte, p Protocol) []byte {
	if p == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "$-1\r\n"...)
}

// aggregate writes the aggregate kinds that RESP2 only knows as arrays.
func aggregate(dst []byte, v Value, p Protocol) []byte {
	mark, n := byte('*'), int64(len(v.Elems))
	if p == RESP3 {
		switch v.Kind {
		case Map:
			mark, n = '%', n/2
		case Set:
			mark = '~'
		default:
			mark = '>'
		}
	}
	return elements(number(dst, mark, n), v.Elems, p)
}

// scalar3 writes the single values that RESP2 knows only as bulk strings or integers.
func scalar3(dst []byte, v Value, p Protocol) []byte {
	if p == RESP2 {
		switch v.Kind {
		case Boolean:
			return number(dst, ':', v.Int())
		case Double:
			return bulk(dst, '$', FormatDouble(v.Float()))
		default:
			return bulk(dst, '$', v.Str)
		}
	}
	switch v.Kind {
	case Boolean:
		if v.Int() != 0 {
			return append(dst, "#t\r\n"...)
		}
		return append(dst, "#f\r\n"...)
	case Double:
		return line(dst, ',', FormatDouble(v.Float()))
	case BigNumber:
		return line(dst, '(', v.Str)
	default:
		return bulk(dst, '=', "txt:"+v.Str)
	}
}

// FormatDouble writes a double as Redis does in replies: at most 17 significant digits, "inf", "-inf" and "nan".
func FormatDouble(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	case f == math.Trunc(f) && math.Abs(f) < 1e17:
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

func elements(dst []byte, elems []Value, p Protocol) []byte {
	for i := range elems {
		dst = Append(dst, elems[i], p)
	}
	return dst
}

// line writes a one-line value. Line breaks would end it early, so they become blanks, as in Redis.
func line(dst []byte, mark byte, s string) []byte {
	dst = append(dst, mark)
	for i := range len(s) {
		c := s[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return append(dst, '\r', '\n')
}

func number(dst []byte, mark byte, n int64) []byte {
	dst = append(dst, mark)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, '\r', '\n')
}

func bulk(dst []byte, mark byte, s string) []byte {
	dst = number(dst, mark, int64(len(s)))
	dst = append(dst, s...)
	return append(dst, '\r', '\n')
}
