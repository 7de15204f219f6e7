// Package resp holds the reply values of the Redis serialization protocol and their wire forms in RESP2 and RESP3
// (https://redis.io/docs/latest/develop/reference/protocol-spec/). It is pure: no sockets, no clock.
package resp

import "math"

// Kind tells how a Value is written. Kinds that only RESP3 knows have a RESP2 form, see Append.
type Kind uint8

// The kinds of reply. The zero Value is Null.
const (
	Null      Kind = iota // nothing: "$-1" in RESP2, "_" in RESP3
	NullArray             // no array, as of an aborted EXEC: "*-1" in RESP2, "_" in RESP3
	Simple                // a status such as OK
	Error                 // an error line; its first word is the code
	Integer               // a signed 64-bit number
	Bulk                  // a binary-safe string
	Array                 // an ordered list
	Map                   // keys and values in turn; a flat array in RESP2
	Set                   // members without order; an array in RESP2
	Push                  // out-of-band data; an array in RESP2
	Double                // a float; a bulk in RESP2
	Boolean               // true or false; 1 or 0 in RESP2
	BigNumber             // decimal digits of any length; a bulk in RESP2
	Verbatim              // text with a three-letter format in front ("txt:"); a bulk in RESP2
	Pairs                 // rows of two, as of HRANDFIELD WITHVALUES; one flat array in RESP2
)

// Value is one reply, or one element of one. Values are immutable once built, so they may be shared between
// goroutines.
type Value struct {
	Kind  Kind
	bits  uint64 // Integer, Boolean: the number; Double: its IEEE 754 bits
	Str   string // Simple, Error, Bulk, BigNumber, Verbatim (without format)
	Elems []Value
}

// OK is the status reply of commands that have nothing else to say.
func OK() Value { return Value{Kind: Simple, Str: "OK"} }

// Status is a simple string. It must hold no line break.
func Status(s string) Value { return Value{Kind: Simple, Str: s} }

// Err is an error reply; text begins with its code, as in "ERR syntax error".
func Err(text string) Value { return Value{Kind: Error, Str: text} }

// Int is an integer reply.
func Int(n int64) Value { return Value{Kind: Integer, bits: uint64(n)} }

// BoolInt is the integer reply 1 or 0, the form in which Redis 2 commands tell true from false.
func BoolInt(b bool) Value {
	if b {
		return Int(1)
	}
	return Int(0)
}

// Str is a bulk string reply.
func Str(s string) Value { return Value{Kind: Bulk, Str: s} }

// Strs is an array of bulk strings.
func Strs(s ...string) Value {
	elems := make([]Value, len(s))
	for i := range s {
		elems[i] = Str(s[i])
	}
	return Arr(elems...)
}

// Arr is an array reply.
func Arr(elems ...Value) Value { return Value{Kind: Array, Elems: elems} }

// MapOf is a map reply: keys and values in turn.
func MapOf(pairs ...Value) Value { return Value{Kind: Map, Elems: pairs} }

// PairsOf is a reply of rows of two: the first and second of each row in turn.
func PairsOf(rows ...Value) Value { return Value{Kind: Pairs, Elems: rows} }

// Rows are the rows of Pairs as arrays of two, which is what RESP3 shows.
func (v Value) Rows() []Value {
	rows := make([]Value, 0, len(v.Elems)/2)
	for i := 0; i+1 < len(v.Elems); i += 2 {
		rows = append(rows, Arr(v.Elems[i:i+2]...))
	}
	return rows
}

// SetOf is a set reply.
func SetOf(elems ...Value) Value { return Value{Kind: Set, Elems: elems} }

// PushOf is an out-of-band message.
func PushOf(elems ...Value) Value { return Value{Kind: Push, Elems: elems} }

// Float is a double reply.
func Float(f float64) Value { return Value{Kind: Double, bits: math.Float64bits(f)} }

// Bool is a RESP3 boolean.
func Bool(b bool) Value {
	v := Value{Kind: Boolean}
	if b {
		v.bits = 1
	}
	return v
}

// Text is a verbatim string in the format "txt".
func Text(s string) Value { return Value{Kind: Verbatim, Str: s} }

// Int returns the number of an Integer or Boolean.
func (v Value) Int() int64 { return int64(v.bits) }

// Float returns the number of a Double.
func (v Value) Float() float64 { return math.Float64frombits(v.bits) }

// IsErr tells whether v is an error reply.
func (v Value) IsErr() bool { return v.Kind == Error }

// IsNull tells whether v is one of the two nulls.
func (v Value) IsNull() bool { return v.Kind == Null || v.Kind == NullArray }
