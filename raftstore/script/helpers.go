package script

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openHelpers makes the functions that rewritten code calls, in the order of helperNames.
func (m *machine) openHelpers() {
	byName := map[string]lua.LGFunction{
		fnAlloc: m.alloc, fnSet: m.set, fnFill: m.fillComputed, fnConcat: m.concat, fnBound: m.bound, fnMod: m.mod,
		fnLess: m.less, fnLessEq: m.lessEq, fnMore: m.more, fnMoreEq: m.moreEq, fnPass: m.pass,
		fnLength: m.length, fnNegate: m.negate,
	}
	redis := m.globals.RawGetString("redis").(*lua.LTable)
	fixed := map[string]lua.LValue{
		fnGlobals: m.globals, fnCall: redis.RawGetString("call"), fnPcall: redis.RawGetString("pcall"),
	}
	for _, name := range helperNames {
		v, ok := fixed[name]
		if !ok {
			v = m.helper(byName[name])
		}
		m.helpers = append(m.helpers, v)
	}
}

func (m *machine) helper(fn lua.LGFunction) *lua.LFunction {
	return m.l.NewFunction(func(l *lua.LState) int {
		m.b.left -= helperCost
		return fn(l)
	})
}

// alloc pays for what the next statement makes. The library searches the list of all open captured locals for each
// capture, so captures are charged by how many there may be.
func (m *machine) alloc(l *lua.LState) int {
	bytes, captures := int64(l.Get(1).(lua.LNumber)), int64(l.Get(2).(lua.LNumber))
	steps := bytes/64 + captures*(1+m.captures/64)
	m.captures += captures
	m.take(l, steps, bytes)
	return 0
}

// pass returns its arguments.
func (m *machine) pass(l *lua.LState) int {
	n := l.GetTop()
	m.take(l, int64(n), itemBytes*int64(n))
	return n
}

func (m *machine) set(l *lua.LState) int {
	v, key, val := l.Get(1), l.Get(2), l.Get(3)
	t, ok := v.(*lua.LTable)
	if !ok {
		m.indexError(l, v, key)
	}
	if t.Metatable == lua.LNil {
		m.rawSet(l, t, key, val)
		return 0
	}
	if m.readOnly(t) {
		m.raise(l, textReadOnly)
	}
	m.setMeta(l, t, key, val)
	return 0
}

func (m *machine) indexError(l *lua.LState, v, key lua.LValue) {
	name := ""
	if s, ok := key.(lua.LString); ok {
		name = string(s)
	}
	m.raise(l, "attempt to index a non-table object("+typeName(v)+") with key '"+name+"'")
}

// setMeta assigns to a table with a metatable.
func (m *machine) setMeta(l *lua.LState, t *lua.LTable, key, val lua.LValue) {
	for range lua.MaxTableGetLoop {
		handler := l.GetMetaField(t, "__newindex")
		if handler == lua.LNil || t.RawGet(key) != lua.LNil {
			m.rawSet(l, t, key, val)
			return
		}
		if handler.Type() == lua.LTFunction {
			l.Push(handler)
			l.Push(t)
			l.Push(key)
			l.Push(val)
			l.Call(3, 0)
			return
		}
		next, ok := handler.(*lua.LTable)
		if !ok {
			m.indexError(l, handler, key)
		}
		if t = next; m.readOnly(t) {
			m.raise(l, textReadOnly)
		}
	}
	m.raise(l, "loop in settable")
}

// rawSet assigns without metamethods. The library keeps positive integer keys in an array and fills gaps with nil: that
// is charged, and nils at the end are cut off, since the library looks for the length from there.
func (m *machine) rawSet(l *lua.LState, t *lua.LTable, key, val lua.LValue) {
	switch k := key.(type) {
	case *lua.LNilType:
		m.raise(l, "table index is nil")
	case lua.LNumber:
		if math.IsNaN(float64(k)) {
			m.raise(l, "table index is NaN")
		}
		if i := arrayIndex(k); i > 0 {
			m.setItem(l, t, i, val)
			return
		}
	}
	switch {
	case val == lua.LNil:
		m.deleted++
	case t.RawGet(key) == lua.LNil:
		m.take(l, 2, fieldBytes)
	}
	t.RawSet(key, val)
}

func (m *machine) setItem(l *lua.LState, t *lua.LTable, k int, val lua.LValue) {
	n := t.Len()
	switch {
	case k <= n && (k < n || val != lua.LNil):
		t.RawSetInt(k, val)
	case k == n:
		cut(t, n)
	case val == lua.LNil:
	default:
		gap := int64(k - n)
		m.take(l, gap/8, 2*itemBytes*gap)
		if n == 0 {
			m.take(l, 4, tableBytes)
		}
		t.RawSetInt(k, val)
	}
}

// cut removes the last item, and the nils in front of it.
func cut(t *lua.LTable, n int) {
	t.Remove(-1)
	for left := t.Len(); n-1 > left; n-- {
		t.Remove(-1)
	}
}

// fillComputed assigns the computed keys of a constructor to the new table and returns it.
func (m *machine) fillComputed(l *lua.LState) int {
	t := l.Get(1).(*lua.LTable)
	for i := 2; i < l.GetTop(); i += 2 {
		m.rawSet(l, t, l.Get(i), l.Get(i+1))
	}
	l.SetTop(1)
	return 1
}

// concat joins from the right, as Lua does; numbers become strings by "%.14g".
func (m *machine) concat(l *lua.LState) int {
	n := l.GetTop()
	acc := l.Get(n)
	for i := n - 1; i >= 1; i-- {
		if !isText(acc) || !isText(l.Get(i)) {
			acc = m.concatMeta(l, n, i, acc)
			continue
		}
		last := i
		for i > 1 && isText(l.Get(i-1)) {
			i--
		}
		acc = m.join(l, i, last, acc)
	}
	l.Push(acc)
	return 1
}

func isText(v lua.LValue) bool {
	t := v.Type()
	return t == lua.LTString || t == lua.LTNumber
}

// join concatenates the arguments from first to last and what is already joined behind them.
func (m *machine) join(l *lua.LState, first, last int, acc lua.LValue) lua.LValue {
	var parts [chunkItems + 1]string
	size := 0
	n := last - first + 1
	for i := range n {
		parts[i], _ = toText(l.Get(first + i))
		size += len(parts[i])
	}
	parts[n], _ = toText(acc)
	size += len(parts[n])
	m.makes(l, int64(size))
	if n == 1 {
		return lua.LString(parts[0] + parts[1])
	}
	return lua.LString(strings.Join(parts[:n+1], ""))
}

func (m *machine) concatMeta(l *lua.LState, n, i int, right lua.LValue) lua.LValue {
	left := l.Get(i)
	handler := l.GetMetaField(left, "__concat")
	if handler == lua.LNil {
		handler = l.GetMetaField(right, "__concat")
	}
	if handler == lua.LNil {
		if isText(left) {
			m.operand(l, "concatenate", siteConcat, n, i, right)
		}
		m.operand(l, "concatenate", siteConcat, n, i-1, left)
	}
	return m.call2(l, handler, left, right)
}

// call2 calls a metamethod of two operands.
func (m *machine) call2(l *lua.LState, fn, a, b lua.LValue) lua.LValue {
	l.Push(fn)
	l.Push(a)
	l.Push(b)
	l.Call(2, 1)
	v := l.Get(-1)
	l.Pop(1)
	return v
}

var boundTexts = [...]string{"", "initial value", "limit", "step"}

// bound converts one bound of a numeric for.
func (m *machine) bound(l *lua.LState) int {
	n, ok := toNumber(l.Get(1))
	if !ok {
		m.raisef(l, "'for' %s must be a number", boundTexts[int(l.Get(2).(lua.LNumber))])
	}
	l.Push(n)
	return 1
}

func (m *machine) mod(l *lua.LState) int {
	l.Push(m.arith(l, "__mod", luaMod, l.Get(1), l.Get(2)))
	return 1
}

// luaMod is a - floor(a/b)*b, in these steps.
func luaMod(a, b float64) float64 { return a - float64(math.Floor(a/b)*b) }

// arith is an arithmetic operation on any values.
func (m *machine) arith(l *lua.LState, event string, op func(a, b float64) float64, a, b lua.LValue) lua.LValue {
	x, ok1 := toNumber(a)
	y, ok2 := toNumber(b)
	if ok1 && ok2 {
		return lua.LNumber(op(float64(x), float64(y)))
	}
	for _, v := range []lua.LValue{a, b} {
		if v.Type() == lua.LTString {
			continue
		}
		if handler := l.GetMetaField(v, event); handler != lua.LNil {
			return m.call2(l, handler, a, b)
		}
	}
	i, culprit := 0, a
	if ok1 {
		i, culprit = 1, b
	}
	m.operand(l, "perform arithmetic on", siteArith, 2, i, culprit)
	return lua.LNil
}

func (m *machine) less(l *lua.LState) int   { return m.compare(l, l.Get(1), l.Get(2), false) }
func (m *machine) lessEq(l *lua.LState) int { return m.compare(l, l.Get(1), l.Get(2), true) }
func (m *machine) more(l *lua.LState) int   { return m.compare(l, l.Get(2), l.Get(1), false) }
func (m *machine) moreEq(l *lua.LState) int { return m.compare(l, l.Get(2), l.Get(1), true) }

func (m *machine) compare(l *lua.LState, a, b lua.LValue, orEqual bool) int {
	less, ok := m.isLess(l, a, b, orEqual)
	if !ok {
		m.raise(l, compareText(a, b))
	}
	l.Push(lua.LBool(less))
	return 1
}

// isLess is a < b or a <= b; ok is false for values that have no order. Strings compare by bytes, as in the C locale
// that Redis sets.
func (m *machine) isLess(l *lua.LState, a, b lua.LValue, orEqual bool) (less, ok bool) {
	if a.Type() != b.Type() {
		return false, false
	}
	switch x := a.(type) {
	case lua.LNumber:
		y := b.(lua.LNumber)
		return x < y || orEqual && x == y, true
	case lua.LString:
		y := b.(lua.LString)
		m.take(l, int64(min(len(x), len(y))/64), 0)
		return x < y || orEqual && x == y, true
	}
	return m.lessMeta(l, a, b, orEqual)
}

func (m *machine) lessMeta(l *lua.LState, a, b lua.LValue, orEqual bool) (less, ok bool) {
	if orEqual {
		if h := commonHandler(l, a, b, "__le"); h != lua.LNil {
			return lua.LVAsBool(m.call2(l, h, a, b)), true
		}
		a, b = b, a
	}
	h := commonHandler(l, a, b, "__lt")
	if h == lua.LNil {
		return false, false
	}
	return lua.LVAsBool(m.call2(l, h, a, b)) != orEqual, true
}

// commonHandler is a metamethod that both operands share.
func commonHandler(l *lua.LState, a, b lua.LValue, event string) lua.LValue {
	h := l.GetMetaField(a, event)
	if h != l.GetMetaField(b, event) {
		return lua.LNil
	}
	return h
}

func compareText(a, b lua.LValue) string {
	x, y := typeName(a), typeName(b)
	if x == y {
		return "attempt to compare two " + x + " values"
	}
	return "attempt to compare " + x + " with " + y
}

// length is the operator "#"; in Lua 5.1 tables have no metamethod for it.
func (m *machine) length(l *lua.LState) int {
	switch v := l.Get(1).(type) {
	case lua.LString:
		l.Push(lua.LNumber(len(v)))
	case *lua.LTable:
		l.Push(lua.LNumber(v.Len()))
	default:
		m.operand(l, "get length of", siteLength, 1, 0, v)
	}
	return 1
}

// negate is unary minus, of strings too.
func (m *machine) negate(l *lua.LState) int {
	v := l.Get(1)
	if n, ok := toNumber(v); ok {
		l.Push(-n)
		return 1
	}
	handler := l.GetMetaField(v, "__unm")
	if handler == lua.LNil || v.Type() == lua.LTString {
		m.operand(l, "perform arithmetic on", siteNegate, 1, 0, v)
	}
	l.Push(m.call2(l, handler, v, v))
	return 1
}
