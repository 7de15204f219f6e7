package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnly wants a line that binds to the very request, since the log keeps lines.
func TestOnly(t *testing.T) {
	tests := map[string]string{
		"BLPOP a b c 1.5":                "BLPOP b 0",
		"bzpopmax b a 0":                 "bzpopmax b 0",
		"BLPOP b 7":                      "BLPOP b 7",
		"BLMOVE b t LEFT RIGHT 1":        "BLMOVE b t LEFT RIGHT 1",
		"BRPOPLPUSH b t 1":               "BRPOPLPUSH b t 1",
		"BLMPOP 1 2 a b LEFT":            "BLMPOP 0 1 b LEFT",
		"BZMPOP 1.5 3 a b c MAX COUNT 5": "BZMPOP 0 1 b MAX COUNT 5",
	}
	for line, want := range tests {
		t.Run(line, func(t *testing.T) {
			r, err := Bind(strings.Fields(line), 3)
			require.NoError(t, err)
			only := r.Only("b")
			require.Equal(t, want, strings.Join(only.Args, " "))
			again, err := Bind(only.Args, 3)
			require.NoError(t, err)
			got, _ := only.Waits()
			bound, _ := again.Waits()
			got.Timeout, bound.Timeout = 0, 0
			require.Equal(t, bound, got)
			require.Equal(t, 3, only.DB)
		})
	}
}
