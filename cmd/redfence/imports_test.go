package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/redfence/redfence"

// mayImport says which of the module's packages the non-test files of each one may import. A trailing /... stands
// for a package and all below it. This is the map in CONTRIBUTING.md; a new package needs a row.
var mayImport = map[string][]string{
	"cmd/redfence":       {"commands", "proxy/...", "raftstore/..."},
	"proxy":              {"commands/...", "proxy/hub", "proxy/wait"},
	"proxy/hub":          {"commands/..."},
	"proxy/wait":         {"commands/..."},
	"proxy/ops":          {},
	"commands":           {"commands/..."},
	"commands/args":      {"commands/resp"},
	"commands/glob":      {},
	"commands/resp":      {},
	"raftstore":          {"commands/...", "raftstore/...", "fencing"},
	"raftstore/entry":    {"commands/..."},
	"raftstore/keyspace": {"commands/...", "fencing"},
	"raftstore/script":   {"commands/..."},
	"fencing":            {},
}

// confined says which packages may import a third party, by the beginning of its import path.
var confined = map[string][]string{
	"github.com/spf13/":          {"cmd/redfence"},
	"github.com/go-viper/":       {"cmd/redfence"},
	"go.yaml.in/":                {"cmd/redfence"},
	"go.uber.org/":               {"cmd/redfence"},
	"github.com/redis/go-redis/": {"cmd/redfence"},
	"github.com/tidwall/redcon":  {"proxy"},
	"github.com/prometheus/":     {"proxy/ops"},
	"github.com/hashicorp/":      {"raftstore"},
	"go.etcd.io/bbolt":           {"raftstore"},
	"github.com/gofrs/flock":     {"raftstore"},
	"github.com/yuin/gopher-lua": {"raftstore/script"},
	"github.com/stretchr/":       {},
	"github.com/anishathalye/":   {},
	"pgregory.net/rapid":         {},
	"github.com/rogpeppe/":       {},
	"go.uber.org/goleak":         {},
}

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	for pkg, imports := range listImports(t) {
		if strings.HasPrefix(pkg, "integration") {
			continue // tests only; they may use anything
		}
		allowed, known := mayImport[pkg]
		if !assert.True(t, known, "package %s is not on the map", pkg) {
			continue
		}
		for _, imported := range imports {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
				assert.True(t, matches(ours, allowed), "%s must not import %s", pkg, ours)
				continue
			}
			for prefix, owners := range confined {
				if strings.HasPrefix(imported, prefix) {
					assert.Contains(t, owners, pkg, "%s must not import %s", pkg, imported)
				}
			}
		}
	}
}

// Two branches of the tree never meet but in cmd; the map above must not be widened by accident.
func TestTheMapKeepsFrontAndBackendsApart(t *testing.T) {
	t.Parallel()
	for pkg, allowed := range mayImport {
		if strings.HasPrefix(pkg, "proxy") {
			assert.False(t, matches("raftstore", allowed) || matches("quorum", allowed), "%s knows a backend", pkg)
		}
		if strings.HasPrefix(pkg, "commands") {
			assert.False(t, matches("proxy", allowed) || matches("raftstore", allowed), "%s knows its users", pkg)
		}
	}
}

func matches(pkg string, patterns []string) bool {
	for _, pattern := range patterns {
		tree, whole := strings.CutSuffix(pattern, "/...")
		if pkg == tree || whole && strings.HasPrefix(pkg, tree+"/") {
			return true
		}
	}
	return false
}

// listImports returns the imports of each package's non-test files, by the package's path within the module.
func listImports(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"/...").Output()
	require.NoError(t, err)
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		imports[strings.TrimPrefix(words[0], module+"/")] = words[1:]
	}
	require.Contains(t, imports, "cmd/redfence")
	return imports
}
