package args

import (
	"math"

	"github.com/redfence/redfence/commands/resp"
)

// IntBetween parses an integer within bounds.
func IntBetween(s string, low, high int64) (int64, error) {
	n, err := Int(s)
	if err == nil && (n < low || n > high) {
		err = resp.OutOfRange(low, high)
	}
	return n, err
}

// Databases is the number of databases that SELECT, MOVE, COPY and SWAPDB know: 0 to Databases-1.
const Databases = 16

// Database parses the index of a database as MOVE and COPY do.
func Database(s string) (int, error) {
	n, err := IntBetween(s, math.MinInt32, math.MaxInt32)
	if err == nil && (n < 0 || n >= Databases) {
		err = resp.ErrDBIndex
	}
	return int(n), err
}

// Move parses MOVE key db.
func Move(line []string) (int, error) { return Database(line[2]) }

// SwapOptions are the databases of SWAPDB.
type SwapOptions struct{ A, B int }

// SwapDB parses SWAPDB a b.
func SwapDB(line []string) (SwapOptions, error) {
	a, errA := IntBetween(line[1], math.MinInt32, math.MaxInt32)
	if errA != nil {
		return SwapOptions{}, resp.ErrFirstDB
	}
	b, errB := IntBetween(line[2], math.MinInt32, math.MaxInt32)
	switch {
	case errB != nil:
		return SwapOptions{}, resp.ErrSecondDB
	case min(a, b) < 0 || max(a, b) >= Databases:
		return SwapOptions{}, resp.ErrDBIndex
	}
	return SwapOptions{int(a), int(b)}, nil
}

// CopyOptions are the options of COPY (https://redis.io/docs/latest/commands/copy/).
type CopyOptions struct {
	DB      int
	OtherDB bool // DB was given
	Replace bool
}

// Copy parses COPY source destination [DB n] [REPLACE].
func Copy(line []string) (o CopyOptions, err error) {
	for r := From(line, 3); r.More(); {
		word, _ := r.Word()
		switch {
		case Is(word, "REPLACE"):
			o.Replace = true
		case Is(word, "DB") && r.More():
			index, _ := r.Word()
			o.OtherDB = true
			if o.DB, err = Database(index); err != nil {
				return o, err
			}
		default:
			return o, resp.ErrSyntax
		}
	}
	return o, nil
}

// FlushMode tells whether a word says how FLUSHALL, FLUSHDB and SCRIPT FLUSH free memory. We take both words and do
// the same for either.
func FlushMode(word string) bool { return Is(word, "SYNC") || Is(word, "ASYNC") }

// Flush parses FLUSHALL [ASYNC|SYNC] and FLUSHDB [ASYNC|SYNC].
func Flush(line []string) (struct{}, error) {
	if len(line) > 2 || (len(line) == 2 && !FlushMode(line[1])) {
		return struct{}{}, resp.ErrSyntax
	}
	return struct{}{}, nil
}

// CheckOptions are the arguments of FENCE.CHECK.
type CheckOptions struct{ Token int64 }

// FenceCheck parses FENCE.CHECK resource token.
func FenceCheck(line []string) (CheckOptions, error) {
	token, err := IntBetween(line[2], 1, maxToken)
	if err != nil {
		return CheckOptions{}, resp.ErrToken
	}
	return CheckOptions{token}, nil
}

// maxToken is fencing.Max: the largest integer that is exact in JavaScript and Lua.
const maxToken = 1<<53 - 1

// FenceOptions are the arguments of FENCE: Owned when the holder was given.
type FenceOptions struct {
	Owner string
	Owned bool
}

// Fence parses FENCE key [owner].
func Fence(line []string) (FenceOptions, error) {
	switch len(line) {
	case 2:
		return FenceOptions{}, nil
	case 3:
		return FenceOptions{line[2], true}, nil
	}
	return FenceOptions{}, resp.WrongArity("fence")
}
