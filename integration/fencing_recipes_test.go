package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // PostgreSQL
	_ "modernc.org/sqlite"

	"github.com/redfence/redfence/fencing"
	"github.com/redfence/redfence/integration/harness"
)

// recipes are the code blocks of docs/fencing.md in a language. The tests run them as they stand there.
func recipes(t *testing.T, language, mark string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/fencing.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], mark) {
			return block[1]
		}
	}
	t.Fatalf("docs/fencing.md has no %s with %q", language, mark)
	return ""
}

const stockTable = "CREATE TABLE stock (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, last_token BIGINT NOT NULL DEFAULT 0)"

// TestRecipesOfDatabases runs the two forms of the recipe, the conditional write and the trigger, with tokens of two holders
// of a lock.
func TestRecipesOfDatabases(t *testing.T) {
	databases := map[string]struct {
		open func(t *testing.T) *sql.DB
		mark string
	}{
		"sqlite":     {func(t *testing.T) *sql.DB { return openDatabase(t, "sqlite", filepath.Join(t.TempDir(), "shop.db")) }, "-- SQLite"},
		"postgresql": {func(t *testing.T) *sql.DB { return openDatabase(t, "pgx", startPostgres(t)) }, "-- PostgreSQL"},
	}
	former, present := twoTokens(t)
	for name, d := range databases {
		t.Run(name, func(t *testing.T) {
			db := d.open(t)
			mustExec(t, db, stockTable, "INSERT INTO stock (id, amount) VALUES ('widget', 10)")
			t.Run("conditional write", func(t *testing.T) { testConditionalWrite(t, db, former, present) })
			mustExec(t, db, recipes(t, "sql", d.mark))
			t.Run("trigger", func(t *testing.T) { testTrigger(t, db, former, present) })
		})
	}
}

func testConditionalWrite(t *testing.T, db *sql.DB, former, present fencing.Token) {
	t.Helper()
	write := fencing.Statement{
		Resource: "stock",
		Write:    "UPDATE stock SET amount = amount - 1, last_token = $1 WHERE id = $2 AND last_token <= $1",
		Last:     "SELECT last_token FROM stock WHERE id = $1",
	}
	for _, token := range []fencing.Token{former, present, present} {
		if _, err := write.Run(t.Context(), db, token, "widget"); err != nil {
			t.Error(err)
		}
	}
	_, err := write.Run(t.Context(), db, former, "widget")
	var stale *fencing.StaleError
	if !errors.As(err, &stale) || stale.Token != former || stale.Last != present {
		t.Errorf("error %v", err)
	}
	wantStock(t, db, 7)
}

func testTrigger(t *testing.T, db *sql.DB, former, present fencing.Token) {
	t.Helper()
	write := func(token fencing.Token) error {
		_, err := db.ExecContext(t.Context(), "UPDATE stock SET amount = amount - 1, last_token = $1 WHERE id = 'widget'", int64(token))
		return err
	}
	if err := write(present); err != nil {
		t.Error(err)
	}
	if err := write(former); err == nil || !strings.Contains(err.Error(), "stale fencing token") {
		t.Errorf("error %v", err)
	}
	wantStock(t, db, 6)
}

func wantStock(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	var amount int
	if err := db.QueryRowContext(t.Context(), "SELECT amount FROM stock WHERE id = 'widget'").Scan(&amount); err != nil || amount != want {
		t.Errorf("%v, %d in stock, want %d", err, amount, want)
	}
}

// TestRecipeOfRedis compares in a script of a plain Redis.
func TestRecipeOfRedis(t *testing.T) {
	former, present := twoTokens(t)
	c, script := harness.Dial(t, harness.StartRedis(t).Addr), recipes(t, "lua", "KEYS: the data")
	for _, s := range []struct {
		token fencing.Token
		value string
		want  int64
	}{{former, "a", 1}, {present, "b", 1}, {former, "late", 0}, {present, "again", 1}} {
		if got := c.Int("EVAL", script, "2", "data", "data:token", s.token.String(), s.value); got != s.want {
			t.Errorf("%s with %d: %d", s.value, s.token, got)
		}
	}
	c.Want(`"again"`, "GET", "data")
}

// twoTokens are those of two holders of a lock, one after the other.
func twoTokens(t *testing.T) (former, present fencing.Token) {
	t.Helper()
	c := harness.Dial(t, harness.StartRedfence(t).Addr)
	former = fencing.Token(c.Int("SET", "lock", "a", "NX", "PX", "30000", "FENCE"))
	c.Want("(integer) 1", "DEL", "lock")
	return former, fencing.Token(c.Int("SET", "lock", "b", "NX", "PX", "30000", "FENCE"))
}

func openDatabase(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%v in %s", err, s)
		}
	}
}

// startPostgres runs a PostgreSQL server on a socket in a directory of its own, and returns how to connect to it. It does not
// run as root, so root runs it as the user postgres of Debian's package.
func startPostgres(t *testing.T) string {
	t.Helper()
	bin := postgresPrograms(t)
	//nolint:usetesting // t.TempDir is closed to other users, and its name is too long for that of a socket
	dir, err := os.MkdirTemp("", "redfence-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	run := func(program string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.Background(), filepath.Join(bin, program), args...) //nolint:gosec // a test's own server
		if os.Getuid() == 0 {
			cmd = exec.CommandContext(context.Background(), "runuser", append([]string{"-u", "postgres", "--", filepath.Join(bin, program)}, args...)...) //nolint:gosec // the same
		}
		cmd.Dir = dir
		return cmd
	}
	if os.Getuid() == 0 {
		if out, err := exec.CommandContext(t.Context(), "chown", "postgres", dir).CombinedOutput(); err != nil {
			t.Skipf("there is no user postgres: %s", out)
		}
	}
	data := filepath.Join(dir, "data")
	if out, err := run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	server := run("postgres", "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off")
	var printed strings.Builder
	server.Stderr = &printed
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait()
	})
	source := fmt.Sprintf("host=%s user=postgres database=postgres", dir)
	db := openDatabase(t, "pgx", source)
	harness.Eventually(t, patience, func() bool { return db.PingContext(t.Context()) == nil })
	return source
}

// postgresPrograms is the directory of the server's programs. Debian keeps it out of the path.
func postgresPrograms(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err == nil && len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		t.Skip("PostgreSQL is not installed")
	}
	return filepath.Dir(path)
}
