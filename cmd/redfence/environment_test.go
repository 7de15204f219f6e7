package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWrongVariablesAreNamed(t *testing.T) {
	tests := []struct {
		name, variable, value string
		args                  []string
		want                  []string // parts of the message; none when it is accepted
	}{
		{"size", "REDFENCE_MAX_MEMORY", "xx", nil, []string{`REDFENCE_MAX_MEMORY is "xx"`, "size", "1gb"}},
		{"number", "REDFENCE_MAX_CLIENTS", "many", nil, []string{`REDFENCE_MAX_CLIENTS is "many"`, "int", "10000"}},
		{"duration", "REDFENCE_NODE_TIMEOUT", "100", nil, []string{`REDFENCE_NODE_TIMEOUT is "100"`, "100ms"}},
		{"bool", "REDFENCE_INSECURE", "maybe", nil, []string{`REDFENCE_INSECURE is "maybe"`}},
		{"empty size", "REDFENCE_MAX_MEMORY", "", nil, []string{`REDFENCE_MAX_MEMORY is ""`}},
		{"empty bool", "REDFENCE_INSECURE", "", nil, nil},
		{"overridden by a flag", "REDFENCE_MAX_MEMORY", "xx", []string{"--max-memory", "1gb"}, nil},
		{"right", "REDFENCE_MAX_MEMORY", "2gb", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(tt.variable, tt.value)
			_, err := parse(t, "", tt.args...)
			if tt.want == nil {
				require.NoError(t, err)
			}
			for _, part := range tt.want {
				assert.ErrorContains(t, err, part)
			}
		})
	}
}

func TestStrayVariables(t *testing.T) {
	tests := []struct {
		name, entry string
		want        []string
	}{
		{"letters exchanged", "REDFENCE_MAX_MEMROY=1gb", []string{"REDFENCE_MAX_MEMROY (did you mean REDFENCE_MAX_MEMORY?)"}},
		{"a letter missing", "REDFENCE_PASWORD=x", []string{"REDFENCE_PASWORD (did you mean REDFENCE_PASSWORD?)"}},
		{"a stroke missing", "REDFENCE_DATADIR=x", []string{"REDFENCE_DATADIR (did you mean REDFENCE_DATA_DIR?)"}},
		{"nothing like it", "REDFENCE_COLOUR=x", []string{"REDFENCE_COLOUR"}},
		{"a flag of serve", "REDFENCE_MAX_MEMORY=1gb", nil},
		{"a flag of the subcommands", "REDFENCE_ADDR=x", nil},
		{"the file", "REDFENCE_CONFIG=x", nil},
		{"another program's", "REDFENCER_PASWORD=x", nil},
		{"a service of Kubernetes", "REDFENCE_PORT_6380_TCP_ADDR=10.0.0.1", nil},
		{"its host", "REDFENCE_SERVICE_HOST=10.0.0.1", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, strayVariables([]string{"HOME=/", tt.entry}))
		})
	}
}

func TestDifferences(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		assert.Equal(t, tt.want, differences(tt.a, tt.b), "%s and %s", tt.a, tt.b)
	}
}

// TestListenOnTheFamilyThatWasAsked keeps the ready line from showing [::] where 0.0.0.0 was given.
func TestListenOnTheFamilyThatWasAsked(t *testing.T) {
	for address, want := range map[string]string{"0.0.0.0:0": "0.0.0.0:", "127.0.0.1:0": "127.0.0.1:"} {
		l, err := listen("listen", address)
		require.NoError(t, err)
		assert.Contains(t, l.Addr().String(), want)
		require.NoError(t, l.Close())
	}
}
