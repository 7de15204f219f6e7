package script

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// jsonKind is what a piece of JSON is; the names are those of cjson's error texts.
type jsonKind string

const (
	jsonObject    jsonKind = "T_OBJ_BEGIN"
	jsonObjectEnd jsonKind = "T_OBJ_END"
	jsonArray     jsonKind = "T_ARR_BEGIN"
	jsonArrayEnd  jsonKind = "T_ARR_END"
	jsonString    jsonKind = "T_STRING"
	jsonNumber    jsonKind = "T_NUMBER"
	jsonBoolean   jsonKind = "T_BOOLEAN"
	jsonNull      jsonKind = "T_NULL"
	jsonColon     jsonKind = "T_COLON"
	jsonComma     jsonKind = "T_COMMA"
	jsonEnd       jsonKind = "T_END"
)

// Pieces that are none: the texts stand in error texts in place of a kind's name.
const (
	jsonBadToken  jsonKind = "invalid token"
	jsonBadNumber jsonKind = "invalid number"
	jsonBadEscape jsonKind = "invalid escape code"
	jsonBadRune   jsonKind = "invalid unicode escape code"
	jsonOpenText  jsonKind = "unexpected end of string"
)

type jsonToken struct {
	kind jsonKind
	at   int // offset, of a bad piece that of the fault
	text string
	num  float64 // a boolean is 0 or 1
}

// jsonDecoder reads one JSON text. Like the C library it takes a zero byte for the end.
type jsonDecoder struct {
	a     args
	c     *jsonConfig
	s     string
	i     int
	depth int
	slots int // what Lua's stack would hold, which bounds the depth
}

// decode is cjson.decode.
func (c *jsonConfig) decode(a args) int {
	if a.l.GetTop() != 1 {
		a.fails(1, "expected 1 argument")
	}
	s := a.str(1)
	if len(s) >= 2 && (s[0] == 0 || s[1] == 0) {
		a.m.raise(a.l, "JSON parser does not support UTF-16 or UTF-32")
	}
	a.m.take(a.l, int64(len(s)/8), 0) // reading
	d := jsonDecoder{a: a, c: c, s: s, slots: 1}
	v := d.value(d.next())
	d.want(d.next(), jsonEnd, "the end")
	a.l.Push(v)
	return 1
}

// at is the byte at an offset, 0 behind the end.
func (d *jsonDecoder) at(i int) byte {
	if i < len(d.s) {
		return d.s[i]
	}
	return 0
}

func (d *jsonDecoder) want(t jsonToken, kind jsonKind, name string) {
	if t.kind != kind {
		d.a.m.raisef(d.a.l, "Expected %s but found %s at character %d", name, t.kind, t.at+1)
	}
}

// value makes the value that begins with a token.
func (d *jsonDecoder) value(t jsonToken) lua.LValue {
	d.a.m.take(d.a.l, jsonCost, 0)
	switch t.kind {
	case jsonString:
		return d.a.m.text(d.a.l, t.text)
	case jsonNumber:
		return lua.LNumber(t.num)
	case jsonBoolean:
		return lua.LBool(t.num != 0)
	case jsonNull:
		return d.a.m.null
	case jsonObject:
		return d.object()
	case jsonArray:
		return d.array()
	default:
		d.want(t, "", "value")
		return nil
	}
}

// descend counts a level of nesting that needs so many slots on Lua's stack and keeps kept of them.
func (d *jsonDecoder) descend(needed, kept int) {
	d.depth++
	if d.depth > d.c.decodeDepth || d.slots+needed > maxUnpack {
		d.a.m.raisef(d.a.l, "Found too many nested data structures (%d) at character %d", d.depth, d.i)
	}
	d.slots += kept
	d.a.m.take(d.a.l, 4, tableBytes)
}

func (d *jsonDecoder) ascend(kept int) {
	d.depth--
	d.slots -= kept
}

func (d *jsonDecoder) object() lua.LValue {
	d.descend(3, 2)
	defer d.ascend(2)
	obj := d.a.m.l.NewTable()
	t := d.next()
	if t.kind == jsonObjectEnd {
		return obj
	}
	for {
		d.want(t, jsonString, "object key string")
		key := d.a.m.text(d.a.l, t.text)
		d.want(d.next(), jsonColon, "colon")
		d.a.m.rawSet(d.a.l, obj, key, d.value(d.next()))
		if t = d.next(); t.kind == jsonObjectEnd {
			return obj
		}
		d.want(t, jsonComma, "comma or object end")
		t = d.next()
	}
}

func (d *jsonDecoder) array() lua.LValue {
	d.descend(2, 1)
	defer d.ascend(1)
	arr := d.a.m.l.NewTable()
	t := d.next()
	if t.kind == jsonArrayEnd {
		return arr
	}
	for i := 1; ; i++ {
		d.a.m.setItem(d.a.l, arr, i, d.value(t))
		if t = d.next(); t.kind == jsonArrayEnd {
			return arr
		}
		d.want(t, jsonComma, "comma or array end")
		t = d.next()
	}
}

// jsonSigns are the kinds that one byte tells.
func jsonSigns(c byte) jsonKind {
	switch c {
	case '{':
		return jsonObject
	case '}':
		return jsonObjectEnd
	case '[':
		return jsonArray
	case ']':
		return jsonArrayEnd
	case ':':
		return jsonColon
	case ',':
		return jsonComma
	}
	return ""
}

func (d *jsonDecoder) next() jsonToken {
	for c := d.at(d.i); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = d.at(d.i) {
		d.i++
	}
	t := jsonToken{at: d.i}
	c := d.at(d.i)
	switch {
	case c == 0:
		t.kind = jsonEnd
	case c == '"':
		d.text(&t)
	case c == '-' || isDigit(c):
		if t.kind = jsonBadNumber; d.c.decodeInvalid == 1 || !strange(d.s[d.i:]) {
			d.number(&t)
		}
	default:
		if t.kind = jsonSigns(c); t.kind != "" {
			d.i++
			return t
		}
		d.word(&t)
	}
	return t
}

// word reads true, false, null, and numbers that are none in JSON.
func (d *jsonDecoder) word(t *jsonToken) {
	rest := d.s[d.i:]
	switch {
	case strings.HasPrefix(rest, "true"):
		t.kind, t.num = jsonBoolean, 1
		d.i += len("true")
	case strings.HasPrefix(rest, "false"):
		t.kind = jsonBoolean
		d.i += len("false")
	case strings.HasPrefix(rest, "null"):
		t.kind = jsonNull
		d.i += len("null")
	case d.c.decodeInvalid == 1 && strange(rest):
		d.number(t)
	default:
		t.kind = jsonBadToken
	}
}

// strange tells whether s begins with a number that C reads and JSON has not: a plus, leading zeros, hexadecimal,
// infinity, NaN.
func strange(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	if len(s) > 1 && s[0] == '0' {
		return s[1]|0x20 == 'x' || isDigit(s[1])
	}
	return hasFold(s, "inf") || hasFold(s, "nan")
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func (d *jsonDecoder) number(t *jsonToken) {
	n, f := leadingFloat(d.s[d.i:])
	if n == 0 {
		t.kind = jsonBadNumber
		return
	}
	t.kind, t.num = jsonNumber, f
	d.i += n
}

// leadingFloat is C's strtod: the number that s begins with, and how many bytes it has; 0 when there is none.
func leadingFloat(s string) (int, float64) {
	sign := 0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign = 1
	}
	body := s[sign:]
	switch {
	case hasFold(body, "infinity"):
		return sign + 8, signed(s, math.Inf(1))
	case hasFold(body, "inf"):
		return sign + 3, signed(s, math.Inf(1))
	case hasFold(body, "nan"):
		return sign + 3 + nanPayload(body[3:]), math.NaN()
	}
	if hasFold(body, "0x") {
		if n := mantissa(body[2:], isHexDigit); n > 0 {
			return finish(s, sign+2+n, 'p')
		}
	}
	n := mantissa(body, isDigit)
	if n == 0 {
		return 0, 0
	}
	return finish(s, sign+n, 'e')
}

func signed(s string, f float64) float64 {
	if s[0] == '-' {
		return -f
	}
	return f
}

// nanPayload is the length of the parenthesis that C allows behind nan.
func nanPayload(s string) int {
	if s == "" || s[0] != '(' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == ')':
			return i + 1
		case c != '_' && !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z'):
			return 0
		}
	}
	return 0
}

func isHexDigit(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// mantissa is the length of digits with at most one point, 0 without a digit.
func mantissa(s string, digit func(byte) bool) int {
	n, digits, point := 0, 0, false
	for ; n < len(s); n++ {
		switch {
		case digit(s[n]):
			digits++
		case s[n] == '.' && !point:
			point = true
		default:
			if digits == 0 {
				return 0
			}
			return n
		}
	}
	if digits == 0 {
		return 0
	}
	return n
}

// finish adds an exponent, if there is one behind the first n bytes, and converts.
func finish(s string, n int, mark byte) (int, float64) {
	end, exponent := n, false
	if i := n; i < len(s) && s[i]|0x20 == mark {
		if i++; i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		for ; i < len(s) && isDigit(s[i]); i++ {
			end, exponent = i+1, true
		}
	}
	text := s[:end]
	if mark == 'p' && !exponent {
		text += "p0"
	}
	f, _ := strconv.ParseFloat(text, 64) // what is out of range is infinity, in C too
	return end, f
}

// text reads a string.
func (d *jsonDecoder) text(t *jsonToken) {
	d.i++
	start, plain := d.i, true
	var out []byte
	for c := d.at(d.i); c != '"'; c = d.at(d.i) {
		switch {
		case c == 0:
			t.kind, t.at = jsonOpenText, d.i
			return
		case c != '\\':
			if !plain {
				out = append(out, c)
			}
			d.i++
			continue
		case plain:
			out, plain = append(make([]byte, 0, d.i-start+16), d.s[start:d.i]...), false
		}
		var bad jsonKind
		if out, bad = d.escape(out); bad != "" {
			t.kind, t.at = bad, d.i
			return
		}
	}
	t.kind, t.text = jsonString, d.s[start:d.i]
	if !plain {
		t.text = string(out)
	}
	d.i++
}

// escape appends what the escape at hand stands for.
func (d *jsonDecoder) escape(out []byte) ([]byte, jsonKind) {
	c := d.at(d.i + 1)
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 't':
		c = '\t'
	case 'n':
		c = '\n'
	case 'f':
		c = '\f'
	case 'r':
		c = '\r'
	case 'u':
		return d.unicode(out)
	default:
		return out, jsonBadEscape
	}
	d.i += 2
	return append(out, c), ""
}

// unicode appends \uXXXX, or a pair of them that stands for one character, as UTF-8.
func (d *jsonDecoder) unicode(out []byte) ([]byte, jsonKind) {
	high, ok := d.hex4(d.i + 2)
	if !ok {
		return out, jsonBadRune
	}
	if high < 0xd800 || high > 0xdfff {
		d.i += 6
		return utf8.AppendRune(out, high), ""
	}
	low, ok := d.hex4(d.i + 8)
	if high >= 0xdc00 || d.at(d.i+6) != '\\' || d.at(d.i+7) != 'u' || !ok || low < 0xdc00 || low > 0xdfff {
		return out, jsonBadRune
	}
	d.i += 12
	return utf8.AppendRune(out, 0x10000+(high-0xd800)<<10+(low-0xdc00)), ""
}

func (d *jsonDecoder) hex4(i int) (rune, bool) {
	if i+4 > len(d.s) {
		return 0, false
	}
	n := rune(0)
	for _, c := range []byte(d.s[i : i+4]) {
		if !isHexDigit(c) {
			return 0, false
		}
		digit := rune(c - '0')
		if c > '9' {
			digit = rune(c|0x20) - 'a' + 10
		}
		n = n<<4 + digit
	}
	return n, true
}
