package glob

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"***", "abc", true},
		{"a*", "abc", true},
		{"a*c", "abcbc", true},
		{"a*c", "abcb", false},
		{"*b*c*", "aabxcx", true},
		{"?", "", false},
		{"?", "ab", false},
		{"h?llo", "hello", true},
		{"h[ae]llo", "hallo", true},
		{"h[ae]llo", "hillo", false},
		{"h[^e]llo", "hello", false},
		{"h[^e]llo", "hallo", true},
		{"h[a-c]llo", "hbllo", true},
		{"h[c-a]llo", "hbllo", true},
		{"h[a-c]llo", "hdllo", false},
		{"[a-]", "-", false}, // a range from a to ], in a class without end
		{"[a-]", "]", true},
		{"[]", "]", false},
		{"[\\]]", "]", true},
		{"[abc", "b", true},
		{"[^abc", "d", true},
		{"[", "[", false},
		{"[^", "a", true},
		{"\\*", "*", true},
		{"\\*", "a", false},
		{"a\\", "a\\", true},
		{"\\", "\\", true},
		{"A", "a", false},
		{"redisson_lock__channel:*", "redisson_lock__channel:{orders}", true},
		{"__keyevent@*__:expired", "__keyevent@0__:expired", true},
	}
	for _, tt := range tests {
		t.Run(tt.pattern+" on "+tt.s, func(t *testing.T) {
			require.Equal(t, tt.want, Match(tt.pattern, tt.s))
		})
	}
}

// A pattern of many stars takes exponential time when every star is tried again.
func TestMatchIsNotExponential(t *testing.T) {
	require.False(t, Match(strings.Repeat("a*", 5_000)+"b", strings.Repeat("a", 5_000)))
}

// FuzzMatch compares Match with the recursive definition of a star.
func FuzzMatch(f *testing.F) {
	f.Add("a*b?[c-e]\\*", "axxbyd*")
	f.Add("[^a-", "b")
	f.Add("*[\\]*]*", "x]")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if strings.Count(pattern, "*") > 6 || len(s) > 64 {
			return // the definition takes exponential time
		}
		require.Equal(t, defined(pattern, s), Match(pattern, s))
	})
}

func defined(pattern, s string) bool {
	switch {
	case pattern == "":
		return s == ""
	case pattern[0] == '*':
		return defined(pattern[1:], s) || (s != "" && defined(pattern, s[1:]))
	case s == "":
		return false
	}
	size, ok := one(pattern, s[0])
	return ok && defined(pattern[size:], s[1:])
}
