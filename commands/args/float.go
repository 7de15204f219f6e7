package args

import (
	"math/big"
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// LongDouble is a float of C's type long double on x86: 64 bits of mantissa. Redis computes INCRBYFLOAT and
// HINCRBYFLOAT in it, so that 0.1 and 0.2 make 0.3. It is immutable.
type LongDouble struct{ f *big.Float }

const (
	mantissaBits  = 64
	longestNumber = 5 * 1024 // MAX_LONG_DOUBLE_CHARS of util.h
	maxExponent   = 16384    // the largest long double is below 2^16384
	minExponent   = -16444   // the smallest one is 2^-16445, whose mantissa in [0.5, 1) has this exponent
)

// ParseLongDouble parses a float as Redis's string2ld does: C notation, decimal or hexadecimal, "inf" allowed, no
// blanks, never NaN.
func ParseLongDouble(s string) (LongDouble, error) {
	f, ok := parseFloat(s)
	if !ok || tooSmallOrLarge(f) {
		return LongDouble{}, resp.ErrNotFloat
	}
	return LongDouble{f}, nil
}

func parseFloat(s string) (*big.Float, bool) {
	body := strings.TrimLeft(s, "+-")
	if s == "" || len(s) >= longestNumber || len(s)-len(body) > 1 {
		return nil, false
	}
	if Is(body, "INF") || Is(body, "INFINITY") {
		return new(big.Float).SetInf(s[0] == '-'), true
	}
	base, digits, mark := 10, "0123456789.eE+-", "eE"
	if len(body) > 1 && body[0] == '0' && (body[1] == 'x' || body[1] == 'X') {
		base, digits, mark = 0, "0123456789abcdefABCDEFxXpP.+-", "pP"
	}
	if strings.Trim(body, digits) != "" || hugeExponent(body, mark) {
		return nil, false
	}
	f, _, err := big.ParseFloat(s, base, mantissaBits, big.ToNearestEven)
	return f, err == nil
}

// hugeExponent tells whether the exponent has so many digits that to compute the number would take long. Such a
// number is out of range, or a zero written in an odd way.
func hugeExponent(s, mark string) bool {
	at := strings.LastIndexAny(s, mark)
	return at >= 0 && len(strings.TrimLeft(s[at+1:], "+-0")) > 5
}

func tooSmallOrLarge(f *big.Float) bool {
	if f.IsInf() || f.Sign() == 0 {
		return false
	}
	return f.MantExp(nil) > maxExponent || f.MantExp(nil) < minExponent
}

// IsInf tells whether the number is infinite.
func (d LongDouble) IsInf() bool { return d.f.IsInf() }

// Add returns d+e; ok is false when that is infinite, as when one of the two is.
func (d LongDouble) Add(e LongDouble) (sum LongDouble, ok bool) {
	if d.IsInf() || e.IsInf() {
		return LongDouble{}, false
	}
	f := new(big.Float).SetPrec(mantissaBits).Add(d.f, e.f)
	return LongDouble{f}, f.Sign() == 0 || f.MantExp(nil) <= maxExponent
}

// String writes the number as Redis does for people: 17 decimals, without trailing zeros.
func (d LongDouble) String() string {
	s := strings.TrimRight(d.f.Text('f', 17), "0")
	s = strings.TrimSuffix(s, ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// IncrByFloat parses INCRBYFLOAT key n.
func IncrByFloat(line []string) (LongDouble, error) { return ParseLongDouble(line[2]) }
