package args

import (
	"math"
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// Float parses a double as Redis's string2d does: C notation, decimal or hexadecimal, "inf" allowed, no blanks, never
// NaN, neither too large nor too small.
func Float(s string) (float64, error) {
	f, ok := strtod(s)
	if !ok || (math.IsInf(f, 0) && !namesInfinity(s)) || (f == 0 && !namesZero(s)) {
		return 0, resp.ErrNotFloat
	}
	return f, nil
}

// strtod reads a whole string as C does in its plain locale, but not NaN. What is too large becomes infinite.
func strtod(s string) (float64, bool) {
	if strings.Contains(s, "_") {
		return 0, false
	}
	if isHex(s) && !strings.ContainsAny(s, "pP") {
		s += "p0" // C does without the exponent
	}
	f, err := strconv.ParseFloat(s, 64)
	if math.IsNaN(f) || (err != nil && !math.IsInf(f, 0)) {
		return 0, false
	}
	return f, true
}

func isHex(s string) bool {
	s = strings.ToLower(strings.TrimLeft(s, "+-"))
	return strings.HasPrefix(s, "0x")
}

func namesInfinity(s string) bool { return strings.ContainsAny(s, "nN") }

// namesZero tells whether all digits before the exponent are 0.
func namesZero(s string) bool {
	digits, exponent := "123456789", "eE"
	if isHex(s) {
		digits, exponent = "123456789abcdefABCDEF", "pP"
	}
	if at := strings.IndexAny(s, exponent); at >= 0 {
		s = s[:at]
	}
	return !strings.ContainsAny(s, digits)
}
