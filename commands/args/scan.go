package args

import (
	"math"
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// ScanOptions are the options of SCAN and its relatives (https://redis.io/docs/latest/commands/scan/).
type ScanOptions struct {
	Cursor uint64
	Match  string // glob pattern; "*" when none was given
	Count  int    // about how many elements to look at, at least 1
	Type   string // only keys of this type; "" for all
}

const defaultScanCount = 10

// Scan parses SCAN cursor [MATCH pattern] [COUNT n] [TYPE name].
func Scan(line []string) (ScanOptions, error) {
	cursor, err := Cursor(line[1])
	if err != nil {
		return ScanOptions{}, err
	}
	return scanOptions(cursor, line, 2, true)
}

// HScanOptions are the options of HSCAN, SSCAN and ZSCAN. Redis reads what follows the cursor only when the key is there.
type HScanOptions struct {
	cursor uint64
	line   []string
}

// HScan parses HSCAN, SSCAN and ZSCAN: name key cursor [MATCH pattern] [COUNT n].
func HScan(line []string) (HScanOptions, error) {
	cursor, err := Cursor(line[2])
	return HScanOptions{cursor, line}, err
}

// Options reads the options behind the cursor.
func (o HScanOptions) Options() (ScanOptions, error) { return scanOptions(o.cursor, o.line, 3, false) }

func scanOptions(cursor uint64, line []string, at int, keys bool) (ScanOptions, error) {
	o := ScanOptions{Cursor: cursor, Match: "*", Count: defaultScanCount}
	for r := From(line, at); r.More(); {
		word, _ := r.Word()
		value, err := r.Word()
		if err != nil {
			return o, err
		}
		switch {
		case Is(word, "COUNT"):
			err = o.setCount(value)
		case Is(word, "MATCH"):
			o.Match = value
		case Is(word, "TYPE") && keys:
			o.Type = strings.ToLower(value)
		default:
			err = resp.ErrSyntax
		}
		if err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o *ScanOptions) setCount(text string) error {
	n, err := Int(text)
	if err == nil && n < 1 {
		err = resp.ErrSyntax
	}
	o.Count = int(min(n, math.MaxInt32))
	return err
}

// Cursor parses a cursor as C's strtoul does: an empty one is 0, a sign is allowed, a negative one wraps around.
func Cursor(text string) (uint64, error) {
	digits := text
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, resp.ErrCursor
	}
	if text[0] == '-' {
		n = -n
	}
	return n, nil
}
