package script

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// directive is one conversion of string.format, such as %-5.2f.
type directive struct {
	flags     string
	width     int
	precision int // -1: none
	verb      byte
}

func stringFormat(a args) int {
	format := a.str(1)
	a.m.take(a.l, int64(len(format))/16, 0)
	var out []byte
	arg := 1
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out = append(out, format[i])
			continue
		}
		if i++; i < len(format) && format[i] == '%' {
			out = append(out, '%')
			continue
		}
		d, n := a.directive(format[i:])
		i += n - 1
		arg++
		before := len(out)
		out = a.convert(out, d, arg)
		a.m.take(a.l, 4+int64(len(out)-before)/16, int64(len(out)-before))
	}
	a.m.makes(a.l, int64(len(out)))
	a.l.Push(lua.LString(out))
	return 1
}

// directive reads what stands behind a "%" and returns its length. Width and precision have two digits at most.
func (a args) directive(s string) (directive, int) {
	d := directive{precision: -1}
	i := 0
	for i < len(s) && strings.IndexByte("-+ #0", s[i]) >= 0 {
		i++
	}
	if i > 5 {
		a.m.raise(a.l, "invalid format (repeated flags)")
	}
	d.flags = s[:i]
	d.width, i = twoDigits(s, i)
	if i < len(s) && s[i] == '.' {
		d.precision, i = twoDigits(s, i+1)
	}
	if i < len(s) && isDigit(s[i]) {
		a.m.raise(a.l, "invalid format (width or precision too long)")
	}
	if i < len(s) {
		d.verb = s[i]
		i++
	}
	return d, i
}

func twoDigits(s string, i int) (n, next int) {
	for end := i + 2; i < end && i < len(s) && isDigit(s[i]); i++ {
		n = 10*n + int(s[i]-'0')
	}
	return n, i
}

func (a args) convert(out []byte, d directive, arg int) []byte {
	if arg > a.l.GetTop() {
		a.fails(arg, "no value")
	}
	switch d.verb {
	case 'c':
		return append(out, d.pad(string([]byte{byte(a.integer(arg))}))...)
	case 'd', 'i':
		return append(out, d.integer(a.integer(arg))...)
	case 'o', 'u', 'x', 'X':
		return append(out, d.unsigned(a.num(arg))...)
	case 'e', 'E', 'f', 'g', 'G':
		return append(out, d.float(a.num(arg))...)
	case 'q':
		return quote(out, a.str(arg))
	case 's':
		s := a.str(arg)
		if d.precision < 0 && len(s) >= 100 {
			a.m.makes(a.l, int64(len(s)))
			return append(out, s...)
		}
		if i := strings.IndexByte(s, 0); i >= 0 {
			s = s[:i]
		}
		if d.precision >= 0 && len(s) > d.precision {
			s = s[:d.precision]
		}
		return append(out, d.pad(s)...)
	}
	opt := ""
	if d.verb != 0 {
		opt = string([]byte{d.verb})
	}
	a.m.raisef(a.l, "invalid option '%%%s' to 'format'", opt)
	return out
}

// pad brings a text to the width, in bytes.
func (d directive) pad(s string) string {
	if len(s) >= d.width {
		return s
	}
	space := strings.Repeat(" ", d.width-len(s))
	if strings.Contains(d.flags, "-") {
		return s + space
	}
	return space + s
}

// verb is the conversion in the words of package fmt. C ignores "0" next to "-" and, for integers, next to a precision.
func (d directive) spec(verb byte, integer bool) string {
	flags := d.flags
	if strings.Contains(flags, "-") || integer && d.precision >= 0 {
		flags = strings.ReplaceAll(flags, "0", "")
	}
	spec := "%" + flags
	if d.width > 0 {
		spec += fmt.Sprint(d.width)
	}
	if d.precision >= 0 {
		spec += "." + fmt.Sprint(d.precision)
	}
	return spec + string([]byte{verb})
}

func (d directive) integer(n int64) string {
	if d.precision == 0 && n == 0 {
		return d.pad("")
	}
	return fmt.Sprintf(d.spec('d', true), n)
}

func (d directive) unsigned(f float64) string {
	n := uint64(toInt64(f))
	if f >= 1<<63 && f < 1<<64 {
		n = uint64(f)
	}
	if n == 0 {
		d.flags = strings.ReplaceAll(d.flags, "#", "")
		if d.precision == 0 {
			return d.pad("")
		}
	}
	d.flags = strings.NewReplacer("+", "", " ", "").Replace(d.flags)
	verb := d.verb
	if verb == 'u' {
		verb = 'd'
		d.flags = strings.ReplaceAll(d.flags, "#", "")
	}
	return fmt.Sprintf(d.spec(verb, true), n)
}

func (d directive) float(f float64) string {
	if s, ok := formatSpecial(f); ok {
		if strings.Contains(d.flags, "+") && s[0] != '-' {
			s = "+" + s
		}
		if d.verb == 'E' || d.verb == 'G' {
			s = strings.ToUpper(s)
		}
		return d.pad(s)
	}
	if d.precision < 0 {
		d.precision = 6
	}
	return fmt.Sprintf(d.spec(d.verb, false), f)
}

// quote writes a string so that Lua reads it back.
func quote(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, `\r`...)
		case 0:
			out = append(out, `\000`...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
