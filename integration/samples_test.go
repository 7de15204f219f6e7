package integration

import (
	"database/sql"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // a database without a server

	"github.com/redfence/redfence/integration/harness"
	"github.com/redfence/redfence/integration/matrix"
)

const samplesDoc = "../docs/samples.md"

var (
	springSamples = words(`set-if-absent string-reentry starter-try-lock red-lock-once red-lock-five-times multi-lock-five-clients`)
	goSamples     = cross(words(`resp2 resp3`), cross(words(`choosing`), words(`
		lock-by-hand redsync-readme redsync-five-times stock idempotency-key single-flight`)))
)

// samplesOfSpring is their program; the option says how it finds its server.
func samplesOfSpring(option string) []string {
	return words("java -Xmx512m -cp clients/spring/target/classes:clients/spring/target/lib/* samples.Samples " + option)
}

// TestSamplePrograms runs the samples of docs/samples.md in both modes.
func TestSamplePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out the client programs")
	}
	programs := buildClients(t)
	eachMode(t, func(t *testing.T, redfence *harness.Server) {
		backend := path.Base(t.Name())
		t.Run("spring", func(t *testing.T) {
			programs.need(t, "spring")
			mark(t, "spring", backend, matrix.Direct)
			runClient(t, springSamples, append(samplesOfSpring("--addr"), redfence.Addr)...)
		})
		t.Run("golang", func(t *testing.T) {
			programs.need(t, "golang")
			runClient(t, goSamples, "clients/golang/target/suite", "-addr", redfence.Addr, "-suite", "choosing")
		})
	})
}

// TestClientSamplesOfSpring runs Spring's samples on the backends that are not those of TestSamplePrograms.
func TestClientSamplesOfSpring(t *testing.T) {
	onlyInLongRun(t)
	if b := clientBackend(t).name; b == "raft" || b == "quorum3" {
		t.Skipf("skipped: TestSamplePrograms runs them on %s", b)
	}
	buildClients(t).need(t, "spring")
	exercises(t, "spring")
	runClient(t, springSamples, append(samplesOfSpring("--addr"), startServer(t))...)
}

// TestSamplesAreWhatRuns compares the samples in the document with the programs that the tests run.
func TestSamplesAreWhatRuns(t *testing.T) {
	text, err := os.ReadFile(samplesDoc)
	require.NoError(t, err)
	samples := regexp.MustCompile("(?s)<!-- sample: (\\S+) -->\n```[a-z]*\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	assert.Len(t, samples, strings.Count(string(text), "```")/2, "each sample names its program")
	assert.Greater(t, len(samples), 8)
	for _, s := range samples {
		program, err := os.ReadFile(s[1])
		require.NoError(t, err)
		assert.Contains(t, withoutIndentation(string(program)), withoutIndentation(s[2]), "%s", s[1])
	}
}

func withoutIndentation(text string) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		lines.WriteString(strings.TrimSpace(line) + "\n")
	}
	return lines.String()
}

// addUser is the sample of a unique constraint.
func addUser(db *sql.DB, name string) error {
	_, err := db.Exec("INSERT INTO users (name) VALUES (?)", name) // the table says: name TEXT NOT NULL UNIQUE
	return err
}

func TestUniqueConstraintInPlaceOfALock(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "shop.db")+"?_pragma=busy_timeout(20000)")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)")
	require.NoError(t, err)
	var added atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			if err := addUser(db, "ann"); err == nil {
				added.Add(1)
			} else {
				assert.ErrorContains(t, err, "UNIQUE constraint failed")
			}
		})
	}
	callers.Wait()
	assert.EqualValues(t, 1, added.Load())
}
