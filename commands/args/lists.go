package args

import "github.com/redfence/redfence/commands/resp"

// LPosOptions are the options of LPOS (https://redis.io/docs/latest/commands/lpos/).
type LPosOptions struct {
	Rank     int64 // which match is the first to be given, from 1; never negative
	FromTail bool  // matches are counted from the tail
	Many     bool  // COUNT was given: the reply is an array
	Count    int64 // how many matches are given, 0 for all
	MaxLen   int64 // how many elements are looked at, 0 for all
}

// LPos parses LPOS key element [RANK n] [COUNT n] [MAXLEN n].
func LPos(line []string) (LPosOptions, error) {
	o := LPosOptions{Rank: 1, Count: 1}
	for r := From(line, 3); r.More(); {
		word, _ := r.Word()
		if !r.More() {
			return o, resp.ErrSyntax
		}
		text, _ := r.Word()
		if err := o.set(word, text); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o *LPosOptions) set(word, text string) (err error) {
	switch {
	case Is(word, "RANK"):
		o.Rank, err = Int(text)
		if err == nil && o.Rank == 0 {
			err = resp.ErrRankZero
		}
		if o.FromTail = o.Rank < 0; o.FromTail {
			o.Rank = max(-o.Rank, 1) // the lowest number is its own negative: Redis takes it for -1
		}
	case Is(word, "COUNT"):
		o.Many = true
		o.Count, err = atLeast(0, text, resp.ErrNegativeCount)
	case Is(word, "MAXLEN"):
		o.MaxLen, err = atLeast(0, text, resp.ErrNegativeMaxLen)
	default:
		err = resp.ErrSyntax
	}
	return err
}

// MoveOptions are the ends between which LMOVE moves an element.
type MoveOptions struct{ FromLeft, ToLeft bool }

// LMove parses LMOVE source destination LEFT|RIGHT LEFT|RIGHT.
func LMove(line []string) (o MoveOptions, err error) {
	if o.FromLeft, err = isLeft(line[3]); err != nil {
		return o, err
	}
	o.ToLeft, err = isLeft(line[4])
	return o, err
}

// RPopLPush gives the ends of RPOPLPUSH source destination.
func RPopLPush([]string) (MoveOptions, error) { return MoveOptions{ToLeft: true}, nil }

func isLeft(word string) (bool, error) {
	if !Is(word, "LEFT") && !Is(word, "RIGHT") {
		return false, resp.ErrSyntax
	}
	return Is(word, "LEFT"), nil
}

// LInsert parses LINSERT key BEFORE|AFTER pivot element, and tells whether it is BEFORE.
func LInsert(line []string) (before bool, err error) {
	if !Is(line[2], "BEFORE") && !Is(line[2], "AFTER") {
		return false, resp.ErrSyntax
	}
	return Is(line[2], "BEFORE"), nil
}

// LRem parses LREM key count element and returns the count: negative ones count from the tail, 0 means all.
func LRem(line []string) (int64, error) { return Int(line[2]) }
