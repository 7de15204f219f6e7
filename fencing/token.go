package fencing

import (
	"errors"
	"fmt"
	"strconv"
)

// Token is a fencing token: larger means granted later. Zero means none.
//
// A token stays below 2^53, so it is exact in JavaScript and Lua numbers and fits a BIGINT column.
type Token int64

// Max is the largest token, 2^53-1.
const Max Token = 1<<53 - 1

// Valid tells whether t is a token that could have been granted.
func (t Token) Valid() bool { return t > 0 && t <= Max }

// String is the token in decimal, as commands, statements and headers take it.
func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

// ErrToken is returned for what is no token: not an integer from 1 to Max.
var ErrToken = errors.New("not a fencing token: it must be an integer from 1 to 9007199254740991")

// Parse reads a token in decimal.
func Parse(s string) (Token, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if t := Token(n); err == nil && t.Valid() {
		return t, nil
	}
	return 0, fmt.Errorf("%w: %q", ErrToken, s)
}

// ErrStale is what errors.Is finds in a StaleError.
var ErrStale = errors.New("stale fencing token")

// StaleError is returned when a resource has seen a higher token: whoever has Token does not hold the lock any more, and
// must not go on.
type StaleError struct {
	Resource string
	Token    Token // that was refused
	Last     Token // the highest that the resource has seen
}

// Error names both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%v %d for %s, which has seen %d: the lock has passed to somebody else", ErrStale, e.Token, e.Resource, e.Last)
}

// Unwrap returns ErrStale.
func (*StaleError) Unwrap() error { return ErrStale }
