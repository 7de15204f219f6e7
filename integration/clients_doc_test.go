package integration

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redfence/redfence/integration/matrix"
)

const (
	clientsDoc     = "../docs/clients.md"
	clientsResults = "../docs/results/clients.json"
)

// update rewrites what is generated instead of comparing it: go test ./integration -run TestDocOfClients -update.
var update = flag.Bool("update", false, "rewrite docs/clients.md")

// exercises makes a test a run of a client, connected directly, for docs/clients.md. What redis-server does has no place there.
func exercises(t *testing.T, name string) {
	t.Helper()
	if !onRedis() {
		mark(t, name, clientBackend(t).name, matrix.Direct)
	}
}

// mark fails a test of a client that docs/clients.md does not list.
func mark(t *testing.T, name, backend, way string) {
	t.Helper()
	row, known := matrix.Find(name)
	require.True(t, known, "docs/clients.md has no row for %s", name)
	version, err := row.Version("clients")
	require.NoError(t, err)
	t.Attr(matrix.Attribute, matrix.Run{Client: row.ID, Version: version, Backend: backend, Way: way}.String())
}

// TestDocOfClients shows that docs/clients.md is what the rows and the results give.
func TestDocOfClients(t *testing.T) {
	results, err := matrix.Load(clientsResults)
	require.NoError(t, err)
	versions, err := matrix.Versions("clients", results)
	require.NoError(t, err)
	doc := matrix.Render(results, versions)
	if *update {
		require.NoError(t, os.WriteFile(clientsDoc, []byte(doc), 0o644))
		return
	}
	text, err := os.ReadFile(clientsDoc)
	require.NoError(t, err)
	assert.Equal(t, doc, string(text), "run make docs")
}

// TestRowsOfClientsHaveResults refuses a client, or a new version of one, that docs/clients.md would show without a run.
func TestRowsOfClientsHaveResults(t *testing.T) {
	results, err := matrix.Load(clientsResults)
	require.NoError(t, err)
	versions, err := matrix.Versions("clients", results)
	require.NoError(t, err)
	for _, missing := range matrix.Missing(results, versions) {
		t.Error(missing)
	}
}

// TestClientProgramsHaveRows shows that docs/clients.md leaves out no client program and no library that the suites run.
func TestClientProgramsHaveRows(t *testing.T) {
	programs := map[string]bool{"resource": true, "java": true} // what the locks guard, and what the Java programs share, is no client
	for _, row := range matrix.Rows() {
		programs[row.Program] = true
	}
	entries, err := os.ReadDir("clients")
	require.NoError(t, err)
	for _, e := range entries {
		assert.True(t, !e.IsDir() || programs[e.Name()], "clients/%s has no row", e.Name())
	}
	for _, libraries := range [][]library{nodeLibraries, goLibraries, pythonLibraries, jvmLibraries, springLibraries, phpLibraries, rubyLibraries, rustLibraries} {
		for _, lib := range libraries {
			for _, v := range lib.variants {
				row, known := matrix.Find(lib.name + "-" + v.name)
				assert.True(t, known && row.Program == lib.program, "%s %s has no row", lib.name, v.name)
			}
		}
	}
	for _, s := range storytellers {
		row, known := matrix.Find(s.client)
		assert.True(t, known && row.Program == programOf[s.client] && row.Sentinels != "", "%s has no row", s.client)
	}
}
