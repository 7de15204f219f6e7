package entry

import (
	"encoding/binary"
	"math"

	"github.com/redfence/redfence/commands/resp"
)

// deepest bounds how replies may be nested.
const deepest = 512

// AppendValue writes a reply behind dst: a byte with its kind, then for a number or truth value its 64 bits, for an
// aggregate the number of its elements and these, for others length and bytes. Unlike on the wire of Redis nothing of a
// Value is lost.
func AppendValue(dst []byte, v resp.Value) []byte {
	dst = append(dst, byte(v.Kind))
	switch v.Kind {
	case resp.Null, resp.NullArray:
		return dst
	case resp.Integer, resp.Boolean:
		return binary.AppendVarint(dst, v.Int())
	case resp.Double:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(v.Float()))
	case resp.Array, resp.Map, resp.Set, resp.Push, resp.Pairs:
		dst = binary.AppendUvarint(dst, uint64(len(v.Elems)))
		for _, e := range v.Elems {
			dst = AppendValue(dst, e)
		}
		return dst
	default:
		return appendString(dst, v.Str)
	}
}

// DecodeValue reads what AppendValue wrote, and returns what follows it. The strings of the result are parts of text.
func DecodeValue(text string) (v resp.Value, rest string, err error) {
	d := decoder{data: []byte(text), text: text}
	v = d.value(0)
	if d.bad {
		return resp.Value{}, "", ErrCorrupt
	}
	return v, text[d.at:], nil
}

func (d *decoder) value(depth int) resp.Value {
	kind := resp.Kind(d.byte())
	if depth > deepest || kind > resp.Pairs {
		d.bad = true
	}
	if d.bad {
		return resp.Value{}
	}
	switch kind {
	case resp.Null, resp.NullArray:
		return resp.Value{Kind: kind}
	case resp.Integer:
		return resp.Int(d.signed())
	case resp.Boolean:
		return resp.Bool(d.signed() != 0)
	case resp.Double:
		return resp.Float(math.Float64frombits(d.bits()))
	case resp.Array, resp.Map, resp.Set, resp.Push, resp.Pairs:
		v := resp.Value{Kind: kind, Elems: make([]resp.Value, 0, d.count())}
		for n := cap(v.Elems); n > 0 && !d.bad; n-- {
			v.Elems = append(v.Elems, d.value(depth+1))
		}
		return v
	default:
		return resp.Value{Kind: kind, Str: d.str()}
	}
}

func (d *decoder) bits() uint64 {
	if len(d.data)-d.at < 8 {
		d.bad = true
		return 0
	}
	d.at += 8
	return binary.BigEndian.Uint64(d.data[d.at-8:])
}
