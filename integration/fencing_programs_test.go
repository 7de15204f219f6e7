package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/integration/harness"
)

// TestRecipesOfClients runs the programs of docs/fencing.md as they stand there, in both modes.
func TestRecipesOfClients(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out the client programs")
	}
	programs := buildClients(t)
	tests := map[string]struct {
		client, language, file string
		run                    []string
		want                   string
	}{
		"java": {
			"redisson", "java", "FencedStock.java", words("java -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp clients/redisson/target/lib/*"),
			"RFencedLock 1 1 0\nRLock 1 1 0\n",
		},
		"python": {"python", "python", "fenced_stock.py", words("clients/python/.venv/bin/python"), "redis-py 1 1 0\n"},
		"node":   {"node", "js", "fenced-stock.mjs", words("node"), "node-redis 1 1 0\n"},
	}
	eachMode(t, func(t *testing.T, redfence *harness.Server) {
		for name, tc := range tests {
			t.Run(name, func(t *testing.T) {
				programs.need(t, tc.client)
				dir := recipeDir(t, tc.client)
				program, shop := filepath.Join(dir, tc.file), filepath.Join(t.TempDir(), "shop.db")
				require.NoError(t, os.WriteFile(program, []byte(recipes(t, tc.language, tc.file)), 0o600))
				db := openDatabase(t, "sqlite", shop)
				mustExec(t, db, stockTable, "INSERT INTO stock (id, amount) VALUES ('widget', 10), ('gadget', 10)")
				source := shop
				if name == "java" {
					source = "jdbc:sqlite:" + shop
				}
				run := execClient(append(tc.run, program, "redis://"+redfence.Addr, source)...)
				require.NoError(t, run.err, "%s", run.stderr)
				assert.Equal(t, tc.want, run.stdout)
				if name != "node" { // which has no database
					wantStock(t, db, 8)
				}
			})
		}
	})
}

// recipeDir is where a program is put: Node finds its packages in a directory above the program only.
func recipeDir(t *testing.T, client string) string {
	t.Helper()
	if client != "node" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("clients/node/node_modules", "recipe-") //nolint:usetesting // see above
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
