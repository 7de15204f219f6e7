package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func tableLibrary() []entry {
	return []entry{
		{"concat", tableConcat},
		{"foreach", tableForeach},
		{"foreachi", tableForeachi},
		{"getn", tableGetn},
		{"insert", tableInsert},
		{"maxn", tableMaxn},
		{"remove", tableRemove},
		{"setn", tableSetn},
		{"sort", tableSort},
	}
}

func item(t *lua.LTable, i int) lua.LValue { return t.RawGet(lua.LNumber(i)) }

func tableGetn(a args) int {
	a.l.Push(lua.LNumber(a.table().Len()))
	return 1
}

func tableSetn(a args) int {
	a.table()
	a.m.raise(a.l, "'setn' is obsolete")
	return 0
}

func tableMaxn(a args) int {
	t := a.table()
	a.m.take(a.l, int64(t.Len())/8, 0)
	best := lua.LNumber(0)
	for k, _ := a.next(t, lua.LNil); k != lua.LNil; k, _ = a.next(t, k) {
		if n, ok := k.(lua.LNumber); ok && n > best {
			best = n
		}
	}
	a.l.Push(best)
	return 1
}

func tableInsert(a args) int {
	t := a.table()
	end := t.Len() + 1
	at := end
	switch a.l.GetTop() {
	case 2:
	case 3:
		at = a.int32(2)
		end = max(end, at)
	default:
		a.m.raise(a.l, "wrong number of arguments to 'insert'")
	}
	a.checkWritable(t)
	v := a.l.Get(a.l.GetTop())
	a.m.take(a.l, 1+max(0, int64(end-at)/4), 0)
	for i := end; i > at; i-- {
		a.m.rawSet(a.l, t, lua.LNumber(i), item(t, i-1))
	}
	a.m.rawSet(a.l, t, lua.LNumber(at), v)
	return 0
}

func tableRemove(a args) int {
	t := a.table()
	end := t.Len()
	at := a.optInt32(2, end)
	if at < 1 || at > end {
		return 0
	}
	a.checkWritable(t)
	a.m.take(a.l, 1+int64(end-at)/4, 0)
	v := item(t, at)
	for i := at; i < end; i++ {
		t.RawSetInt(i, item(t, i+1))
	}
	a.m.rawSet(a.l, t, lua.LNumber(end), lua.LNil)
	a.l.Push(v)
	return 1
}

func tableConcat(a args) int {
	t := a.table()
	sep := a.optStr(2, "")
	i, j := a.optInt32(3, 1), a.optInt32(4, t.Len())
	var parts []string
	size := int64(0)
	for ; i <= j; i++ {
		v := item(t, i)
		s, ok := toText(v)
		if !ok {
			a.m.raisef(a.l, "invalid value (%s) at index %d in table for 'concat'", typeName(v), i)
		}
		size += int64(len(s) + len(sep))
		a.m.take(a.l, 1, itemBytes)
		if size > a.m.b.memory {
			a.m.makes(a.l, size)
		}
		parts = append(parts, s)
	}
	a.m.makes(a.l, size)
	a.l.Push(lua.LString(strings.Join(parts, sep)))
	return 1
}

func tableForeach(a args) int {
	t, f := a.table(), a.function(2)
	for k, v := a.next(t, lua.LNil); k != lua.LNil; k, v = a.next(t, k) {
		if r := a.m.call2(a.l, f, k, v); r != lua.LNil {
			a.l.Push(r)
			return 1
		}
	}
	return 0
}

func tableForeachi(a args) int {
	t, f := a.table(), a.function(2)
	for i := range t.Len() {
		a.m.take(a.l, 1, 0)
		if r := a.m.call2(a.l, f, lua.LNumber(i+1), item(t, i+1)); r != lua.LNil {
			a.l.Push(r)
			return 1
		}
	}
	return 0
}

func tableSort(a args) int {
	t := a.table()
	s := sorter{a: a, t: t}
	if a.l.Get(2) != lua.LNil {
		s.less = a.function(2)
	}
	s.sort(1, t.Len())
	return 0
}

// sorter is the quicksort of Lua 5.1's table.sort. It is not Go's, whose order of equal items may change with a release
// of Go and so between replicas.
type sorter struct {
	a    args
	t    *lua.LTable
	less *lua.LFunction
}

func (s *sorter) lt(x, y lua.LValue) bool {
	s.a.m.take(s.a.l, 2, 0)
	if s.less != nil {
		return lua.LVAsBool(s.a.m.call2(s.a.l, s.less, x, y))
	}
	less, ok := s.a.m.isLess(s.a.l, x, y, false)
	if !ok {
		s.a.l.Error(lua.LString(compareText(x, y)), 0)
	}
	return less
}

func (s *sorter) swap(i, j int) {
	x, y := item(s.t, i), item(s.t, j)
	s.put(i, y)
	s.put(j, x)
}

func (s *sorter) put(i int, v lua.LValue) {
	s.a.checkWritable(s.t)
	s.a.m.rawSet(s.a.l, s.t, lua.LNumber(i), v)
}

// order swaps the items i and j when j is less.
func (s *sorter) order(i, j int) {
	if s.lt(item(s.t, j), item(s.t, i)) {
		s.swap(i, j)
	}
}

func (s *sorter) sort(lo, hi int) {
	for lo < hi {
		s.order(lo, hi)
		if hi-lo == 1 {
			return
		}
		mid := (lo + hi) / 2
		if s.lt(item(s.t, mid), item(s.t, lo)) {
			s.swap(mid, lo)
		} else {
			s.order(mid, hi)
		}
		if hi-lo == 2 {
			return
		}
		pivot := item(s.t, mid)
		s.swap(mid, hi-1)
		i := s.partition(lo, hi-1, pivot)
		s.swap(hi-1, i)
		if i-lo < hi-i { // the smaller half by recursion
			s.sort(lo, i-1)
			lo = i + 1
		} else {
			s.sort(i+1, hi)
			hi = i - 1
		}
	}
}

// partition moves what is less than the pivot to the left and returns the border. A comparison that contradicts itself
// runs past an end, which is an error.
func (s *sorter) partition(i, j int, pivot lua.LValue) int {
	lo, hi := i, j+1
	for {
		for i++; s.lt(item(s.t, i), pivot); i++ {
			s.check(i <= hi)
		}
		for j--; s.lt(pivot, item(s.t, j)); j-- {
			s.check(j >= lo)
		}
		if j < i {
			return i
		}
		s.swap(i, j)
	}
}

func (s *sorter) check(ok bool) {
	if !ok {
		s.a.m.raise(s.a.l, "invalid order function for sorting")
	}
}
