package script

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// baseLibrary has the global functions that Redis 7 leaves to scripts, but for coroutines.
func baseLibrary() []entry {
	return []entry{
		{"assert", baseAssert},
		{"collectgarbage", baseCollectGarbage},
		{"error", baseError},
		{"gcinfo", baseGCInfo},
		{"getmetatable", baseGetMetatable},
		{"ipairs", baseIpairs},
		{"load", baseLoad},
		{"loadstring", baseLoadString},
		{"next", baseNext},
		{"pairs", basePairs},
		{"pcall", func(a args) int { return a.m.pcall(a.l) }},
		{"rawequal", baseRawEqual},
		{"rawget", baseRawGet},
		{"rawset", baseRawSet},
		{"select", baseSelect},
		{"setmetatable", baseSetMetatable},
		{"tonumber", baseToNumber},
		{"tostring", baseToString},
		{"type", baseType},
		{"unpack", baseUnpack},
		{"xpcall", func(a args) int { return a.m.xpcall(a.l) }},
	}
}

func baseAssert(a args) int {
	if !lua.LVAsBool(a.any(1)) {
		a.m.raisef(a.l, "%s", a.optStr(2, "assertion failed!"))
	}
	return a.l.GetTop()
}

// baseCollectGarbage answers fixed figures: what the process uses is no business of a script.
func baseCollectGarbage(a args) int {
	switch opt := a.optStr(1, "collect"); opt {
	case "collect", "count", "step", "stop", "restart", "setpause", "setstepmul":
	default:
		a.fails(1, "invalid option '"+opt+"'")
	}
	a.l.Push(lua.LNumber(64))
	return 1
}

func baseGCInfo(a args) int {
	a.l.Push(lua.LNumber(64))
	return 1
}

func baseError(a args) int {
	level := a.optInt32(2, 1)
	v := a.l.Get(1)
	if s, ok := toText(v); ok && level > 0 {
		v = lua.LString(a.m.position(a.l, level) + s)
	}
	a.l.Error(v, 0)
	return 0
}

func baseGetMetatable(a args) int {
	v := a.any(1)
	if t, ok := v.(*lua.LTable); ok && t.Metatable == a.m.sealed {
		a.l.Push(lua.LNil)
		return 1
	}
	if v.Type() == lua.LTString {
		a.l.Push(a.m.strMeta)
		return 1
	}
	a.l.Push(a.l.GetMetatable(v))
	return 1
}

func baseSetMetatable(a args) int {
	t := a.table()
	meta := a.l.Get(2)
	if meta.Type() != lua.LTTable && (meta != lua.LNil || a.l.GetTop() < 2) {
		a.fails(2, "nil or table expected")
	}
	if a.l.GetMetaField(t, "__metatable") != lua.LNil {
		a.m.raise(a.l, "cannot change a protected metatable")
	}
	a.checkWritable(t)
	if meta != lua.LNil {
		a.m.b.price = max(a.m.b.price, metaPrice)
	}
	t.Metatable = meta
	a.l.SetTop(1)
	return 1
}

func baseRawEqual(a args) int {
	x, y := a.any(1), a.any(2)
	a.l.Push(lua.LBool(a.l.RawEqual(x, y)))
	return 1
}

func baseRawGet(a args) int {
	a.l.Push(a.table().RawGet(a.any(2)))
	return 1
}

func baseRawSet(a args) int {
	t := a.table()
	key, val := a.any(2), a.any(3)
	a.checkWritable(t)
	a.m.rawSet(a.l, t, key, val)
	a.l.SetTop(1)
	return 1
}

// next pays for the empty slots that the library walks over.
func (a args) next(t *lua.LTable, key lua.LValue) (lua.LValue, lua.LValue) {
	a.m.take(a.l, 1+a.m.deleted/16, 0)
	k, v := t.Next(key)
	if to := arrayIndex(k); to > 0 {
		a.m.take(a.l, int64(to-arrayIndex(key))/8, 0)
	}
	return k, v
}

// arrayIndex is the place of a key in the array part of a table, 0 for the keys that the library hashes.
func arrayIndex(key lua.LValue) int {
	n, ok := key.(lua.LNumber)
	if !ok || !(n >= 1) || n >= lua.LNumber(lua.MaxArrayIndex) || n != lua.LNumber(int(n)) {
		return 0
	}
	return int(n)
}

func baseNext(a args) int {
	k, v := a.next(a.table(), a.l.Get(2))
	a.l.Push(k)
	if k == lua.LNil {
		return 1
	}
	a.l.Push(v)
	return 2
}

func basePairs(a args) int {
	t := a.table()
	a.l.Push(a.m.globals.RawGetString("next"))
	a.l.Push(t)
	a.l.Push(lua.LNil)
	return 3
}

func baseIpairs(a args) int {
	t := a.table()
	a.l.Push(a.m.ipairsNext)
	a.l.Push(t)
	a.l.Push(lua.LNumber(0))
	return 3
}

func ipairsNext(a args) int {
	i := a.int32(2) + 1
	v := a.table().RawGet(lua.LNumber(i))
	if v == lua.LNil {
		return 0
	}
	a.l.Push(lua.LNumber(i))
	a.l.Push(v)
	return 2
}

// loadCost is what compiling a byte of text in a script costs in steps.
const loadCost = 32

func baseLoadString(a args) int {
	text := a.str(1)
	return a.load(text, a.optStr(2, text))
}

func baseLoad(a args) int {
	fn := a.function(1)
	name := a.optStr(2, "=(load)")
	var parts []string
	for {
		a.l.Push(fn)
		a.l.Call(0, 1)
		v := a.l.Get(-1)
		a.l.Pop(1)
		if v == lua.LNil {
			break
		}
		s, ok := toText(v)
		if !ok {
			a.m.raise(a.l, "reader function must return a string")
		}
		if s == "" {
			break
		}
		a.m.makes(a.l, int64(len(s)))
		parts = append(parts, s)
	}
	return a.load(strings.Join(parts, ""), name)
}

func (a args) load(text, name string) int {
	a.m.take(a.l, int64(len(text))*loadCost, 16*int64(len(text)))
	shown := chunkID(name)
	p, err := compileChunk(text, shown)
	if err == nil && len(text) > a.m.limits.Text {
		err = errTooComplex
	}
	if err != nil {
		a.l.Push(lua.LNil)
		a.l.Push(lua.LString(err.Error()))
		return 2
	}
	if a.m.loaded == nil {
		a.m.loaded, a.m.rawNames = map[string]*program{}, map[string]string{}
	}
	a.m.loaded[shown], a.m.rawNames[shown] = p, name
	a.l.Push(a.m.instantiate(a.l, p))
	return 1
}

// chunkID is how Lua shows a chunk's name: as it is behind "=" or "@", else as the beginning of its text.
func chunkID(name string) string {
	const room = 60 - len(`[string "..."]`) - 1
	if name != "" && (name[0] == '=' || name[0] == '@') {
		return name[1:min(len(name), 60)]
	}
	line, _, cut := strings.Cut(name, "\n")
	if len(line) > room {
		line, cut = line[:room], true
	}
	if cut {
		line += "..."
	}
	return `[string "` + line + `"]`
}

func baseSelect(a args) int {
	n := a.l.GetTop()
	a.m.take(a.l, int64(n), 0)
	if a.l.Get(1) == lua.LString("#") {
		a.l.Push(lua.LNumber(n - 1))
		return 1
	}
	i := a.int32(1)
	switch {
	case i < 0:
		i += n
	case i > n:
		i = n
	}
	if i < 1 {
		a.fails(1, "index out of range")
	}
	return n - i
}

func baseToNumber(a args) int {
	base := a.optInt32(2, 10)
	if base == 10 {
		if n, ok := toNumber(a.any(1)); ok {
			a.l.Push(n)
		} else {
			a.l.Push(lua.LNil)
		}
		return 1
	}
	s := a.str(1)
	if base < 2 || base > 36 {
		a.fails(2, "base out of range")
	}
	a.l.Push(parseBase(s, base))
	return 1
}

// parseBase is C's strtoul over the whole string.
func parseBase(s string, base int) lua.LValue {
	s = trimSpace(s)
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		s = s[2:]
	}
	if strings.ContainsAny(s, "+-_") {
		return lua.LNil
	}
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil && n == 0 {
		return lua.LNil
	}
	if neg && err == nil {
		n = -n
	}
	return lua.LNumber(n)
}

func baseToString(a args) int {
	a.l.Push(a.tostring(a.any(1)))
	return 1
}

func (a args) tostring(v lua.LValue) lua.LValue {
	if h := a.l.GetMetaField(v, "__tostring"); h != lua.LNil {
		a.l.Push(h)
		a.l.Push(v)
		a.l.Call(1, 1)
		s := a.l.Get(-1)
		a.l.Pop(1)
		return s
	}
	if s, ok := v.(lua.LString); ok {
		return s
	}
	a.m.take(a.l, 1, 64)
	return lua.LString(a.m.display(v))
}

func baseType(a args) int {
	a.l.Push(lua.LString(typeName(a.any(1))))
	return 1
}

// maxUnpack is how many values fit on the stack of Lua 5.1 (LUAI_MAXCSTACK).
const maxUnpack = 8000

func baseUnpack(a args) int {
	t := a.table()
	i := int64(a.optInt32(2, 1))
	e := int64(a.optInt32(3, t.Len()))
	if i > e {
		return 0
	}
	n := e - i + 1
	if n+int64(a.l.GetTop()) > maxUnpack-4 {
		a.m.raise(a.l, "too many results to unpack")
	}
	a.m.take(a.l, n, itemBytes*n)
	for ; i <= e; i++ {
		a.l.Push(t.RawGet(lua.LNumber(i)))
	}
	return int(n)
}
