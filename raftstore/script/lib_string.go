package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// stringLibrary has all of Lua 5.1 but string.dump, which gives what this interpreter could not load.
func stringLibrary() []entry {
	return []entry{
		{"byte", stringByte},
		{"char", stringChar},
		{"find", stringFind},
		{"format", stringFormat},
		{"gfind", stringGmatch},
		{"gmatch", stringGmatch},
		{"gsub", stringGsub},
		{"len", stringLen},
		{"lower", stringLower},
		{"match", stringMatch},
		{"rep", stringRep},
		{"reverse", stringReverse},
		{"sub", stringSub},
		{"upper", stringUpper},
	}
}

// openStringMeta gives strings their methods and their arithmetic. The VM asks for a metamethod before it converts a
// string by itself, and its own conversion takes "010" for octal. Scripts are shown a table that has only __index.
func (m *machine) openStringMeta() {
	methods := m.globals.RawGetString("string")
	meta := m.l.NewTable()
	meta.RawSetString("__index", methods)
	for event, op := range arithmetic {
		meta.RawSetString(event, m.l.NewFunction(func(l *lua.LState) int {
			l.Push(m.arith(l, event, op, l.Get(1), l.Get(2)))
			return 1
		}))
	}
	m.l.SetMetatable(lua.LString(""), meta)
	m.strMeta = m.l.NewTable()
	m.strMeta.RawSetString("__index", methods)
	m.strMeta.Metatable = m.sealed
	m.ipairsNext = m.bind(entry{"ipairs", ipairsNext})
}

// position converts an index that may count from the end.
func position(i int64, n int) int64 {
	if i < 0 {
		i += int64(n) + 1
	}
	return max(i, 0)
}

// span gives the bounds of a substring: s[from:to].
func (a args) span(n int, first, last int64) (from, to int) {
	first, last = max(position(first, n), 1), min(position(last, n), int64(n))
	if first > last {
		return 0, 0
	}
	return int(first - 1), int(last)
}

func stringLen(a args) int {
	a.l.Push(lua.LNumber(len(a.str(1))))
	return 1
}

func stringSub(a args) int {
	s := a.str(1)
	from, to := a.span(len(s), a.integer(2), a.optInteger(3, -1))
	a.m.take(a.l, 1, 2*itemBytes)
	a.l.Push(lua.LString(s[from:to]))
	return 1
}

func stringByte(a args) int {
	s := a.str(1)
	first := a.optInteger(2, 1)
	from, to := a.span(len(s), first, a.optInteger(3, position(first, len(s))))
	n := to - from
	if n > maxUnpack-8 {
		a.m.raise(a.l, "string slice too long")
	}
	a.m.take(a.l, int64(n), itemBytes*int64(n))
	for _, c := range []byte(s[from:to]) {
		a.l.Push(lua.LNumber(c))
	}
	return n
}

func stringChar(a args) int {
	n := a.l.GetTop()
	a.m.makes(a.l, int64(n))
	buf := make([]byte, n)
	for i := range buf {
		c := a.int32(i + 1)
		if c != int(byte(c)) {
			a.fails(i+1, "invalid value")
		}
		buf[i] = byte(c)
	}
	a.l.Push(lua.LString(buf))
	return 1
}

func stringRep(a args) int {
	s, n := a.str(1), int64(a.int32(2))
	if n <= 0 || s == "" {
		a.l.Push(lua.LString(""))
		return 1
	}
	a.m.makes(a.l, int64(len(s))*n)
	a.l.Push(lua.LString(strings.Repeat(s, int(n))))
	return 1
}

// mapped makes a string of another one byte by byte, as C's functions in the C locale do.
func (a args) mapped(f func(src, dst []byte)) int {
	s := a.str(1)
	a.m.makes(a.l, int64(len(s)))
	dst := make([]byte, len(s))
	f([]byte(s), dst)
	a.l.Push(lua.LString(dst))
	return 1
}

func stringReverse(a args) int {
	return a.mapped(func(src, dst []byte) {
		for i, c := range src {
			dst[len(dst)-1-i] = c
		}
	})
}

func stringLower(a args) int {
	return a.mapped(func(src, dst []byte) {
		for i, c := range src {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst[i] = c
		}
	})
}

func stringUpper(a args) int {
	return a.mapped(func(src, dst []byte) {
		for i, c := range src {
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			dst[i] = c
		}
	})
}
