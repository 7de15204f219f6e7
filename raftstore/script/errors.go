package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/redfence/redfence/commands/resp"
)

// raise raises an error whose text begins with the position of the caller, as luaL_error does.
func (m *machine) raise(l *lua.LState, text string) {
	l.Error(lua.LString(m.position(l, 1)+text), 0)
}

func (m *machine) raisef(l *lua.LState, format string, args ...any) {
	m.raise(l, fmt.Sprintf(format, args...))
}

// raiseTable raises an error of a library function of Redis: a table with the text, without position.
func (m *machine) raiseTable(l *lua.LState, text string) {
	l.Error(m.errorTable(text), 0)
}

func (m *machine) errorTable(text string) *lua.LTable {
	t := m.l.CreateTable(0, 2)
	t.RawSetString("err", lua.LString(text))
	return t
}

// position is "chunk:line: " of the function at a level of the stack, nothing for Go functions.
func (m *machine) position(l *lua.LState, level int) string {
	where := l.Where(level)
	if where == "" || where == "[G]:" {
		return ""
	}
	return where + " "
}

// argError words a wrong argument as luaL_argerror does.
func (m *machine) argError(l *lua.LState, fn string, n int, text string) {
	m.raisef(l, "bad argument #%d to '%s' (%s)", n, fn, text)
}

// typeError words an argument of the wrong type as luaL_typerror does.
func (m *machine) typeError(l *lua.LState, fn string, n int, want string) {
	got := "no value"
	if n <= l.GetTop() {
		got = typeName(l.Get(n))
	}
	m.argError(l, fn, n, want+" expected, got "+got)
}

func typeName(v lua.LValue) string { return v.Type().String() }

// errorObject is the value of a caught error, with the library's texts in the words of Lua 5.1.
func (m *machine) errorObject(err *lua.ApiError) lua.LValue {
	if s, ok := err.Object.(lua.LString); ok {
		return lua.LString(m.translate(string(s)))
	}
	return err.Object
}

// caught is what pcall returns: like Redis's own pcall it gives the text of an error table.
func (m *machine) caught(err *lua.ApiError) lua.LValue {
	v := m.errorObject(err)
	if t, ok := v.(*lua.LTable); ok {
		if text, ok := toText(t.RawGetString("err")); ok {
			return lua.LString(text)
		}
	}
	return v
}

// errorReply is the reply of a script that an error ended: the text, and where it was raised.
func (m *machine) errorReply(err *lua.ApiError) resp.Value {
	v := m.errorObject(err)
	var text string
	if t, ok := v.(*lua.LTable); !ok {
		text = "ERR " + m.display(v)
	} else if s, ok := toText(t.RawGetString("err")); ok {
		text = s
	} else {
		text = "ERR script raised a table without the field err"
	}
	return resp.Err(text + " script: " + m.inv.SHA + ", on " + m.origin(err.StackTrace) + ".")
}

var traceLine = regexp.MustCompile(`^\t(.*):(\d+): in `)

// origin finds in a traceback the innermost line of the script.
func (m *machine) origin(trace string) string {
	for line := range strings.SplitSeq(trace, "\n") {
		match := traceLine.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		if raw, ok := m.rawNames[match[1]]; ok {
			return raw + ":" + match[2]
		}
		return "@" + match[1] + ":" + match[2]
	}
	return "@" + chunkName + ":1"
}

var (
	positioned  = regexp.MustCompile(`(?s)^(.*?):(\d+): (.*)$`)
	vmIndex     = regexp.MustCompile(`(?s)^attempt to index a non-table object\((\w+)\) with key '(.*)'$`)
	vmArith     = regexp.MustCompile(`^cannot perform \w+ operation between (\w+) and (\w+)$`)
	vmCompare   = regexp.MustCompile(`^attempt to compare (\w+) with (\w+)$`)
	vmTextStart = []string{"attempt to ", "cannot perform ", "registry ", "too many recursions"}
)

// longestVMText is the length above which a text is not one of the VM's. To match a text of many megabytes that a
// script raised takes seconds.
const longestVMText = 1024

// translate words an error of the library's VM as Lua 5.1 does. Other texts pass unchanged.
func (m *machine) translate(text string) string {
	if len(text) > longestVMText {
		return text
	}
	match := positioned.FindStringSubmatch(text)
	if match == nil {
		return strings.TrimPrefix(text, " ")
	}
	if !startsWithAny(match[3], vmTextStart) {
		return text
	}
	line, _ := strconv.Atoi(match[2])
	return match[1] + ":" + match[2] + ": " + m.vmText(match[1], line, match[3])
}

func startsWithAny(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func (m *machine) vmText(chunk string, line int, text string) string {
	sites := m.sitesOf(chunk)
	switch text {
	case "attempt to call a non-function object":
		return operandError("call", sites.name(line, siteCall, "", 1, 0), "nil")
	case "registry overflow":
		return "stack overflow"
	case "too many recursions in gettable", "too many recursions in settable":
		return "loop in " + text[len(text)-8:]
	}
	if f := vmIndex.FindStringSubmatch(text); f != nil {
		name := sites.name(line, siteIndex, f[2], 1, 0)
		if name == "" {
			name = sites.name(line, siteIndex, "", 1, 0)
		}
		return operandError("index", name, f[1])
	}
	if f := vmArith.FindStringSubmatch(text); f != nil {
		i := 0
		if f[1] == "number" {
			i = 1
		}
		return operandError("perform arithmetic on", sites.name(line, siteArith, "", 2, i), f[1+i])
	}
	if f := vmCompare.FindStringSubmatch(text); f != nil && f[1] == f[2] {
		return "attempt to compare two " + f[1] + " values"
	}
	return text
}

func (m *machine) sitesOf(chunk string) sites {
	if p, ok := m.loaded[chunk]; ok {
		return p.sites
	}
	return m.p.sites
}

// operandError is Lua's text for an operand of a wrong type; name may be empty.
func operandError(op, name, typ string) string {
	if name == "" {
		return "attempt to " + op + " a " + typ + " value"
	}
	return "attempt to " + op + " " + name + " (a " + typ + " value)"
}

// operand raises the error of a helper whose operand i of n has a wrong type.
func (m *machine) operand(l *lua.LState, op string, kind siteKind, n, i int, v lua.LValue) {
	name := ""
	if match := positioned.FindStringSubmatch(l.Where(1) + " "); match != nil {
		line, _ := strconv.Atoi(match[2])
		name = m.sitesOf(match[1]).name(line, kind, "", n, i)
	}
	m.raise(l, operandError(op, name, typeName(v)))
}
