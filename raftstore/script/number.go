package script

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// formatNumber writes a number as Lua 5.1 does for tostring and "..": C's "%.14g". The sign of a NaN depends on the
// processor, so there is one text for all: that of 0/0 on x86.
func formatNumber(n lua.LNumber) string { return formatG(float64(n), 14) }

// formatArg writes a number as redis.call passes it on: "%.17g", which prints integers below 1e17 without exponent.
func formatArg(n lua.LNumber) string { return formatG(float64(n), 17) }

func formatG(f float64, precision int) string {
	if i := int64(f); float64(i) == f && i > -1e14 && i < 1e14 && (i != 0 || !math.Signbit(f)) {
		return strconv.FormatInt(i, 10)
	}
	if s, ok := formatSpecial(f); ok {
		return s
	}
	return strconv.FormatFloat(f, 'g', precision, 64)
}

func formatSpecial(f float64) (string, bool) {
	switch {
	case math.IsNaN(f):
		return "-nan", true
	case math.IsInf(f, 1):
		return "inf", true
	case math.IsInf(f, -1):
		return "-inf", true
	}
	return "", false
}

// isSpace is C's isspace in the C locale.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func trimSpace(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// parseNumber reads a number as Lua 5.1 on glibc does: C's strtod, white space around it, hexadecimal with or without
// exponent, "inf" and "nan"; octal and digit separators are unknown.
func parseNumber(s string) (lua.LNumber, bool) {
	s, _, _ = strings.Cut(s, "\x00") // a C string
	s = trimSpace(s)
	if s == "" || strings.IndexByte(s, '_') >= 0 || len(s) > 4096 {
		return 0, false
	}
	body := strings.TrimLeft(s, "+-")
	if len(s)-len(body) > 1 {
		return 0, false
	}
	if len(body) > 1 && body[0] == '0' && (body[1] == 'x' || body[1] == 'X') && !strings.ContainsAny(body, "pP") {
		s += "p0" // Go wants an exponent behind a hexadecimal mantissa
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) { // out of range is infinity in C, too
		return 0, false
	}
	return lua.LNumber(f), true
}

// toNumber converts as lua_tonumber does: numbers and numeric strings.
func toNumber(v lua.LValue) (lua.LNumber, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return v, true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

// toText converts as lua_tolstring does: strings and numbers.
func toText(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return formatNumber(v), true
	}
	return "", false
}

// toInt64 converts as C does on x86-64: toward zero, and what does not fit is the smallest integer.
func toInt64(f float64) int64 {
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}
