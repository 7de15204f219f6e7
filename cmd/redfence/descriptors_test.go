package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestTooFewDescriptorsAreToldOf(t *testing.T) {
	tests := map[string]struct {
		limit   uint64
		clients int
		warned  bool
	}{
		"room for all":           {20_000, 10_000, false},
		"just enough":            {10_032, 10_000, false},
		"one too few":            {10_031, 10_000, true},
		"the usual soft limit":   {1024, 10_000, true},
		"a system without limit": {0, 10_000, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			warnOfFewDescriptors(slog.New(slog.NewTextHandler(&out, nil)), test.limit, test.clients)
			if warned := strings.Contains(out.String(), "--max-clients"); warned != test.warned {
				t.Errorf("logged %q", out.String())
			}
		})
	}
}
