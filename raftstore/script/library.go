package script

import lua "github.com/yuin/gopher-lua"

// function1 is a library function; the machine binds its name for error texts.
type function1 func(a args) int

// entry is one function of a library. Libraries are lists, not maps: pairs shows their order to scripts.
type entry struct {
	name string
	fn   function1
}

// openLibraries sets up the globals. A further library is one more file and one more line here.
func (m *machine) openLibraries() {
	m.globals = m.l.G.Global
	m.sealed = m.l.NewTable()
	m.fill(m.globals, baseLibrary())
	m.globals.RawSetString("_G", m.globals)
	m.globals.RawSetString("_VERSION", lua.LString("Lua 5.1"))
	m.library("string", stringLibrary())
	m.library("table", tableLibrary())
	math := m.library("math", mathLibrary())
	addMathConstants(math)
	m.library("bit", bitLibrary())
	m.library("struct", structLibrary())
	m.openCJSON()
	m.openCMsgpack()
	redis := m.library("redis", redisLibrary())
	m.addRedisConstants(redis)
	m.globals.RawSetString("KEYS", m.l.NewTable())
	m.globals.RawSetString("ARGV", m.l.NewTable())
	m.openHelpers()
	m.openStringMeta()
	meta := m.l.NewTable()
	meta.RawSetString("__index", m.l.NewFunction(m.noGlobal))
	meta.Metatable = m.sealed
	m.globals.Metatable = meta
}

// library makes a read-only table of functions and its global name.
func (m *machine) library(name string, entries []entry) *lua.LTable {
	t := m.l.NewTable()
	m.fill(t, entries)
	t.Metatable = m.sealed
	m.globals.RawSetString(name, t)
	return t
}

func (m *machine) fill(t *lua.LTable, entries []entry) {
	for _, e := range entries {
		t.RawSetString(e.name, m.bind(e))
	}
}

func (m *machine) bind(e entry) *lua.LFunction {
	return m.l.NewFunction(func(l *lua.LState) int {
		m.b.left -= libraryCost
		return e.fn(args{m: m, l: l, fn: e.name})
	})
}

// noGlobal is Redis's guard against misspelt names.
func (m *machine) noGlobal(l *lua.LState) int {
	m.raisef(l, "Script attempted to access nonexistent global variable '%s'", m.display(l.Get(2)))
	return 0
}

// readOnly tells whether scripts may not change t.
func (m *machine) readOnly(t *lua.LTable) bool { return t.Metatable == m.sealed || t == m.globals }

const textReadOnly = "Attempt to modify a readonly table"

// checkWritable raises Redis's error for read-only tables; library functions give it without a position.
func (a args) checkWritable(t *lua.LTable) {
	if a.m.readOnly(t) {
		a.l.Error(lua.LString(textReadOnly), 0)
	}
}
