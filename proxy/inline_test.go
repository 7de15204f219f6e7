package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/commands/resp"
)

func TestSplitInline(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
		err  error
	}{
		"words":                         {" SET\ta   b ", []string{"SET", "a", "b"}, nil},
		"nothing":                       {" \t", nil, nil},
		"double quotes":                 {`SET "a b" ""`, []string{"SET", "a b", ""}, nil},
		"escapes":                       {`"\n\r\t\b\a\\\"\q"`, []string{"\n\r\t\b\a\\\"q"}, nil},
		"hexadecimal":                   {`"\x00\xfF\xzz"`, []string{"\x00\xffxzz"}, nil},
		"single quotes":                 {`'a "b" \n \' '`, []string{`a "b" \n ' `}, nil},
		"a quote inside a word":         {`ab"c d"`, []string{"abc d"}, nil},
		"text behind a quote":           {`"a"b`, nil, resp.ErrQuotes},
		"no closing double quote":       {`"a`, nil, resp.ErrQuotes},
		"no closing single quote":       {`'a`, nil, resp.ErrQuotes},
		"a backslash at the end":        {`"a\`, nil, resp.ErrQuotes},
		"a backslash outside of quotes": {`a\n`, []string{`a\n`}, nil},
		"a zero byte ends the line":     {"a b\x00 c", []string{"a", "b"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			words, err := splitInline(tt.text)
			require.Equal(t, tt.want, words)
			require.Equal(t, tt.err, err)
		})
	}
}
