package args

import (
	"strings"

	"github.com/redfence/redfence/commands/resp"
)

// RangeBy says what the ends of a range of a sorted set are.
type RangeBy uint8

// The kinds of range.
const (
	ByRank RangeBy = iota
	ByScore
	ByLex
)

// ScoreBound is an end of a range of scores. It is open when the score itself is outside.
type ScoreBound struct {
	Score float64
	Open  bool
}

// LexBound is an end of a range of members: a text, or before ("-") or behind ("+") all of them.
type LexBound struct {
	Text string
	Open bool
	Far  int // -1 before all, 1 behind all, 0 at Text
}

// ZRangeOptions are the options of ZRANGE (https://redis.io/docs/latest/commands/zrange/) and its relatives. Of Ranks,
// Scores and Lex the one that By names counts; the lower end comes first in the last two.
type ZRangeOptions struct {
	By         RangeBy
	Rev        bool // from the last to the first
	WithScores bool
	Offset     int64 // how many are passed over; a negative one passes over all
	Limit      int64 // how many are given at most; negative: all
	Ranks      Range
	Scores     [2]ScoreBound
	Lex        [2]LexBound
}

// ZRange says what a command of ZRANGE's family lets its options choose.
type ZRange struct {
	Source int     // index of the key that is read; the ends follow it
	Free   bool    // BYSCORE, BYLEX and REV are options
	By     RangeBy // the kind of range, where it is not free
	Rev    bool    // the order, where it is not free
}

// Parse parses ... source start stop [BYSCORE|BYLEX] [REV] [LIMIT offset count] [WITHSCORES].
func (z ZRange) Parse(line []string) (ZRangeOptions, error) {
	o := ZRangeOptions{By: z.By, Rev: z.Rev, Limit: -1}
	for r := From(line, z.Source+3); r.More(); {
		if err := z.option(&o, r); err != nil {
			return o, err
		}
	}
	switch {
	case o.Limit != -1 && o.By == ByRank:
		return o, resp.ErrRankLimit
	case o.WithScores && o.By == ByLex:
		return o, resp.ErrLexScores
	}
	err := o.ends(line[z.Source+1], line[z.Source+2])
	return o, err
}

func (z ZRange) option(o *ZRangeOptions, r *Reader) error {
	word, _ := r.Word()
	switch {
	case z.Source == 1 && Is(word, "WITHSCORES"):
		o.WithScores = true
	case Is(word, "LIMIT") && r.Left() >= 2:
		return o.limit(r)
	case z.Free && !o.Rev && Is(word, "REV"):
		o.Rev = true
	case z.Free && o.By == ByRank && Is(word, "BYLEX"):
		o.By = ByLex
	case z.Free && o.By == ByRank && Is(word, "BYSCORE"):
		o.By = ByScore
	default:
		return resp.ErrSyntax
	}
	return nil
}

func (o *ZRangeOptions) limit(r *Reader) (err error) {
	if o.Offset, err = r.Int(); err == nil {
		o.Limit, err = r.Int()
	}
	return err
}

// ZSpanParser returns the parser of commands that only name a range: name key start stop, as of ZCOUNT.
func ZSpanParser(by RangeBy) func(line []string) (ZRangeOptions, error) {
	return func(line []string) (ZRangeOptions, error) {
		o := ZRangeOptions{By: by, Limit: -1}
		err := o.ends(line[2], line[3])
		return o, err
	}
}

// ends reads the ends of the range, which come in the order of the reply.
func (o *ZRangeOptions) ends(first, last string) (err error) {
	if o.By == ByRank {
		if o.Ranks.Start, err = Int(first); err == nil {
			o.Ranks.End, err = Int(last)
		}
		return err
	}
	if o.Rev {
		first, last = last, first
	}
	for i, text := range []string{first, last} {
		var ok bool
		if o.By == ByScore {
			o.Scores[i], ok = scoreBound(text)
		} else {
			o.Lex[i], ok = lexBound(text)
		}
		switch {
		case !ok && o.By == ByScore:
			return resp.ErrScoreRange
		case !ok:
			return resp.ErrLexRange
		}
	}
	return nil
}

// scoreBound reads an end as Redis's zslParseRange does, which takes what C's strtod takes: blanks in front, and
// nothing for 0.
func scoreBound(text string) (b ScoreBound, ok bool) {
	text, b.Open = strings.CutPrefix(text, "(")
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	if text == "" {
		return b, true
	}
	b.Score, ok = strtod(text)
	return b, ok
}

func lexBound(text string) (b LexBound, ok bool) {
	switch {
	case text == "-":
		return LexBound{Far: -1}, true
	case text == "+":
		return LexBound{Far: 1}, true
	case text == "" || (text[0] != '(' && text[0] != '['):
		return b, false
	}
	return LexBound{Text: text[1:], Open: text[0] == '('}, true
}
