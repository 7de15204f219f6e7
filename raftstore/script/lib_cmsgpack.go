package script

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// cmsgpackLibrary is lua-cmsgpack 0.4.0 (https://github.com/antirez/lua-cmsgpack), which BullMQ's scripts use: the
// formats of https://github.com/msgpack/msgpack/blob/master/spec.md but for bin, ext and timestamps.
func cmsgpackLibrary() []entry {
	return []entry{
		{"pack", msgpackPack},
		{"unpack", msgpackUnpack},
		{"unpack_one", msgpackUnpackOne},
		{"unpack_limit", msgpackUnpackLimit},
	}
}

func (m *machine) openCMsgpack() {
	t := m.library("cmsgpack", cmsgpackLibrary())
	t.RawSetString("_NAME", lua.LString("cmsgpack"))
	t.RawSetString("_VERSION", lua.LString("lua-cmsgpack 0.4.0"))
	t.RawSetString("_COPYRIGHT", lua.LString("Copyright (C) 2012, Salvatore Sanfilippo"))
	t.RawSetString("_DESCRIPTION", lua.LString("MessagePack C implementation for Lua"))
}

// First bytes of values.
const (
	mpFixMap   = 0x80
	mpFixArray = 0x90
	mpFixStr   = 0xa0
	mpNil      = 0xc0
	mpFalse    = 0xc2
	mpTrue     = 0xc3
	mpFloat    = 0xca
	mpDouble   = 0xcb
	mpUint8    = 0xcc
	mpUint16   = 0xcd
	mpUint32   = 0xce
	mpUint64   = 0xcf
	mpInt8     = 0xd0
	mpInt16    = 0xd1
	mpInt32    = 0xd2
	mpInt64    = 0xd3
	mpStr8     = 0xd9
	mpStr16    = 0xda
	mpStr32    = 0xdb
	mpArray16  = 0xdc
	mpArray32  = 0xdd
	mpMap16    = 0xde
	mpMap32    = 0xdf
)

// msgpackNesting is how deep tables are packed; nil stands for what is deeper, so that a cycle ends.
const msgpackNesting = 16

// msgpackCost is what a value costs in steps; bytes are charged beside it.
const msgpackCost = 2

// msgpackPack packs its arguments one behind the other.
func msgpackPack(a args) int {
	n := a.l.GetTop()
	if n == 0 {
		a.fails(0, "MessagePack pack needs input.")
	}
	if 2*n > maxUnpack {
		a.fails(0, "Too many arguments for MessagePack pack.")
	}
	p := packer{a: a}
	for i := 1; i <= n; i++ {
		p.value(a.l.Get(i), 0)
	}
	a.m.makes(a.l, int64(len(p.out)))
	a.l.Push(lua.LString(p.out))
	return 1
}

// packer writes MessagePack. Tables may share tables: every value is charged before it is written.
type packer struct {
	a   args
	out []byte
}

func (p *packer) value(v lua.LValue, level int) {
	p.a.m.take(p.a.l, msgpackCost, 9)
	switch v := v.(type) {
	case lua.LString:
		p.text(string(v))
	case lua.LNumber:
		p.number(float64(v))
	case lua.LBool:
		if v {
			p.out = append(p.out, mpTrue)
		} else {
			p.out = append(p.out, mpFalse)
		}
	case *lua.LTable:
		if level < msgpackNesting {
			p.table(v, level+1)
			return
		}
		p.out = append(p.out, mpNil)
	default:
		p.out = append(p.out, mpNil)
	}
}

func (p *packer) text(s string) {
	p.a.m.take(p.a.l, int64(len(s)/64), int64(len(s)))
	switch n := len(s); {
	case n < 32:
		p.out = append(p.out, mpFixStr|byte(n))
	case n <= math.MaxUint8:
		p.out = append(p.out, mpStr8, byte(n))
	default:
		p.count(mpStr16, n)
	}
	p.out = append(p.out, s...)
}

// count writes a length of 16 bits behind the byte short, or of 32 behind the next one.
func (p *packer) count(short byte, n int) {
	if n <= math.MaxUint16 {
		p.out = binary.BigEndian.AppendUint16(append(p.out, short), uint16(n))
		return
	}
	p.out = binary.BigEndian.AppendUint32(append(p.out, short+1), uint32(n))
}

// number writes an integer where there is one, else the shorter of the exact fractions.
func (p *packer) number(f float64) {
	if i := toInt64(f); float64(i) == f {
		p.integer(i)
		return
	}
	if short := float32(f); float64(short) == f {
		p.out = binary.BigEndian.AppendUint32(append(p.out, mpFloat), math.Float32bits(short))
		return
	}
	p.out = binary.BigEndian.AppendUint64(append(p.out, mpDouble), float64Bits(f))
}

func (p *packer) integer(n int64) {
	switch {
	case n >= -32 && n <= math.MaxInt8:
		p.out = append(p.out, byte(n))
	case n >= 0:
		p.unsigned(uint64(n))
	case n >= math.MinInt8:
		p.out = append(p.out, mpInt8, byte(n))
	case n >= math.MinInt16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, mpInt16), uint16(n))
	case n >= math.MinInt32:
		p.out = binary.BigEndian.AppendUint32(append(p.out, mpInt32), uint32(n))
	default:
		p.out = binary.BigEndian.AppendUint64(append(p.out, mpInt64), uint64(n))
	}
}

func (p *packer) unsigned(n uint64) {
	switch {
	case n <= math.MaxUint8:
		p.out = append(p.out, mpUint8, byte(n))
	case n <= math.MaxUint16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, mpUint16), uint16(n))
	case n <= math.MaxUint32:
		p.out = binary.BigEndian.AppendUint32(append(p.out, mpUint32), uint32(n))
	default:
		p.out = binary.BigEndian.AppendUint64(append(p.out, mpUint64), n)
	}
}

func (p *packer) table(t *lua.LTable, level int) {
	n, isArray := p.size(t)
	if isArray {
		p.header(mpFixArray, mpArray16, n)
		for i := 1; i <= n; i++ {
			p.value(item(t, i), level)
		}
		return
	}
	p.header(mpFixMap, mpMap16, n)
	for k, v := p.a.next(t, lua.LNil); k != lua.LNil; k, v = p.a.next(t, k) {
		p.value(k, level)
		p.value(v, level)
	}
}

// header begins a table; the format of one with 16 and more items has a count behind its first byte.
func (p *packer) header(fixed, short byte, n int) {
	if n < 16 {
		p.out = append(p.out, fixed|byte(n))
		return
	}
	p.count(short, n)
}

// size counts the fields of a table and tells whether they are the items 1 to n, as they are in the empty table.
func (p *packer) size(t *lua.LTable) (n int, isArray bool) {
	highest := lua.LNumber(0)
	isArray = true
	for k, _ := p.a.next(t, lua.LNil); k != lua.LNil; k, _ = p.a.next(t, k) {
		n++
		i, ok := k.(lua.LNumber)
		if !ok || i < 1 || i > math.MaxInt32 || i != lua.LNumber(int(i)) {
			isArray = false
		}
		highest = max(highest, i)
	}
	return n, isArray && highest == lua.LNumber(n)
}

// msgpackUnpack returns all values of a string.
func msgpackUnpack(a args) int {
	u := a.unpacker(0, 0)
	return u.values(math.MaxInt32)
}

// msgpackUnpackOne returns where the next value begins, -1 at the end, and the value at an offset.
func msgpackUnpackOne(a args) int { return a.unpackSome(1, a.optInteger(2, 0)) }

// msgpackUnpackLimit is the same for a number of values.
func msgpackUnpackLimit(a args) int {
	limit := a.integer(2)
	return a.unpackSome(limit, a.optInteger(3, 0))
}

func (a args) unpackSome(limit, offset int64) int {
	if limit == 0 && offset == 0 { // the library takes that for unpack
		return msgpackUnpack(a)
	}
	u := a.unpacker(limit, offset)
	a.l.SetTop(1)
	a.l.Push(lua.LNil)
	n := u.values(limit)
	next := lua.LNumber(-1)
	if u.i < len(u.s) {
		next = lua.LNumber(u.i)
	}
	a.l.Replace(2, next)
	return 1 + n
}

func (a args) unpacker(limit, offset int64) *unpacker {
	s := a.str(1)
	switch {
	case limit < 0 || offset < 0: // the text shows the length where it says limit
		a.m.raisef(a.l, "Invalid request to unpack with offset of %d and limit of %d.", int32(offset), len(s))
	case offset > int64(len(s)):
		a.m.raisef(a.l, "Start offset %d greater than input length %d.", int32(offset), len(s))
	}
	return &unpacker{a: a, s: s, i: int(offset), slots: 1}
}

// unpacker reads MessagePack.
type unpacker struct {
	a     args
	s     string
	i     int
	slots int // what Lua's stack would hold, which bounds depth and count
}

// values pushes at most limit values.
func (u *unpacker) values(limit int64) int {
	n := 0
	for ; u.i < len(u.s) && int64(n) < limit; n++ {
		u.a.l.Push(u.value())
		u.slots++
	}
	return n
}

const (
	textManyValues = "too many return values at once; use unpack_one or unpack_limit instead."
	textDeepArray  = "in function mp_decode_to_lua_array"
	textShortInput = "Missing bytes in input."
	textBadInput   = "Bad data format in input."
)

// room refuses what would not fit on Lua's stack.
func (u *unpacker) room(text string) {
	if u.slots >= maxUnpack {
		u.a.m.raise(u.a.l, "stack overflow ("+text+")")
	}
}

// take returns the next n bytes.
func (u *unpacker) take(n int) string {
	if n > len(u.s)-u.i {
		u.a.m.raise(u.a.l, textShortInput)
	}
	u.i += n
	return u.s[u.i-n : u.i]
}

// unsigned reads an integer of n bytes.
func (u *unpacker) unsigned(n int) uint64 {
	v := uint64(0)
	for _, c := range []byte(u.take(n)) {
		v = v<<8 | uint64(c)
	}
	return v
}

func (u *unpacker) value() lua.LValue {
	u.a.m.take(u.a.l, msgpackCost, itemBytes)
	first := byte(u.unsigned(1))
	u.room(textManyValues)
	switch {
	case first < mpFixMap || first >= 0xe0:
		return lua.LNumber(int8(first))
	case first < mpFixArray:
		return u.dict(uint64(first & 15))
	case first < mpFixStr:
		return u.list(uint64(first & 15))
	case first < mpNil:
		return u.text(uint64(first & 31))
	case first >= mpUint8 && first <= mpInt64:
		return u.integer(first)
	}
	return u.other(first)
}

func (u *unpacker) other(first byte) lua.LValue {
	switch first {
	case mpNil:
		return lua.LNil
	case mpFalse:
		return lua.LFalse
	case mpTrue:
		return lua.LTrue
	case mpFloat:
		return lua.LNumber(math.Float32frombits(uint32(u.unsigned(4))))
	case mpDouble:
		return lua.LNumber(math.Float64frombits(u.unsigned(8)))
	case mpStr8, mpStr16, mpStr32:
		return u.text(u.unsigned(1 << (first - mpStr8)))
	case mpArray16, mpArray32:
		return u.list(u.unsigned(2 << (first - mpArray16)))
	case mpMap16, mpMap32:
		return u.dict(u.unsigned(2 << (first - mpMap16)))
	}
	u.a.m.raise(u.a.l, textBadInput)
	return nil
}

// integer reads one of the eight formats of integers. One of 64 bits is always signed, as in the library.
func (u *unpacker) integer(first byte) lua.LValue {
	size := 1 << (first & 3)
	v := u.unsigned(size)
	if first >= mpInt8 {
		unused := 64 - 8*size
		return lua.LNumber(int64(v<<unused) >> unused)
	}
	return lua.LNumber(int64(v))
}

func (u *unpacker) text(n uint64) lua.LValue { return u.a.m.text(u.a.l, u.take(int(n))) }

// list reads n values into a table. What n promises need not come, so no room is made for it.
func (u *unpacker) list(n uint64) lua.LValue {
	u.a.m.take(u.a.l, 4, tableBytes)
	t := u.a.m.l.NewTable()
	u.slots++
	u.room(textDeepArray)
	u.slots++ // the index
	for i := 1; uint64(i) <= n; i++ {
		u.a.m.rawSet(u.a.l, t, lua.LNumber(i), u.value())
	}
	u.slots -= 2
	return t
}

func (u *unpacker) dict(n uint64) lua.LValue {
	u.a.m.take(u.a.l, 4, tableBytes)
	t := u.a.m.l.NewTable()
	u.slots++
	for range n {
		key := u.value()
		u.slots++
		v := u.value()
		u.slots--
		u.set(t, key, v)
	}
	u.slots--
	return t
}

// set assigns a field; keys that no table can have are errors without a position.
func (u *unpacker) set(t *lua.LTable, key, v lua.LValue) {
	if key == lua.LNil {
		u.a.l.Error(lua.LString("table index is nil"), 0)
	}
	if n, ok := key.(lua.LNumber); ok && math.IsNaN(float64(n)) {
		u.a.l.Error(lua.LString("table index is NaN"), 0)
	}
	u.a.m.rawSet(u.a.l, t, key, v)
}
