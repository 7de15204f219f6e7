package script

import (
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// args reads the arguments of a library function, with the conversions and error texts of Lua's auxiliary library.
type args struct {
	m  *machine
	l  *lua.LState
	fn string
}

func (a args) any(n int) lua.LValue {
	if n > a.l.GetTop() {
		a.m.argError(a.l, a.fn, n, "value expected")
	}
	return a.l.Get(n)
}

func (a args) str(n int) string {
	s, ok := toText(a.l.Get(n))
	if !ok {
		a.m.typeError(a.l, a.fn, n, "string")
	}
	return s
}

func (a args) optStr(n int, def string) string {
	if a.l.Get(n) == lua.LNil {
		return def
	}
	return a.str(n)
}

func (a args) num(n int) float64 {
	f, ok := toNumber(a.l.Get(n))
	if !ok {
		a.m.typeError(a.l, a.fn, n, "number")
	}
	return float64(f)
}

// integer is luaL_checkinteger: 64 bits.
func (a args) integer(n int) int64 { return toInt64(a.num(n)) }

func (a args) optInteger(n int, def int64) int64 {
	if a.l.Get(n) == lua.LNil {
		return def
	}
	return a.integer(n)
}

// int32 is luaL_checkint: C's int.
func (a args) int32(n int) int { return int(int32(a.integer(n))) }

func (a args) optInt32(n, def int) int {
	if a.l.Get(n) == lua.LNil {
		return def
	}
	return a.int32(n)
}

// table is the first argument; no library takes a table elsewhere.
func (a args) table() *lua.LTable {
	t, ok := a.l.Get(1).(*lua.LTable)
	if !ok {
		a.m.typeError(a.l, a.fn, 1, "table")
	}
	return t
}

func (a args) function(n int) *lua.LFunction {
	f, ok := a.l.Get(n).(*lua.LFunction)
	if !ok {
		a.m.typeError(a.l, a.fn, n, "function")
	}
	return f
}

// fails raises the error of a wrong argument.
func (a args) fails(n int, text string) { a.m.argError(a.l, a.fn, n, text) }

// displayAddress stands for a C pointer: objects are numbered in the order in which a run first shows them.
func (m *machine) displayAddress(v lua.LValue) string {
	if m.ids == nil {
		m.ids = map[lua.LValue]int{}
	}
	id, ok := m.ids[v]
	if !ok {
		id = len(m.ids) + 1
		m.ids[v] = id
	}
	return "0x" + strconv.FormatInt(int64(0x7f0000000000+16*id), 16)
}

// display is tostring without metamethods.
func (m *machine) display(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return formatNumber(v)
	case lua.LBool, *lua.LNilType:
		return v.String()
	case *lua.LUserData:
		return "userdata: (nil)"
	}
	return typeName(v) + ": " + m.displayAddress(v)
}
