package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/redfence/redfence/commands/resp"
)

// maxReplyNesting bounds nested tables in a reply; Redis ends such replies at the limit of the Lua stack.
const maxReplyNesting = 200

const textReplyNesting = "ERR reached lua stack limit"

// value converts a command's reply for the script: https://redis.io/docs/latest/develop/interact/programmability/lua-api/
// (data type conversion). Scripts see RESP2 shapes unless they asked for RESP3.
func (m *machine) value(l *lua.LState, v resp.Value) lua.LValue {
	switch v.Kind {
	case resp.Bulk:
		m.makes(l, int64(len(v.Str)))
		return lua.LString(v.Str)
	case resp.Integer:
		return lua.LNumber(v.Int())
	case resp.Simple:
		return m.field(l, "ok", m.text(l, v.Str))
	case resp.Error:
		return m.callError(v.Str)
	case resp.Array, resp.Push:
		return m.list(l, v.Elems)
	case resp.Null, resp.NullArray:
		if m.resp3 {
			return lua.LNil
		}
		return lua.LFalse
	default: // what only RESP3 has
		if m.resp3 {
			return m.value3(l, v)
		}
		return m.value2(l, v)
	}
}

func (m *machine) text(l *lua.LState, s string) lua.LValue {
	m.makes(l, int64(len(s)))
	return lua.LString(s)
}

// field makes a table with one field.
func (m *machine) field(l *lua.LState, name string, v lua.LValue) *lua.LTable {
	m.take(l, 4, tableBytes)
	t := l.CreateTable(0, 1)
	t.RawSetString(name, v)
	return t
}

func (m *machine) list(l *lua.LState, elems []resp.Value) *lua.LTable {
	m.take(l, int64(len(elems)), tableBytes+itemBytes*int64(len(elems)))
	t := l.CreateTable(len(elems), 0)
	for i := range elems {
		if v := m.value(l, elems[i]); v != lua.LNil {
			t.RawSetInt(i+1, v)
		}
	}
	return t
}

// value2 gives RESP3 kinds the shape that they have in RESP2.
func (m *machine) value2(l *lua.LState, v resp.Value) lua.LValue {
	switch v.Kind {
	case resp.Map, resp.Set, resp.Pairs:
		return m.list(l, v.Elems)
	case resp.Boolean:
		return lua.LNumber(v.Int())
	case resp.Double:
		return m.text(l, resp.FormatDouble(v.Float()))
	default:
		return m.text(l, v.Str)
	}
}

func (m *machine) value3(l *lua.LState, v resp.Value) lua.LValue {
	switch v.Kind {
	case resp.Map:
		return m.field(l, "map", m.dict(l, v.Elems, 2))
	case resp.Set:
		return m.field(l, "set", m.dict(l, v.Elems, 1))
	case resp.Pairs:
		return m.list(l, v.Rows())
	case resp.Boolean:
		return lua.LBool(v.Int() != 0)
	case resp.Double:
		return m.field(l, "double", lua.LNumber(v.Float()))
	case resp.BigNumber:
		return m.field(l, "big_number", m.text(l, v.Str))
	default:
		t := m.field(l, "string", m.text(l, v.Str))
		t.RawSetString("format", lua.LString("txt"))
		return m.field(l, "verbatim_string", t)
	}
}

// dict makes a table of keys and values (step 2) or of members (step 1).
func (m *machine) dict(l *lua.LState, elems []resp.Value, step int) *lua.LTable {
	m.take(l, int64(4*len(elems)), tableBytes+fieldBytes*int64(len(elems)))
	t := l.NewTable()
	for i := 0; i+step <= len(elems); i += step {
		key, val := m.value(l, elems[i]), lua.LValue(lua.LTrue)
		if step == 2 {
			val = m.value(l, elems[i+1])
		}
		if key != lua.LNil {
			m.rawSet(l, t, key, val)
		}
	}
	return t
}

// reply converts what a script returned. It charges the budget but raises nothing: the caller looks whether it is spent.
func (m *machine) reply(v lua.LValue) resp.Value {
	reply, ok := m.toReply(v, 0)
	if !ok {
		return resp.Err(textReplyNesting)
	}
	return reply
}

func (m *machine) toReply(v lua.LValue, depth int) (resp.Value, bool) {
	switch v := v.(type) {
	case lua.LString:
		return resp.Str(string(v)), m.b.take(1, itemBytes)
	case lua.LNumber:
		return resp.Int(toInt64(float64(v))), m.b.take(1, itemBytes)
	case lua.LBool:
		return m.boolReply(bool(v)), m.b.take(1, itemBytes)
	case *lua.LTable:
		if depth >= maxReplyNesting {
			return resp.Value{}, false
		}
		return m.tableReply(v, depth+1)
	}
	return resp.Value{}, m.b.take(1, itemBytes)
}

func (m *machine) boolReply(v bool) resp.Value {
	switch {
	case m.resp3:
		return resp.Bool(v)
	case v:
		return resp.Int(1)
	}
	return resp.Value{}
}

// tableReply looks for the fields that make a table stand for a type of RESP, in the order in which Redis looks.
func (m *machine) tableReply(t *lua.LTable, depth int) (resp.Value, bool) {
	if s, ok := t.RawGetString("err").(lua.LString); ok {
		return resp.Err(string(s)), m.b.take(1, itemBytes)
	}
	if s, ok := t.RawGetString("ok").(lua.LString); ok {
		return resp.Status(oneLine(string(s))), m.b.take(1, itemBytes)
	}
	if n, ok := t.RawGetString("double").(lua.LNumber); ok {
		return resp.Float(float64(n)), m.b.take(1, itemBytes)
	}
	if d, ok := t.RawGetString("map").(*lua.LTable); ok {
		elems, ok := m.dictReply(d, depth, true)
		return resp.MapOf(elems...), ok
	}
	if d, ok := t.RawGetString("set").(*lua.LTable); ok {
		elems, ok := m.dictReply(d, depth, false)
		return resp.SetOf(elems...), ok
	}
	if s, ok := t.RawGetString("big_number").(lua.LString); ok {
		return resp.Value{Kind: resp.BigNumber, Str: oneLine(string(s))}, m.b.take(1, itemBytes)
	}
	if d, ok := t.RawGetString("verbatim_string").(*lua.LTable); ok {
		format, ok1 := d.RawGetString("format").(lua.LString)
		s, ok2 := d.RawGetString("string").(lua.LString)
		if ok1 && ok2 && len(format) == 3 {
			return resp.Text(string(s)), m.b.take(1, itemBytes)
		}
	}
	return m.arrayReply(t, depth)
}

func oneLine(s string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}

// arrayReply ends at the first nil.
func (m *machine) arrayReply(t *lua.LTable, depth int) (resp.Value, bool) {
	var elems []resp.Value
	for i := 1; ; i++ {
		v := t.RawGet(lua.LNumber(i))
		if v == lua.LNil {
			return resp.Arr(elems...), m.b.take(1, itemBytes)
		}
		e, ok := m.toReply(v, depth)
		if !ok || m.b.spent() {
			return resp.Value{}, ok
		}
		elems = append(elems, e)
	}
}

func (m *machine) dictReply(t *lua.LTable, depth int, values bool) ([]resp.Value, bool) {
	var elems []resp.Value
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		e, ok := m.toReply(k, depth)
		if !ok || m.b.spent() {
			return nil, ok
		}
		elems = append(elems, e)
		if !values {
			continue
		}
		if e, ok = m.toReply(v, depth); !ok {
			return nil, false
		}
		elems = append(elems, e)
	}
	return elems, true
}
