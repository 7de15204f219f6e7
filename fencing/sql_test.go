package fencing_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // a database without a server

	"github.com/redfence/redfence/fencing"
)

const schema = "CREATE TABLE stock (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, last_token BIGINT NOT NULL DEFAULT 0)"

var buy = fencing.Statement{
	Resource: "stock",
	Write:    "UPDATE stock SET amount = amount - 1, last_token = $1 WHERE id = $2 AND last_token <= $1 AND amount > 0",
	Last:     "SELECT last_token FROM stock WHERE id = $1",
}

func openStock(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), schema+"; INSERT INTO stock (id, amount, last_token) VALUES ('widget', 2, 100)"); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestStatement(t *testing.T) {
	db := openStock(t)
	for _, tt := range []struct {
		name         string
		token        fencing.Token
		id           string
		want         error
		amount, last int64
	}{
		{"a stale token", 99, "widget", fencing.ErrStale, 2, 100},
		{"the present owner's", 100, "widget", nil, 1, 100},
		{"the next owner's", 150, "widget", nil, 0, 150},
		{"the former owner's", 100, "widget", fencing.ErrStale, 0, 150},
		{"nothing left", 151, "widget", fencing.ErrCondition, 0, 150},
		{"no such row", 151, "gadget", sql.ErrNoRows, 0, 150},
		{"no token", 0, "widget", fencing.ErrToken, 0, 150},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = buy.Run(t.Context(), tx, tt.token, tt.id)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			var stale *fencing.StaleError
			if errors.As(err, &stale) && (int64(stale.Last) != tt.last || stale.Token != tt.token) {
				t.Errorf("told %+v", stale)
			}
			end := tx.Commit
			if err != nil {
				end = tx.Rollback
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			var amount, last int64
			if err := db.QueryRowContext(t.Context(), "SELECT amount, last_token FROM stock").Scan(&amount, &last); err != nil {
				t.Fatal(err)
			}
			if amount != tt.amount || last != tt.last {
				t.Errorf("amount %d, last token %d", amount, last)
			}
		})
	}
	if _, err := (fencing.Statement{Write: "UPDATE nothing SET x = $1"}).Run(t.Context(), db, 1); err == nil {
		t.Error("a wrong statement was no error")
	}
}
