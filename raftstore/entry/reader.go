package entry

import (
	"encoding/binary"

	"github.com/redfence/redfence/commands/resp"
)

// Reader takes numbers, strings and replies from the front of Text, for other formats that are made of the parts of an entry. When
// one is not there, Bad is set, and from then on all are zero.
type Reader struct {
	Text string
	Bad  bool
}

// Uint takes an unsigned varint.
func (r *Reader) Uint() uint64 {
	u, n := binary.Uvarint(r.head())
	return u & r.step(n)
}

// Int takes a signed varint.
func (r *Reader) Int() int64 {
	i, n := binary.Varint(r.head())
	return i & int64(r.step(n))
}

// Bool takes a varint that is 0 or 1.
func (r *Reader) Bool() bool {
	n := r.Uint()
	r.Bad = r.Bad || n > 1
	return n == 1
}

// Str takes a length, and as many bytes. They are a part of Text.
func (r *Reader) Str() string {
	n := r.Uint()
	if r.Bad = r.Bad || n > uint64(len(r.Text)); r.Bad {
		return ""
	}
	s := r.Text[:n]
	r.Text = r.Text[n:]
	return s
}

// Value takes a length, and as many bytes as AppendValue has written of a reply.
func (r *Reader) Value() resp.Value {
	v, rest, err := DecodeValue(r.Str())
	r.Bad = r.Bad || err != nil || rest != ""
	return v
}

// head is what a number may be made of.
func (r *Reader) head() []byte { return []byte(r.Text[:min(len(r.Text), binary.MaxVarintLen64)]) }

// step goes past n bytes and returns a mask of ones, or of zeros when there was no number.
func (r *Reader) step(n int) uint64 {
	if r.Bad = r.Bad || n <= 0; r.Bad {
		return 0
	}
	r.Text = r.Text[n:]
	return ^uint64(0)
}
