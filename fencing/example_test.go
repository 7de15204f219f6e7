package fencing_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	_ "modernc.org/sqlite"

	"github.com/redfence/redfence/fencing"
)

// Client A is paused past its lease; B has got the lock, with a higher token, and written. Then A wakes up.
func ExampleGuard() {
	var guard fencing.Guard
	write := func(who string, token fencing.Token) {
		err := guard.Do("report.pdf", token, func() error {
			fmt.Println(who, "writes")
			return nil
		})
		if errors.Is(err, fencing.ErrStale) {
			fmt.Println(err)
		}
	}
	write("A", 33)
	write("B", 34)
	write("A", 33)
	// Output:
	// A writes
	// B writes
	// stale fencing token 33 for report.pdf, which has seen 34: the lock has passed to somebody else
}

// The row remembers the token, in the caller's own transaction.
func ExampleStatement() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // each connection to :memory: is a database of its own
	if _, err := db.ExecContext(ctx, schema+"; INSERT INTO stock (id, amount) VALUES ('widget', 2)"); err != nil {
		fmt.Println(err)
		return
	}
	purchase := func(token fencing.Token) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // nothing after a commit
		if _, err := buy.Run(ctx, tx, token, "widget"); err != nil {
			return err
		}
		return tx.Commit()
	}
	fmt.Println(purchase(34))
	fmt.Println(purchase(33))
	// Output:
	// <nil>
	// stale fencing token 33 for stock, which has seen 34: the lock has passed to somebody else
}

// A service refuses callers whose lock has passed on.
func ExampleMiddleware() {
	var guard fencing.Guard
	service := httptest.NewServer(fencing.Middleware(&guard,
		func(r *http.Request) string { return r.URL.Path },
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })))
	defer service.Close()
	put := func(token fencing.Token) {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPut, service.URL+"/orders/7", http.NoBody)
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Header.Set(fencing.Header, token.String())
		answer, err := service.Client().Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		fmt.Println(answer.Status, answer.Header.Get(fencing.LastHeader) == "34")
	}
	put(34)
	put(33)
	// Output:
	// 204 No Content false
	// 412 Precondition Failed true
}
