package fencing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Execer runs statements: *sql.Tx, *sql.Conn, or *sql.DB for a statement that is a transaction of its own.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Statement is a write to rows that remember the token themselves, in a column beside the data:
//
//	Statement{
//		Resource: "stock of widgets",
//		Write:    "UPDATE stock SET amount = amount - 1, last_token = $1 WHERE id = $2 AND last_token <= $1",
//		Last:     "SELECT last_token FROM stock WHERE id = $1",
//	}
//
// The comparison is a part of the write, so nothing can come between the two, and the database's own row lock decides
// between owners that write at once.
type Statement struct {
	Resource string // for errors
	// Write changes the rows on the condition that last_token is not above the first parameter, which is the token, and
	// sets last_token to that. Further parameters are those of Run.
	Write string
	// Last reads last_token of the rows. Its parameters are those of Run, without the token.
	Last string
}

// ErrCondition is returned when a write changed nothing although its token is good: its condition says more, such as that
// there is something left.
var ErrCondition = errors.New("no row met the condition of the write, and not because of the token")

// Run executes the write with a token, in the caller's transaction, which must be rolled back on any error. It returns a
// *StaleError with both tokens when the rows have seen a higher one, sql.ErrNoRows when there are no such rows, and
// ErrCondition when something else in the condition of the write is not met.
func (s Statement) Run(ctx context.Context, db Execer, token Token, args ...any) (sql.Result, error) {
	if !token.Valid() {
		return nil, fmt.Errorf("%w: %d", ErrToken, token)
	}
	result, err := db.ExecContext(ctx, s.Write, append([]any{int64(token)}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("guarded write to %s: %w", s.Resource, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return nil, fmt.Errorf("guarded write to %s: %w", s.Resource, err)
	}
	if n > 0 {
		return result, nil
	}
	return nil, s.refused(ctx, db, token, args)
}

// refused finds out why a write changed nothing.
func (s Statement) refused(ctx context.Context, db Execer, token Token, args []any) error {
	var last Token
	if err := db.QueryRowContext(ctx, s.Last, args...).Scan(&last); err != nil {
		return fmt.Errorf("last token of %s: %w", s.Resource, err)
	}
	if last > token {
		return &StaleError{Resource: s.Resource, Token: token, Last: last}
	}
	return fmt.Errorf("guarded write to %s: %w", s.Resource, ErrCondition)
}
