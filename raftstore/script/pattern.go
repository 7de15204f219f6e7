package script

import "strings"

// The matcher of Lua 5.1 patterns (https://www.lua.org/manual/5.1/manual.html#5.4.1). It is here and not the library's
// because backtracking must be charged: each step of a match costs one step of the budget.

const (
	maxCaptures     = 32
	maxMatchDepth   = 200
	specials        = "^$*+?.([%-"
	capturePosition = -2
	captureOpen     = -1
)

type capture struct{ start, len int }

// matcher matches one pattern at positions of one subject. An error ends it: fail does not return.
type matcher struct {
	src, pat string
	level    int
	captures [maxCaptures]capture
	depth    int
	step     func() // charges; panics when the budget is spent
	fail     func(text string)
}

// classEnd returns the index behind the single-character class that begins at p.
func (ms *matcher) classEnd(p int) int {
	c := ms.pat[p]
	p++
	switch c {
	case '%':
		if p >= len(ms.pat) {
			ms.fail("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		return ms.setEnd(p)
	}
	return p
}

func (ms *matcher) setEnd(p int) int {
	if p < len(ms.pat) && ms.pat[p] == '^' {
		p++
	}
	for first := true; first || p >= len(ms.pat) || ms.pat[p] != ']'; first = false {
		if p >= len(ms.pat) {
			ms.fail("malformed pattern (missing ']')")
		}
		c := ms.pat[p]
		p++
		if c == '%' && p < len(ms.pat) {
			p++
		}
	}
	return p + 1
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isPunct(c byte) bool { return c > ' ' && c < 0x7f && !isAlpha(c) && !isDigit(c) }

// matchClass tells whether c belongs to the class with the letter cl; a capital letter is the complement.
func matchClass(c, cl byte) bool {
	var in bool
	switch cl | 0x20 {
	case 'a':
		in = isAlpha(c)
	case 'c':
		in = c < ' ' || c == 0x7f
	case 'd':
		in = isDigit(c)
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = isPunct(c)
	case 's':
		in = isSpace(c)
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = isAlpha(c) || isDigit(c)
	case 'x':
		in = isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return cl == c
	}
	if !isAlpha(cl) {
		return cl == c
	}
	return in == (cl&0x20 != 0)
}

// matchSet tells whether c is in the set between p (at its "[") and end (at its "]").
func (ms *matcher) matchSet(c byte, p, end int) bool {
	found := true
	p++
	if ms.pat[p] == '^' {
		found = false
		p++
	}
	for ; p < end; p++ {
		ms.step()
		switch {
		case ms.pat[p] == '%' && p+1 < len(ms.pat):
			p++
			if matchClass(c, ms.pat[p]) {
				return found
			}
		case p+2 < end && ms.pat[p+1] == '-':
			if ms.pat[p] <= c && c <= ms.pat[p+2] {
				return found
			}
			p += 2
		case ms.pat[p] == c:
			return found
		}
	}
	return !found
}

// single tells whether the character at s matches the class from p to ep.
func (ms *matcher) single(s, p, ep int) bool {
	ms.step()
	if s >= len(ms.src) {
		return false
	}
	c := ms.src[s]
	switch ms.pat[p] {
	case '.':
		return true
	case '%':
		return matchClass(c, ms.pat[p+1])
	case '[':
		return ms.matchSet(c, p, ep-1)
	}
	return ms.pat[p] == c
}

// match matches the pattern from p on at s and returns the end of the match, or -1.
func (ms *matcher) match(s, p int) int {
	if ms.depth++; ms.depth > maxMatchDepth {
		ms.fail("pattern too complex")
	}
	defer func() { ms.depth-- }()
	for p < len(ms.pat) {
		ms.step()
		if end, done := ms.rest(s, p); done {
			return end
		}
		if ms.pat[p] == '%' {
			if next, end, ok := ms.escape(s, p); ok {
				if next < 0 {
					return -1
				}
				s, p = next, end
				continue
			}
		}
		ep := ms.classEnd(p)
		if ep < len(ms.pat) && ms.pat[ep] == '?' {
			if ms.single(s, p, ep) {
				if e := ms.match(s+1, ep+1); e >= 0 {
					return e
				}
			}
			p = ep + 1
			continue
		}
		if !ms.single(s, p, ep) {
			return -1
		}
		s, p = s+1, ep
	}
	return s
}

// rest matches what leaves nothing for the loop of match: captures, repetitions, the end of the subject.
func (ms *matcher) rest(s, p int) (end int, done bool) {
	switch ms.pat[p] {
	case '(':
		if p+1 < len(ms.pat) && ms.pat[p+1] == ')' {
			return ms.open(s, p+2, capturePosition), true
		}
		return ms.open(s, p+1, captureOpen), true
	case ')':
		return ms.close(s, p+1), true
	case '$':
		if p+1 == len(ms.pat) {
			if s == len(ms.src) {
				return s, true
			}
			return -1, true
		}
	case '%':
		if p+1 < len(ms.pat) && strings.IndexByte("bf0123456789", ms.pat[p+1]) >= 0 {
			return 0, false
		}
	}
	if ep := ms.classEnd(p); ep < len(ms.pat) && strings.IndexByte("*+-", ms.pat[ep]) >= 0 {
		return ms.repeat(s, p, ep), true
	}
	return 0, false
}

// escape handles %b, %f and %1 to %9; ok is false for other characters behind the "%".
func (ms *matcher) escape(s, p int) (next, end int, ok bool) {
	if p+1 >= len(ms.pat) {
		return 0, 0, false
	}
	switch c := ms.pat[p+1]; {
	case c == 'b':
		return ms.balance(s, p+2), p + 4, true
	case c == 'f':
		p += 2
		if p >= len(ms.pat) || ms.pat[p] != '[' {
			ms.fail("missing '[' after '%f' in pattern")
		}
		ep := ms.classEnd(p)
		var before, here byte
		if s > 0 {
			before = ms.src[s-1]
		}
		if s < len(ms.src) {
			here = ms.src[s]
		}
		if ms.matchSet(before, p, ep-1) || !ms.matchSet(here, p, ep-1) {
			return -1, 0, true
		}
		return s, ep, true
	case isDigit(c):
		return ms.backReference(s, c), p + 2, true
	}
	return 0, 0, false
}

func (ms *matcher) balance(s, p int) int {
	if p+1 >= len(ms.pat) {
		ms.fail("unbalanced pattern")
	}
	if s >= len(ms.src) || ms.src[s] != ms.pat[p] {
		return -1
	}
	open, closing, level := ms.pat[p], ms.pat[p+1], 1
	for s++; s < len(ms.src); s++ {
		ms.step()
		switch ms.src[s] {
		case closing:
			if level--; level == 0 {
				return s + 1
			}
		case open:
			level++
		}
	}
	return -1
}

func (ms *matcher) backReference(s int, c byte) int {
	i := int(c) - '1'
	if i < 0 || i >= ms.level || ms.captures[i].len == captureOpen {
		ms.fail("invalid capture index")
	}
	n := ms.captures[i].len
	if n < 0 || len(ms.src)-s < n {
		return -1
	}
	for j := 0; j < n; j += 64 {
		ms.step()
	}
	start := ms.captures[i].start
	if ms.src[start:start+n] != ms.src[s:s+n] {
		return -1
	}
	return s + n
}

// repeat matches "*", "+" (as many as possible) and "-" (as few as possible).
func (ms *matcher) repeat(s, p, ep int) int {
	switch ms.pat[ep] {
	case '-':
		for {
			if e := ms.match(s, ep+1); e >= 0 {
				return e
			}
			if !ms.single(s, p, ep) {
				return -1
			}
			s++
		}
	case '+':
		if !ms.single(s, p, ep) {
			return -1
		}
		s++
	}
	n := 0
	for ms.single(s+n, p, ep) {
		n++
	}
	for ; n >= 0; n-- {
		if e := ms.match(s+n, ep+1); e >= 0 {
			return e
		}
	}
	return -1
}

func (ms *matcher) open(s, p, kind int) int {
	if ms.level >= maxCaptures {
		ms.fail("too many captures")
	}
	ms.captures[ms.level] = capture{start: s, len: kind}
	ms.level++
	e := ms.match(s, p)
	if e < 0 {
		ms.level--
	}
	return e
}

func (ms *matcher) close(s, p int) int {
	i := ms.level - 1
	for ; i >= 0 && ms.captures[i].len != captureOpen; i-- {
	}
	if i < 0 {
		ms.fail("invalid pattern capture")
	}
	ms.captures[i].len = s - ms.captures[i].start
	e := ms.match(s, p)
	if e < 0 {
		ms.captures[i].len = captureOpen
	}
	return e
}
