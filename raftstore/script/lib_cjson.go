package script

import (
	"fmt"
	"math"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// jsonConfig are the settings of one instance of cjson (https://kyne.com.au/~mark/software/lua-cjson-manual.html). Those
// of the global one begin anew in every run: what one script sets must not decide how another one ends.
type jsonConfig struct {
	sparseConvert int // 1: too sparse arrays become objects, 0: an error
	sparseRatio   int
	sparseSafe    int
	encodeDepth   int
	decodeDepth   int
	precision     int // digits of a number
	encodeInvalid int // what becomes of NaN and infinity: an index of jsonInvalid
	decodeInvalid int // 1: NaN, infinity and hexadecimal numbers are read
	keepBuffer    int // kept and shown, without a meaning here
}

func defaultJSON() jsonConfig {
	return jsonConfig{
		sparseRatio: 2, sparseSafe: 10, encodeDepth: 1000, decodeDepth: 1000, precision: 14, decodeInvalid: 1,
		keepBuffer: 1,
	}
}

// The choices of a switch, and of what becomes of numbers that JSON has not.
var (
	jsonSwitch  = []string{"off", "on"}
	jsonInvalid = []string{"off", "on", "null"}
)

// jsonCost is what a value costs in steps; bytes of text are charged beside it.
const jsonCost = 2

// openCJSON makes the global cjson, and the value that stands for null: one userdata, equal to itself only.
func (m *machine) openCJSON() {
	m.null = m.l.NewUserData()
	m.json = defaultJSON()
	m.addCJSONConstants(m.library("cjson", cjsonLibrary(&m.json)))
}

func (m *machine) addCJSONConstants(t *lua.LTable) {
	t.RawSetString("null", m.null)
	t.RawSetString("_NAME", lua.LString("cjson"))
	t.RawSetString("_VERSION", lua.LString("2.1.0"))
}

// cjsonLibrary are the functions of one instance.
func cjsonLibrary(c *jsonConfig) []entry {
	return []entry{
		{"encode", c.encode},
		{"decode", c.decode},
		{"encode_sparse_array", c.setSparse},
		{"encode_max_depth", c.setter(&c.encodeDepth, 1, math.MaxInt32)},
		{"decode_max_depth", c.setter(&c.decodeDepth, 1, math.MaxInt32)},
		{"encode_number_precision", c.setter(&c.precision, 1, 14)},
		{"encode_keep_buffer", c.chooser(&c.keepBuffer, jsonSwitch)},
		{"encode_invalid_numbers", c.chooser(&c.encodeInvalid, jsonInvalid)},
		{"decode_invalid_numbers", c.chooser(&c.decodeInvalid, jsonSwitch)},
		{"new", cjsonNew},
	}
}

// cjsonNew returns an instance with settings of its own, which scripts may change.
func cjsonNew(a args) int {
	c := defaultJSON()
	entries := cjsonLibrary(&c)
	a.m.take(a.l, 8*int64(len(entries)), tableBytes+(fieldBytes+tableBytes)*int64(len(entries)))
	t := a.m.l.NewTable()
	a.m.fill(t, entries)
	a.m.addCJSONConstants(t)
	a.l.Push(t)
	return 1
}

// atMost refuses more than n arguments of a setting; those that are not there are nil.
func (a args) atMost(n int) {
	if a.l.GetTop() > n {
		a.fails(n+1, "found too many arguments")
	}
	a.l.SetTop(n)
}

func (c *jsonConfig) setter(setting *int, lo, hi int) function1 {
	return func(a args) int {
		a.atMost(1)
		return a.setInt(1, setting, lo, hi)
	}
}

func (c *jsonConfig) chooser(setting *int, options []string) function1 {
	return func(a args) int {
		a.atMost(1)
		return a.choose(1, setting, options)
	}
}

func (c *jsonConfig) setSparse(a args) int {
	a.atMost(3)
	a.choose(1, &c.sparseConvert, jsonSwitch)
	a.setInt(2, &c.sparseRatio, 0, math.MaxInt32)
	a.setInt(3, &c.sparseSafe, 0, math.MaxInt32)
	return 3
}

// setInt changes a setting to argument n, if there is one, and pushes it. Its error always names the first argument.
func (a args) setInt(n int, setting *int, lo, hi int) int {
	if a.l.Get(n) != lua.LNil {
		v := a.int32(n)
		if v < lo || v > hi {
			a.fails(1, fmt.Sprintf("expected integer between %d and %d", lo, hi))
		}
		*setting = v
	}
	a.l.Push(lua.LNumber(*setting))
	return 1
}

// choose is the same for one of several words; the first two can also be given as booleans, and are pushed as such.
func (a args) choose(n int, setting *int, options []string) int {
	switch v := a.l.Get(n).(type) {
	case *lua.LNilType:
	case lua.LBool:
		*setting = 0
		if v {
			*setting = 1
		}
	default:
		*setting = a.option(n, options)
	}
	if *setting > 1 {
		a.l.Push(lua.LString(options[*setting]))
	} else {
		a.l.Push(lua.LBool(*setting == 1))
	}
	return 1
}

func (a args) option(n int, options []string) int {
	s := a.str(n)
	for i, o := range options {
		if o == s {
			return i
		}
	}
	a.fails(n, "invalid option '"+s+"'")
	return 0
}

// encode is cjson.encode.
func (c *jsonConfig) encode(a args) int {
	if a.l.GetTop() != 1 {
		a.fails(1, "expected 1 argument")
	}
	e := jsonEncoder{a: a, c: c, slots: 1}
	e.value(a.l.Get(1), 0)
	a.m.makes(a.l, int64(len(e.out)))
	a.l.Push(lua.LString(e.out))
	return 1
}

// jsonEncoder writes one JSON text. Tables may share tables, so that a text may be far larger than what it is made from:
// every piece is charged before it is written.
type jsonEncoder struct {
	a     args
	c     *jsonConfig
	out   []byte
	slots int // what Lua's stack would hold, which bounds the depth
}

func (e *jsonEncoder) put(s string) {
	e.a.m.take(e.a.l, 0, int64(len(s)))
	e.out = append(e.out, s...)
}

func (e *jsonEncoder) fails(v lua.LValue, reason string) {
	e.a.m.raise(e.a.l, "Cannot serialise "+typeName(v)+": "+reason)
}

func (e *jsonEncoder) value(v lua.LValue, depth int) {
	e.a.m.take(e.a.l, jsonCost, 1)
	switch v := v.(type) {
	case lua.LString:
		e.text(string(v))
	case lua.LNumber:
		e.number(v)
	case lua.LBool, *lua.LNilType:
		e.put(jsonWord(v))
	case *lua.LUserData:
		e.put("null")
	case *lua.LTable:
		e.table(v, depth+1)
	default:
		e.fails(v, "type not supported")
	}
}

func jsonWord(v lua.LValue) string {
	if v == lua.LNil {
		return "null"
	}
	return v.String()
}

func (e *jsonEncoder) number(n lua.LNumber) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		e.special(n)
		return
	}
	if e.c.precision == 14 {
		e.put(formatNumber(n))
		return
	}
	e.put(strconv.FormatFloat(f, 'g', e.c.precision, 64))
}

// special writes what JSON has no number for.
func (e *jsonEncoder) special(n lua.LNumber) {
	switch {
	case e.c.encodeInvalid == 0:
		e.fails(n, "must not be NaN or Inf")
	case e.c.encodeInvalid == 2:
		e.put("null")
	case math.IsNaN(float64(n)):
		e.put("nan")
	default:
		e.put(formatNumber(n))
	}
}

const hexDigits = "0123456789abcdef"

// text writes a string. Bytes from 128 on pass as they are: what is not UTF-8 makes no valid JSON, as in Redis.
func (e *jsonEncoder) text(s string) {
	e.a.m.take(e.a.l, int64(len(s)/16), int64(len(s))+2)
	e.out = append(e.out, '"')
	plain := 0
	for i := range len(s) {
		if esc := jsonEscape(s[i]); esc != "" {
			e.out = append(e.out, s[plain:i]...)
			e.put(esc)
			plain = i + 1
		}
	}
	e.out = append(append(e.out, s[plain:]...), '"')
}

func jsonEscape(c byte) string {
	switch c {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '/':
		return `\/`
	case '\b':
		return `\b`
	case '\t':
		return `\t`
	case '\n':
		return `\n`
	case '\f':
		return `\f`
	case '\r':
		return `\r`
	}
	if c < ' ' || c == 0x7f {
		return `\u00` + hexDigits[c>>4:c>>4+1] + hexDigits[c&15:c&15+1]
	}
	return ""
}

// table writes an array, or an object: also for the empty table.
func (e *jsonEncoder) table(t *lua.LTable, depth int) {
	if depth > e.c.encodeDepth || e.slots+3 > maxUnpack {
		e.a.m.raisef(e.a.l, "Cannot serialise, excessive nesting (%d)", depth)
	}
	if n := e.arrayLength(t); n > 0 {
		e.array(t, n, depth)
		return
	}
	e.object(t, depth)
}

// arrayLength is the highest index of a table that has only indices, below 1 for a table that is an object.
func (e *jsonEncoder) arrayLength(t *lua.LTable) int {
	items, highest := 0, 0
	for k, _ := e.a.next(t, lua.LNil); k != lua.LNil; k, _ = e.a.next(t, k) {
		n, ok := k.(lua.LNumber)
		if !ok || n < 1 || n > math.MaxInt32 || n != lua.LNumber(int(n)) {
			return 0
		}
		items++
		highest = max(highest, int(n))
	}
	if e.c.sparseRatio > 0 && highest > items*e.c.sparseRatio && highest > e.c.sparseSafe {
		if e.c.sparseConvert == 0 {
			e.fails(t, "excessively sparse array")
		}
		return 0
	}
	return highest
}

func (e *jsonEncoder) array(t *lua.LTable, n, depth int) {
	e.slots++
	e.put("[")
	for i := 1; i <= n; i++ {
		if i > 1 {
			e.out = append(e.out, ',')
		}
		e.value(item(t, i), depth)
	}
	e.put("]")
	e.slots--
}

func (e *jsonEncoder) object(t *lua.LTable, depth int) {
	e.slots += 2
	e.put("{")
	first := true
	for k, v := e.a.next(t, lua.LNil); k != lua.LNil; k, v = e.a.next(t, k) {
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		e.key(k)
		e.value(v, depth)
	}
	e.put("}")
	e.slots -= 2
}

func (e *jsonEncoder) key(k lua.LValue) {
	switch k := k.(type) {
	case lua.LString:
		e.text(string(k))
	case lua.LNumber:
		e.put(`"`)
		e.number(k)
		e.put(`"`)
	default:
		e.fails(k, "table key must be a number or string")
	}
	e.put(":")
}
