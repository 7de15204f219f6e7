package args

import (
	"math"

	"github.com/redfence/redfence/commands/resp"
)

// Pairs are arguments that come two by two: a key or field, then its value.
type Pairs []string

// PairsParser returns the parser of a command whose arguments from line[at] on come two by two.
func PairsParser(command string, at int) func(line []string) (Pairs, error) {
	return func(line []string) (Pairs, error) {
		if (len(line)-at)%2 != 0 {
			return nil, resp.WrongArity(command)
		}
		return line[at:], nil
	}
}

// Range are the ends of GETRANGE, LRANGE and their relatives, both inclusive; negative ones count from the end.
type Range struct{ Start, End int64 }

// GetRange parses GETRANGE, LRANGE, LTRIM and ZREMRANGEBYRANK: name key start end.
func GetRange(line []string) (r Range, err error) {
	if r.Start, err = Int(line[2]); err != nil {
		return r, err
	}
	r.End, err = Int(line[3])
	return r, err
}

// Offset parses SETRANGE key offset value.
func Offset(line []string) (int64, error) {
	n, err := Int(line[2])
	if err == nil && n < 0 {
		err = resp.ErrOffset
	}
	return n, err
}

// IncrBy parses INCRBY key n.
func IncrBy(line []string) (int64, error) { return Int(line[2]) }

// DecrBy parses DECRBY key n and returns what to add.
func DecrBy(line []string) (int64, error) {
	n, err := Int(line[2])
	if err == nil && n == math.MinInt64 {
		err = resp.ErrDecrOverflow
	}
	return -n, err
}
