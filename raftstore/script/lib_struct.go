package script

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// structLibrary is the struct library that Redis brings (http://www.inf.puc-rio.br/~roberto/struct/), which Redisson's
// rate limiter uses.
func structLibrary() []entry {
	return []entry{{"pack", structPack}, {"size", structSize}, {"unpack", structUnpack}}
}

// The sizes of C's types on the 64-bit machines that Redis runs on, and the bounds of the library.
const (
	structInt      = 4
	structMaxInt   = 32
	structMaxAlign = 8
)

// layout walks over the options of a format.
type layout struct {
	a      args
	format string
	i      int
	big    bool
	align  int
}

func (a args) layout() *layout { return &layout{a: a, format: a.str(1), align: 1} }

// next returns an option and its size in bytes; ok is false at the end.
func (f *layout) next() (opt byte, size int, ok bool) {
	if f.i >= len(f.format) || f.format[f.i] == 0 {
		return 0, 0, false
	}
	f.a.m.take(f.a.l, 2, 0)
	opt = f.format[f.i]
	f.i++
	switch opt {
	case 'B', 'b', 'x':
		size = 1
	case 'H', 'h':
		size = 2
	case 'L', 'l', 'T', 'd':
		size = 8
	case 'f':
		size = 4
	case 'c':
		size = f.number(1)
	case 'i', 'I':
		if size = f.number(structInt); size > structMaxInt {
			f.a.m.raisef(f.a.l, "integral size %d is larger than limit of %d", size, structMaxInt)
		}
	}
	return opt, size, true
}

// number reads the digits behind an option.
func (f *layout) number(def int) int {
	if f.i >= len(f.format) || !isDigit(f.format[f.i]) {
		return def
	}
	n := 0
	for ; f.i < len(f.format) && isDigit(f.format[f.i]); f.i++ {
		n = 10*n + int(f.format[f.i]-'0')
		if n > math.MaxInt32 {
			f.a.m.raise(f.a.l, "integral size overflow")
		}
	}
	return n
}

// padding is how many bytes stand in front of an option at offset pos.
func (f *layout) padding(pos int, opt byte, size int) int {
	if size == 0 || opt == 'c' {
		return 0
	}
	size = min(size, f.align)
	return (size - pos&(size-1)) & (size - 1)
}

// control handles the options that stand for no data.
func (f *layout) control(opt byte) {
	switch opt {
	case ' ':
	case '>':
		f.big = true
	case '<':
		f.big = false
	case '!':
		if f.align = f.number(structMaxAlign); f.align == 0 || f.align&(f.align-1) != 0 {
			f.a.m.raisef(f.a.l, "alignment %d is not a power of 2", f.align)
		}
	default:
		f.a.fails(1, "invalid format option '"+string([]byte{opt})+"'")
	}
}

func structSize(a args) int {
	f, pos := a.layout(), 0
	for opt, size, ok := f.next(); ok; opt, size, ok = f.next() {
		switch {
		case opt == 's':
			a.fails(1, "option 's' has no fixed size")
		case opt == 'c' && size == 0:
			a.fails(1, "option 'c0' has no fixed size")
		case size == 0:
			f.control(opt)
		}
		pos += f.padding(pos, opt, size) + size
	}
	a.l.Push(lua.LNumber(pos))
	return 1
}

func structPack(a args) int {
	f, arg := a.layout(), 2
	var out []byte
	for opt, size, ok := f.next(); ok; opt, size, ok = f.next() {
		out = append(out, make([]byte, f.padding(len(out), opt, size))...)
		before := len(out)
		switch opt {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			out = f.appendInt(out, f.num(arg), size)
			arg++
		case 'f':
			out = f.appendBits(out, uint64(float32Bits(f.num(arg))), size)
			arg++
		case 'd':
			out = f.appendBits(out, float64Bits(f.num(arg)), size)
			arg++
		case 'x':
			out = append(out, 0)
		case 'c', 's':
			out = f.appendText(out, opt, size, arg)
			arg++
		default:
			f.control(opt)
		}
		a.m.take(a.l, int64(len(out)-before)/16, int64(len(out)-before))
	}
	a.m.makes(a.l, int64(len(out)))
	a.l.Push(lua.LString(out))
	return 1
}

// num reads a number argument; a missing one counts as nil in this library's error text.
func (f *layout) num(n int) float64 {
	if n > f.a.l.GetTop() {
		f.a.fails(n, "number expected, got nil")
	}
	return f.a.num(n)
}

func (f *layout) appendText(out []byte, opt byte, size, arg int) []byte {
	s := f.a.str(arg)
	f.a.m.take(f.a.l, int64(len(s))/16, int64(len(s)))
	if opt == 's' {
		return append(append(out, s...), 0)
	}
	if size == 0 {
		size = len(s)
	}
	if len(s) < size {
		f.a.fails(arg+1, "string too short")
	}
	return append(out, s[:size]...)
}

func (f *layout) appendInt(out []byte, n float64, size int) []byte {
	bits := uint64(toInt64(n))
	if n >= 1<<63 && n < 1<<64 {
		bits = uint64(n)
	}
	return f.appendBits(out, bits, size)
}

func (f *layout) appendBits(out []byte, bits uint64, size int) []byte {
	for i := range size {
		shift := 8 * i
		if f.big {
			shift = 8 * (size - 1 - i)
		}
		b := byte(0)
		if shift < 64 {
			b = byte(bits >> shift)
		}
		out = append(out, b)
	}
	return out
}

// float64Bits and float32Bits give every NaN the same bits: those of 0/0 on x86.
func float64Bits(n float64) uint64 {
	if math.IsNaN(n) {
		return 0xfff8 << 48
	}
	return math.Float64bits(n)
}

func float32Bits(n float64) uint32 {
	if math.IsNaN(n) {
		return 0xffc0 << 16
	}
	return math.Float32bits(float32(n))
}

func structUnpack(a args) int {
	f, data := a.layout(), a.str(2)
	start := a.optInteger(3, 1) - 1
	if start < 0 {
		a.fails(3, "offset must be 1 or greater")
	}
	pos, n := int(min(start, int64(len(data))+1)), 0
	for opt, size, ok := f.next(); ok; opt, size, ok = f.next() {
		pos += f.padding(pos, opt, size)
		f.need(data, pos, size)
		if n > maxUnpack-8 {
			a.m.raise(a.l, "too many results")
		}
		switch opt {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			a.l.Push(lua.LNumber(f.integer(data[pos:pos+size], opt >= 'a')))
		case 'f':
			a.l.Push(lua.LNumber(math.Float32frombits(uint32(f.bits(data[pos : pos+size])))))
		case 'd':
			a.l.Push(lua.LNumber(math.Float64frombits(f.bits(data[pos : pos+size]))))
		case 'c':
			if size == 0 {
				size = f.countInFront(n)
				n--
				f.need(data, pos, size)
			}
			a.l.Push(lua.LString(data[pos : pos+size]))
		case 's':
			size = 1 + strings.IndexByte(data[pos:], 0)
			if size == 0 {
				a.m.raise(a.l, "unfinished string in data")
			}
			a.l.Push(lua.LString(data[pos : pos+size-1]))
		case 'x':
			n--
		default:
			f.control(opt)
			n--
		}
		n++
		pos += size
		a.m.take(a.l, 1+int64(size)/64, 2*itemBytes)
	}
	a.l.Push(lua.LNumber(pos + 1))
	return n + 1
}

func (f *layout) need(data string, pos, size int) {
	if size > len(data) || pos > len(data)-size {
		f.a.fails(2, "data string too short")
	}
}

// countInFront takes the number that was unpacked last, which is the size of a string without one.
func (f *layout) countInFront(n int) int {
	size, ok := lua.LNumber(0), false
	if n > 0 {
		size, ok = toNumber(f.a.l.Get(-1))
	}
	if !ok {
		f.a.m.raise(f.a.l, "format 'c0' needs a previous size")
	}
	f.a.l.Pop(1)
	if size < 0 || size > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(size)
}

func (f *layout) bits(b string) uint64 {
	var n uint64
	for i := range len(b) {
		if f.big {
			n = n<<8 | uint64(b[i])
		} else {
			n = n<<8 | uint64(b[len(b)-1-i])
		}
	}
	return n
}

func (f *layout) integer(b string, signed bool) float64 {
	n := f.bits(b)
	if !signed {
		return float64(n)
	}
	if unused := 64 - 8*len(b); unused > 0 {
		return float64(int64(n<<unused) >> unused)
	}
	return float64(int64(n))
}
