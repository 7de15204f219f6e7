package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// matcher makes a matcher that charges this run and fails with errors of this script.
func (a args) matcher(src, pat string) *matcher {
	b := a.m.b
	return &matcher{
		src: src, pat: pat,
		step: func() {
			if b.left--; b.left < 0 {
				a.m.take(a.l, 1, 0)
			}
		},
		fail: func(text string) { a.m.raise(a.l, text) },
	}
}

// start matches at one position with a clean slate.
func (ms *matcher) start(s, p int) int {
	ms.level, ms.depth = 0, 0
	return ms.match(s, p)
}

// capture is a captured string or position; the whole match stands for the first one when there are none.
func (a args) capture(ms *matcher, i, s, e int) lua.LValue {
	if i >= ms.level {
		if i != 0 {
			a.m.raise(a.l, "invalid capture index")
		}
		a.m.take(a.l, 1, 2*itemBytes)
		return lua.LString(ms.src[s:e])
	}
	c := ms.captures[i]
	switch c.len {
	case capturePosition:
		return lua.LNumber(c.start + 1)
	case captureOpen:
		a.m.raise(a.l, "unfinished capture")
	}
	a.m.take(a.l, 1, 2*itemBytes)
	return lua.LString(ms.src[c.start : c.start+c.len])
}

// pushCaptures pushes all captures; the whole match when there are none and whole says so.
func (a args) pushCaptures(ms *matcher, s, e int, whole bool) int {
	n := ms.level
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		a.l.Push(a.capture(ms, i, s, e))
	}
	return n
}

func stringFind(a args) int { return a.search(true) }

func stringMatch(a args) int { return a.search(false) }

func (a args) search(find bool) int {
	src, pat := a.str(1), a.str(2)
	init := position(a.optInteger(3, 1), len(src)) - 1
	at := int(min(max(init, 0), int64(len(src))))
	if find && (lua.LVAsBool(a.l.Get(4)) || !strings.ContainsAny(pat, specials)) {
		return a.findPlain(src, pat, at)
	}
	ms := a.matcher(src, pat)
	p, anchored := 0, strings.HasPrefix(pat, "^")
	if anchored {
		p = 1
	}
	for s := at; s <= len(src); s++ {
		if e := ms.start(s, p); e >= 0 {
			if !find {
				return a.pushCaptures(ms, s, e, true)
			}
			a.l.Push(lua.LNumber(s + 1))
			a.l.Push(lua.LNumber(e))
			return 2 + a.pushCaptures(ms, s, e, false)
		}
		if anchored {
			break
		}
	}
	a.l.Push(lua.LNil)
	return 1
}

func (a args) findPlain(src, pat string, at int) int {
	a.m.take(a.l, int64(len(src)-at)/16, 0)
	i := strings.Index(src[at:], pat)
	if i < 0 {
		a.l.Push(lua.LNil)
		return 1
	}
	a.l.Push(lua.LNumber(at + i + 1))
	a.l.Push(lua.LNumber(at + i + len(pat)))
	return 2
}

func stringGmatch(a args) int {
	src, pat := a.str(1), a.str(2)
	next := 0
	a.m.take(a.l, 8, tableBytes)
	a.l.Push(a.m.bind(entry{"for iterator", func(a args) int {
		ms := a.matcher(src, pat)
		for s := next; s <= len(src); s++ {
			if e := ms.start(s, 0); e >= 0 {
				if next = e; e == s {
					next++
				}
				return a.pushCaptures(ms, s, e, true)
			}
		}
		next = len(src) + 1
		return 0
	}}))
	return 1
}

func stringGsub(a args) int {
	src, pat := a.str(1), a.str(2)
	repl := a.l.Get(3)
	switch repl.Type() {
	case lua.LTNumber, lua.LTString, lua.LTTable, lua.LTFunction:
	default:
		a.fails(3, "string/function/table expected")
	}
	limit := a.optInt32(4, len(src)+1)
	p, anchored := 0, strings.HasPrefix(pat, "^")
	if anchored {
		p = 1
	}
	ms := a.matcher(src, pat)
	var out []byte
	s, n := 0, 0
	for n < limit {
		e := ms.start(s, p)
		if e >= 0 {
			n++
			out = a.replace(out, ms, s, e, repl)
		}
		switch {
		case e > s:
			s = e
		case s < len(src):
			out = append(out, src[s])
			s++
		default:
			s++
		}
		if s > len(src) || anchored {
			break
		}
	}
	if s < len(src) {
		out = append(out, src[s:]...)
	}
	a.m.makes(a.l, int64(len(out)))
	a.l.Push(lua.LString(out))
	a.l.Push(lua.LNumber(n))
	return 2
}

// replace appends what stands for one match.
func (a args) replace(out []byte, ms *matcher, s, e int, repl lua.LValue) []byte {
	var v lua.LValue
	switch r := repl.(type) {
	case *lua.LTable:
		v = a.l.GetTable(r, a.capture(ms, 0, s, e))
	case *lua.LFunction:
		a.l.Push(r)
		n := a.pushCaptures(ms, s, e, true)
		a.l.Call(n, 1)
		v = a.l.Get(-1)
		a.l.Pop(1)
	default:
		text, _ := toText(repl)
		return a.expand(out, ms, s, e, text)
	}
	if !lua.LVAsBool(v) {
		return append(out, ms.src[s:e]...)
	}
	text, ok := toText(v)
	if !ok {
		a.m.raisef(a.l, "invalid replacement value (a %s)", typeName(v))
	}
	a.m.take(a.l, int64(len(text))/64, int64(len(text)))
	return append(out, text...)
}

// expand appends a replacement string with its %0 to %9.
func (a args) expand(out []byte, ms *matcher, s, e int, repl string) []byte {
	a.m.take(a.l, int64(len(repl))/16, int64(len(repl)))
	for i := 0; i < len(repl); i++ {
		if repl[i] != '%' {
			out = append(out, repl[i])
			continue
		}
		i++
		switch {
		case i == len(repl):
			out = append(out, 0)
		case !isDigit(repl[i]):
			out = append(out, repl[i])
		default:
			text := ms.src[s:e]
			if repl[i] != '0' {
				text, _ = toText(a.capture(ms, int(repl[i]-'1'), s, e))
			}
			a.m.take(a.l, int64(len(text))/64, int64(len(text)))
			out = append(out, text...)
		}
	}
	return out
}
