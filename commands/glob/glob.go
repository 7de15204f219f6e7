// Package glob matches strings against the patterns of Redis, as in KEYS, PSUBSCRIBE and CONFIG GET
// (https://redis.io/docs/latest/commands/keys/). It is pure.
package glob

// Match tells whether all of s matches pattern: ? is any byte, * any number of bytes, [abc], [a-c] and [^a] one byte
// of a class, and a backslash takes the next byte as it is. It works on bytes.
//
// The time is bounded by len(pattern) * len(s), also for patterns of many stars: when the rest does not fit, only the
// last star is tried again, one byte further on. That is enough, since an earlier star could only take more bytes
// away from what the later one already searched through.
func Match(pattern, s string) bool {
	star, from := -1, 0 // where to go on when the rest does not match: behind the last star, at the byte after from
	p, i := 0, 0
	for {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			p++
			star, from = p, i
			continue
		case p == len(pattern) && i == len(s):
			return true
		case p < len(pattern) && i < len(s):
			if size, ok := one(pattern[p:], s[i]); ok {
				p += size
				i++
				continue
			}
		}
		if star < 0 || from == len(s) {
			return false
		}
		from++
		p, i = star, from
	}
}

// one matches c against the first element of pattern, which is not empty and no star, and returns that element's
// length.
func one(pattern string, c byte) (size int, ok bool) {
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		return class(pattern, c)
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
	}
	return 1, pattern[0] == c
}

// class matches c against a class such as [a-f_] at the start of pattern. As in Redis, the end of the pattern closes
// a class too, and the ends of a range may come in either order.
func class(pattern string, c byte) (size int, ok bool) {
	i := 1
	negated := i < len(pattern) && pattern[i] == '^'
	if negated {
		i++
	}
	for i < len(pattern) && pattern[i] != ']' {
		low, high, width := member(pattern[i:])
		ok = ok || (low <= c && c <= high)
		i += width
	}
	return min(i+1, len(pattern)), ok != negated
}

// member reads one element of a class: an escaped byte, a range or a byte.
func member(class string) (low, high byte, width int) {
	switch {
	case class[0] == '\\' && len(class) >= 2:
		return class[1], class[1], 2
	case len(class) >= 3 && class[1] == '-':
		return min(class[0], class[2]), max(class[0], class[2]), 3
	}
	return class[0], class[0], 1
}
