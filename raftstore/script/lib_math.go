package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

func mathLibrary() []entry {
	return []entry{
		{"abs", math1(math.Abs)},
		{"acos", math1(math.Acos)},
		{"asin", math1(math.Asin)},
		{"atan", math1(math.Atan)},
		{"atan2", math2(math.Atan2)},
		{"ceil", math1(math.Ceil)},
		{"cos", math1(math.Cos)},
		{"cosh", math1(math.Cosh)},
		{"deg", math1(func(f float64) float64 { return f / (math.Pi / 180) })},
		{"exp", math1(math.Exp)},
		{"floor", math1(math.Floor)},
		{"fmod", math2(math.Mod)},
		{"frexp", mathFrexp},
		{"ldexp", mathLdexp},
		{"log", math1(math.Log)},
		{"log10", math1(math.Log10)},
		{"max", mathMax},
		{"min", mathMin},
		{"mod", math2(math.Mod)},
		{"modf", mathModf},
		{"pow", math2(math.Pow)},
		{"rad", math1(func(f float64) float64 { return f * (math.Pi / 180) })},
		{"random", mathRandom},
		{"randomseed", mathRandomSeed},
		{"sin", math1(math.Sin)},
		{"sinh", math1(math.Sinh)},
		{"sqrt", math1(math.Sqrt)},
		{"tan", math1(math.Tan)},
		{"tanh", math1(math.Tanh)},
	}
}

func addMathConstants(t *lua.LTable) {
	t.RawSetString("pi", lua.LNumber(math.Pi))
	t.RawSetString("huge", lua.LNumber(math.Inf(1)))
}

func math1(f func(float64) float64) function1 {
	return func(a args) int {
		a.l.Push(lua.LNumber(f(a.num(1))))
		return 1
	}
}

func math2(f func(x, y float64) float64) function1 {
	return func(a args) int {
		x := a.num(1)
		a.l.Push(lua.LNumber(f(x, a.num(2))))
		return 1
	}
}

func mathFrexp(a args) int {
	f, e := math.Frexp(a.num(1))
	a.l.Push(lua.LNumber(f))
	a.l.Push(lua.LNumber(e))
	return 2
}

func mathLdexp(a args) int {
	f := a.num(1)
	a.l.Push(lua.LNumber(math.Ldexp(f, a.int32(2))))
	return 1
}

func mathModf(a args) int {
	f := a.num(1)
	whole := math.Trunc(f)
	frac := f - whole
	if math.IsInf(f, 0) {
		frac = math.Copysign(0, f)
	}
	a.l.Push(lua.LNumber(whole))
	a.l.Push(lua.LNumber(frac))
	return 2
}

func mathMax(a args) int { return a.extreme(func(x, best float64) bool { return x > best }) }

func mathMin(a args) int { return a.extreme(func(x, best float64) bool { return x < best }) }

func (a args) extreme(better func(x, best float64) bool) int {
	n := a.l.GetTop()
	a.m.take(a.l, int64(n), 0)
	best := a.num(1)
	for i := 2; i <= n; i++ {
		if x := a.num(i); better(x, best) {
			best = x
		}
	}
	a.l.Push(lua.LNumber(best))
	return 1
}

func mathRandom(a args) int {
	r := a.m.rng.float()
	switch a.l.GetTop() {
	case 0:
		a.l.Push(lua.LNumber(r))
	case 1:
		u := a.int32(1)
		if u < 1 {
			a.fails(1, "interval is empty")
		}
		a.l.Push(lua.LNumber(math.Floor(r*float64(u)) + 1))
	case 2:
		lo, hi := a.int32(1), a.int32(2)
		if lo > hi {
			a.fails(2, "interval is empty")
		}
		a.l.Push(lua.LNumber(math.Floor(r*float64(int32(hi-lo+1))) + float64(lo)))
	default:
		a.m.raise(a.l, "wrong number of arguments")
	}
	return 1
}

func mathRandomSeed(a args) int {
	a.m.rng = newRNG(int32(a.int32(1)))
	return 0
}
