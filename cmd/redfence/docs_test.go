package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	configurationDoc = "../../docs/configuration.md"
	tableBegin       = "<!-- flags: written by make docs -->\n"
	tableEnd         = "<!-- end of flags -->\n"
)

// update rewrites what is generated instead of comparing it: go test ./cmd/redfence -run TestConfigurationDoc -update.
var update = flag.Bool("update", false, "rewrite the flag table in docs/configuration.md")

func flagTable() string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	addServeFlags(flags)
	addConfigFlag(flags)
	var table strings.Builder
	table.WriteString("| flag and key | variable | default | meaning |\n|---|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		def := "none"
		if f.DefValue != "" && f.DefValue != "[]" {
			def = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(&table, "| `%s` | `%s` | %s | %s |\n", f.Name, variable(f.Name), def, f.Usage)
	})
	return table.String()
}

func TestConfigurationDocListsEveryFlag(t *testing.T) {
	text, err := os.ReadFile(configurationDoc)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), tableBegin)
	require.True(t, ok, "the table's first mark")
	table, after, ok := strings.Cut(rest, tableEnd)
	require.True(t, ok, "the table's last mark")
	if *update {
		text := before + tableBegin + flagTable() + tableEnd + after
		require.NoError(t, os.WriteFile(configurationDoc, []byte(text), 0o644))
		return
	}
	assert.Equal(t, flagTable(), table, "run make docs")
}
