package args_test

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

func TestFloat(t *testing.T) {
	inf := math.Inf(1)
	for text, want := range map[string]float64{
		"0": 0, "-0": 0, "1.5": 1.5, ".5": 0.5, "5.": 5, "+3": 3, "1e3": 1000, "1796024563039": 1796024563039,
		"inf": inf, "-INF": -inf, "+Infinity": inf, "0x10": 16, "0x1p4": 16, "-0x.8": -0.5, "0e999": 0, "0x0": 0,
		"3e-320": 3e-320,
	} {
		if got, err := args.Float(text); err != nil || got != want {
			t.Errorf("Float(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " 1", "1 ", "nan", "-nan", "1e400", "-1e400", "1e-400", "0x", "0x1p-9999", "1_000", "0x_1", "abc", "1.5.5", "--1", "infx",
	} {
		if _, err := args.Float(text); !errors.Is(err, resp.ErrNotFloat) {
			t.Errorf("Float(%q): error %v", text, err)
		}
	}
}

func TestZAdd(t *testing.T) {
	tests := []struct {
		line string
		want args.ZAddOptions
		err  error
	}{
		{"ZADD z 1 a", args.ZAddOptions{Scores: []float64{1}, Members: []string{"a"}}, nil},
		{
			"ZADD z xx CH gt 1 a -inf b",
			args.ZAddOptions{
				When: args.IfPresent, Greater: true, Changed: true, Scores: []float64{1, math.Inf(-1)}, Members: []string{"a", "b"},
			},
			nil,
		},
		{"ZADD z NX INCR 1 ch", args.ZAddOptions{When: args.IfAbsent, Incr: true, Scores: []float64{1}, Members: []string{"ch"}}, nil},
		{"ZADD z NX CH", args.ZAddOptions{}, resp.ErrSyntax},
		{"ZADD z 1 a 2", args.ZAddOptions{}, resp.ErrSyntax},
		{"ZADD z NX XX x a", args.ZAddOptions{}, resp.ErrZAddNXXX},
		{"ZADD z NX LT x a", args.ZAddOptions{}, resp.ErrZAddGTLTNX},
		{"ZADD z INCR 1 a 2 b", args.ZAddOptions{}, resp.ErrZAddIncr},
		{"ZADD z 1 a x b", args.ZAddOptions{}, resp.ErrNotFloat},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := args.ZAdd(line(tt.line))
			if !errors.Is(err, tt.err) || (err == nil && !reflect.DeepEqual(got, tt.want)) {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestZRange(t *testing.T) {
	free, byScore, store := args.ZRange{Source: 1, Free: true}, args.ZRange{Source: 1, By: args.ByScore}, args.ZRange{Source: 2, Free: true}
	one, four := args.ScoreBound{Score: 1, Open: true}, args.ScoreBound{Score: 4}
	tests := []struct {
		line string
		form args.ZRange
		want args.ZRangeOptions
		err  error
	}{
		{"ZRANGE z 0 -1", free, args.ZRangeOptions{Limit: -1, Ranks: args.Range{End: -1}}, nil},
		{"ZRANGE z 0 -1 rev withscores", free, args.ZRangeOptions{Rev: true, WithScores: true, Limit: -1, Ranks: args.Range{End: -1}}, nil},
		{
			"ZRANGE z 4 (1 BYSCORE REV LIMIT 2 3", free,
			args.ZRangeOptions{By: args.ByScore, Rev: true, Offset: 2, Limit: 3, Scores: [2]args.ScoreBound{one, four}},
			nil,
		},
		{"ZRANGEBYSCORE z (1 4", byScore, args.ZRangeOptions{By: args.ByScore, Limit: -1, Scores: [2]args.ScoreBound{one, four}}, nil},
		{
			"ZRANGESTORE d z - (b BYLEX", store,
			args.ZRangeOptions{By: args.ByLex, Limit: -1, Lex: [2]args.LexBound{{Far: -1}, {Text: "b", Open: true}}},
			nil,
		},
		{"ZRANGE z 0 1 LIMIT 0 1", free, args.ZRangeOptions{}, resp.ErrRankLimit},
		{"ZRANGE z - + BYLEX WITHSCORES", free, args.ZRangeOptions{}, resp.ErrLexScores},
		{"ZRANGE z 0 1 LIMIT 0", free, args.ZRangeOptions{}, resp.ErrSyntax},
		{"ZRANGE z x 1 LIMIT 0 y", free, args.ZRangeOptions{}, resp.ErrNotInteger},
		{"ZRANGE z x 1 BYSCORE", free, args.ZRangeOptions{}, resp.ErrScoreRange},
		{"ZRANGE z 1 nan BYSCORE", free, args.ZRangeOptions{}, resp.ErrScoreRange},
		{"ZRANGE z x + BYLEX", free, args.ZRangeOptions{}, resp.ErrLexRange},
		{"ZRANGEBYSCORE z 0 1 BYLEX", byScore, args.ZRangeOptions{}, resp.ErrSyntax},
		{"ZRANGESTORE d z 0 1 WITHSCORES", store, args.ZRangeOptions{}, resp.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := tt.form.Parse(line(tt.line))
			if !errors.Is(err, tt.err) || (err == nil && got != tt.want) {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestZAlgebra(t *testing.T) {
	union, store := args.ZAlgebra{Command: "zunion", At: 1, Join: true}, args.ZAlgebra{Command: "zunionstore", At: 2, Join: true}
	card := args.ZAlgebra{Command: "zintercard", At: 1, Card: true}
	tests := []struct {
		line     string
		form     args.ZAlgebra
		want     args.ZAlgebraOptions
		err      error
		deferred error
	}{
		{"ZUNION 2 a b", union, args.ZAlgebraOptions{Keys: []string{"a", "b"}}, nil, nil},
		{
			"ZUNIONSTORE d 2 a b weights 2 -inf aggregate max", store,
			args.ZAlgebraOptions{Keys: []string{"a", "b"}, Weights: []float64{2, math.Inf(-1)}, Aggregate: args.Max},
			nil, nil,
		},
		{"ZINTERCARD 1 a LIMIT 5", card, args.ZAlgebraOptions{Keys: []string{"a"}, Limit: 5}, nil, nil},
		{"ZUNION 0 a", union, args.ZAlgebraOptions{}, resp.NoInputKey("zunion"), nil},
		{"ZUNION x a", union, args.ZAlgebraOptions{}, resp.ErrNotInteger, nil},
		{"ZUNION 3 a b", union, args.ZAlgebraOptions{}, resp.ErrSyntax, nil},
		{"ZUNION 9223372036854775807 a", union, args.ZAlgebraOptions{}, resp.ErrSyntax, nil},
		{"ZUNION 1 a WEIGHTS", union, args.ZAlgebraOptions{}, nil, resp.ErrSyntax},
		{"ZUNION 1 a WEIGHTS x", union, args.ZAlgebraOptions{}, nil, resp.ErrWeight},
		{"ZUNION 1 a AGGREGATE AVG", union, args.ZAlgebraOptions{}, nil, resp.ErrSyntax},
		{"ZUNION 1 a LIMIT 1", union, args.ZAlgebraOptions{}, nil, resp.ErrSyntax},
		{"ZUNIONSTORE d 1 a WITHSCORES", store, args.ZAlgebraOptions{}, nil, resp.ErrSyntax},
		{"ZINTERCARD 1 a LIMIT -1", card, args.ZAlgebraOptions{}, nil, resp.ErrNegativeLimit},
		{"ZINTERCARD 1 a WITHSCORES", card, args.ZAlgebraOptions{}, nil, resp.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := tt.form.Parse(line(tt.line))
			if !errors.Is(err, tt.err) || !errors.Is(got.Err, tt.deferred) {
				t.Fatalf("errors %v and %v, want %v and %v", err, got.Err, tt.err, tt.deferred)
			}
			if err == nil && got.Err == nil && !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestMultiPop(t *testing.T) {
	parse := args.MultiPopParser(1, "LEFT", "RIGHT")
	tests := []struct {
		line string
		want args.MultiPop
		err  error
	}{
		{"LMPOP 2 a b LEFT", args.MultiPop{Keys: []string{"a", "b"}, First: true, Count: 1}, nil},
		{"LMPOP 1 a right COUNT 5", args.MultiPop{Keys: []string{"a"}, Count: 5}, nil},
		{"LMPOP 0 a LEFT", args.MultiPop{}, resp.ErrNumKeysZero},
		{"LMPOP x a LEFT", args.MultiPop{}, resp.ErrNumKeysZero},
		{"LMPOP 9223372036854775807 a LEFT", args.MultiPop{}, resp.ErrSyntax},
		{"LMPOP 2 a LEFT", args.MultiPop{}, resp.ErrSyntax},
		{"LMPOP 1 a UP", args.MultiPop{}, resp.ErrSyntax},
		{"LMPOP 1 a LEFT COUNT 0", args.MultiPop{}, resp.ErrCountZero},
		{"LMPOP 1 a LEFT COUNT", args.MultiPop{}, resp.ErrSyntax},
		{"LMPOP 1 a LEFT COUNT 1 COUNT 1", args.MultiPop{}, resp.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := parse(line(tt.line))
			if !errors.Is(err, tt.err) || (err == nil && !reflect.DeepEqual(got, tt.want)) {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestLPos(t *testing.T) {
	tests := []struct {
		line string
		want args.LPosOptions
		err  error
	}{
		{"LPOS l a", args.LPosOptions{Rank: 1, Count: 1}, nil},
		{"LPOS l a rank -2 COUNT 0 MAXLEN 9", args.LPosOptions{Rank: 2, FromTail: true, Many: true, MaxLen: 9}, nil},
		{"LPOS l a RANK -9223372036854775808", args.LPosOptions{Rank: 1, FromTail: true, Count: 1}, nil},
		{"LPOS l a RANK 0", args.LPosOptions{}, resp.ErrRankZero},
		{"LPOS l a COUNT -1", args.LPosOptions{}, resp.ErrNegativeCount},
		{"LPOS l a MAXLEN x", args.LPosOptions{}, resp.ErrNegativeMaxLen},
		{"LPOS l a RANK", args.LPosOptions{}, resp.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := args.LPos(line(tt.line))
			if !errors.Is(err, tt.err) || (err == nil && got != tt.want) {
				t.Errorf("%+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// TestWithScore is about an option that Redis has since 7.2.
func TestWithScore(t *testing.T) {
	for text, want := range map[string]error{
		"ZRANK z a": nil, "ZRANK z a WithScore": nil, "ZRANK z a WITHSCORES": resp.ErrSyntax, "ZRANK z a WITHSCORE x": resp.WrongArity("zrank"),
	} {
		if got, err := args.ZRank("zrank")(line(text)); !errors.Is(err, want) || (err == nil && got != (len(line(text)) == 4)) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
