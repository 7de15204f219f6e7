package script

import "math"

// arithmetic are the operations of strings that stand for numbers, by metamethod.
var arithmetic = map[string]func(x, y float64) float64{
	"__add": func(x, y float64) float64 { return x + y },
	"__sub": func(x, y float64) float64 { return x - y },
	"__mul": func(x, y float64) float64 { return x * y },
	"__div": func(x, y float64) float64 { return x / y },
	"__mod": luaMod,
	"__pow": math.Pow,
}
