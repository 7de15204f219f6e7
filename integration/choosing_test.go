package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/integration/harness"
)

// sample is a block of commands and their replies, as they stand in the documentation.
type sample struct {
	heading string
	lines   []string // commands and replies in turn
}

// samplesOf reads the blocks that are marked as redis.
func samplesOf(text string) (samples []sample) {
	heading, inside := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "## "):
			heading = line[3:]
		case line == "```redis":
			inside = true
			samples = append(samples, sample{heading: heading})
		case line == "```":
			inside = false
		case inside:
			last := &samples[len(samples)-1]
			last.lines = append(last.lines, line)
		}
	}
	return samples
}

// wordsOf splits a command line; double quotes hold words together.
func wordsOf(line string) (words []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// TestSamplesOfChoosing runs the blocks of docs/choosing.md in both modes.
func TestSamplesOfChoosing(t *testing.T) {
	text, err := os.ReadFile("../docs/choosing.md")
	require.NoError(t, err)
	samples := samplesOf(string(text))
	require.NotEmpty(t, samples)
	for _, mode := range []struct {
		name string
		addr func() string
	}{
		{"raft", func() string { return harness.StartRedfence(t).Addr }},
		{"quorum", func() string { return harness.StartQuorum(t, 3).Addr }},
	} {
		addr := mode.addr()
		for _, s := range samples {
			t.Run(mode.name+"/"+s.heading, func(t *testing.T) {
				c := harness.Dial(t, addr)
				for i := 0; i+1 < len(s.lines); i += 2 {
					command, isCommand := strings.CutPrefix(s.lines[i], "> ")
					require.True(t, isCommand, s.lines[i])
					assert.Equal(t, s.lines[i+1], c.Do(wordsOf(command)...).String(), command)
				}
			})
		}
	}
}
