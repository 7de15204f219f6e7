// Package args parses the options of command lines into typed values. It is pure; errors are the exact texts of
// Redis.
package args

import (
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// Reader walks over the arguments of a command line from left to right.
type Reader struct {
	line []string
	next int
}

// From returns a reader whose first argument is line[at].
func From(line []string, at int) *Reader { return &Reader{line: line, next: at} }

// More tells whether arguments are left.
func (r *Reader) More() bool { return r.next < len(r.line) }

// Left is the number of arguments left.
func (r *Reader) Left() int { return len(r.line) - r.next }

// Word returns the next argument, or a syntax error when there is none.
func (r *Reader) Word() (string, error) {
	if !r.More() {
		return "", resp.ErrSyntax
	}
	r.next++
	return r.line[r.next-1], nil
}

// Is tells whether a word of a command line is an option, whose name is given in upper case. Only ASCII letters fold.
func Is(word, option string) bool { return len(word) == len(option) && strings.EqualFold(word, option) }

// Option returns the next argument in upper case; only call it while More.
func (r *Reader) Option() string {
	r.next++
	return strings.ToUpper(r.line[r.next-1])
}

// Int returns the next argument as a 64-bit integer in Redis's strict form: no blanks, no plus sign, no leading
// zeros.
func (r *Reader) Int() (int64, error) {
	word, err := r.Word()
	if err != nil {
		return 0, err
	}
	return Int(word)
}

// Int parses an integer as Redis's string2ll does.
func Int(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || !canonical(s) {
		return 0, resp.ErrNotInteger
	}
	return n, nil
}

// canonical rejects forms that ParseInt takes and Redis does not: "+1", "01", "-0".
func canonical(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return false
	}
	return digits[0] != '0' || s == "0"
}
