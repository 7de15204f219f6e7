package script

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// bitLibrary is Lua BitOp (https://bitop.luajit.org/api.html): 32-bit operations, results are signed.
func bitLibrary() []entry {
	return []entry{
		{"tobit", bitFold(func(x, _ uint32) uint32 { return x })},
		{"bnot", bitNot},
		{"band", bitFold(func(x, y uint32) uint32 { return x & y })},
		{"bor", bitFold(func(x, y uint32) uint32 { return x | y })},
		{"bxor", bitFold(func(x, y uint32) uint32 { return x ^ y })},
		{"lshift", bitShift(func(x uint32, n int) uint32 { return x << n })},
		{"rshift", bitShift(func(x uint32, n int) uint32 { return x >> n })},
		{"arshift", bitShift(func(x uint32, n int) uint32 { return uint32(int32(x) >> n) })},
		{"rol", bitShift(bits.RotateLeft32)},
		{"ror", bitShift(func(x uint32, n int) uint32 { return bits.RotateLeft32(x, -n) })},
		{"bswap", bitSwap},
		{"tohex", bitToHex},
	}
}

// bits32 takes a number modulo 2^32, rounded to the nearest even integer.
func (a args) bits32(n int) uint32 {
	f := math.RoundToEven(a.num(n))
	return uint32(int64(math.Mod(f, 1<<32)))
}

func (a args) pushBits(x uint32) int {
	a.l.Push(lua.LNumber(int32(x)))
	return 1
}

func bitFold(op func(x, y uint32) uint32) function1 {
	return func(a args) int {
		n := a.l.GetTop()
		a.m.take(a.l, int64(n), 0)
		acc := a.bits32(1)
		for i := 2; i <= n; i++ {
			acc = op(acc, a.bits32(i))
		}
		return a.pushBits(acc)
	}
}

func bitShift(op func(x uint32, n int) uint32) function1 {
	return func(a args) int {
		x := a.bits32(1)
		return a.pushBits(op(x, int(a.bits32(2)&31)))
	}
}

func bitNot(a args) int { return a.pushBits(^a.bits32(1)) }

func bitSwap(a args) int { return a.pushBits(bits.ReverseBytes32(a.bits32(1))) }

func bitToHex(a args) int {
	x, n := a.bits32(1), 8
	if a.l.GetTop() > 1 {
		n = int(int32(a.bits32(2)))
	}
	upper := n < 0
	if upper {
		n = -n
	}
	n = max(0, min(n, 8))
	s := fmt.Sprintf("%08x", x)[8-n:]
	if upper {
		s = strings.ToUpper(s)
	}
	a.l.Push(lua.LString(s))
	return 1
}
