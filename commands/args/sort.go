package args

import (
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// SortOptions are the options of SORT (https://redis.io/docs/latest/commands/sort/) and SORT_RO.
type SortOptions struct {
	By            string // pattern of the keys whose values are compared instead of the elements
	ByPattern     bool   // BY was given, with a star: By counts
	Unsorted      bool   // BY was given, without a star
	Get           []string
	Offset, Count int64 // of the elements that are given; a negative Count gives all from Offset on
	Desc, Alpha   bool
	Store         string // key of the list that takes the result
	Stores        bool   // STORE was given
}

// Sort parses SORT key [BY pattern] [LIMIT offset count] [GET pattern ...] [ASC|DESC] [ALPHA] [STORE key].
func Sort(line []string) (SortOptions, error) { return sortOptions(line, true) }

// SortRO parses SORT_RO, which has no STORE.
func SortRO(line []string) (SortOptions, error) { return sortOptions(line, false) }

func sortOptions(line []string, store bool) (SortOptions, error) {
	o := SortOptions{Count: -1}
	for r := From(line, 2); r.More(); {
		word, _ := r.Word()
		switch {
		case Is(word, "ASC"):
			o.Desc = false
		case Is(word, "DESC"):
			o.Desc = true
		case Is(word, "ALPHA"):
			o.Alpha = true
		case Is(word, "STORE") && !store:
			return o, resp.ErrSyntax
		default:
			if err := o.more(r, word); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

// more reads an option that takes arguments.
func (o *SortOptions) more(r *Reader, word string) (err error) {
	switch {
	case Is(word, "LIMIT") && r.Left() >= 2:
		if o.Offset, err = r.Int(); err == nil {
			o.Count, err = r.Int()
		}
	case Is(word, "BY") && r.More():
		o.By, _ = r.Word()
		if o.ByPattern = strings.Contains(o.By, "*"); !o.ByPattern {
			o.Unsorted = true // as in Redis, also when a pattern follows
		}
	case Is(word, "GET") && r.More():
		pattern, _ := r.Word()
		o.Get = append(o.Get, pattern)
	case Is(word, "STORE") && r.More():
		o.Store, _ = r.Word()
		o.Stores = true
	default:
		err = resp.ErrSyntax
	}
	return err
}

// SortScore reads what SORT compares as a number, as C's strtod does: blanks in front are allowed, nothing is 0.
func SortScore(s string) (float64, bool) {
	if s == "" {
		return 0, true
	}
	f, err := Float(strings.TrimLeft(s, " \t\n\v\f\r"))
	return f, err == nil
}

// LCSOptions are the options of LCS (https://redis.io/docs/latest/commands/lcs/).
type LCSOptions struct {
	Len          bool  // the reply is the length
	Idx          bool  // the reply is where the common parts stand
	WithMatchLen bool  // each with its length
	MinMatchLen  int64 // no shorter ones
}

// LCS parses LCS key key [LEN] [IDX] [MINMATCHLEN n] [WITHMATCHLEN].
func LCS(line []string) (o LCSOptions, err error) {
	for r := From(line, 3); r.More(); {
		word, _ := r.Word()
		switch {
		case Is(word, "IDX"):
			o.Idx = true
		case Is(word, "LEN"):
			o.Len = true
		case Is(word, "WITHMATCHLEN"):
			o.WithMatchLen = true
		case Is(word, "MINMATCHLEN") && r.More():
			if o.MinMatchLen, err = r.Int(); err != nil {
				return o, err
			}
			o.MinMatchLen = max(o.MinMatchLen, 0)
		default:
			return o, resp.ErrSyntax
		}
	}
	if o.Idx && o.Len {
		return o, resp.ErrLCSBoth
	}
	return o, nil
}
