package args

import "github.com/redfence/redfence/commands/resp"

// ZAddOptions are the options of ZADD (https://redis.io/docs/latest/commands/zadd/) and ZINCRBY.
type ZAddOptions struct {
	When    Condition
	Greater bool // GT: a score is only raised
	Less    bool // LT: a score is only lowered
	Changed bool // CH: the reply counts changed scores too
	Incr    bool // INCR: the number is added to the score, which is the reply
	Scores  []float64
	Members []string // as many as scores
}

// ZAdd parses ZADD key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...].
func ZAdd(line []string) (ZAddOptions, error) {
	var o ZAddOptions
	var nx, xx bool
	at := 2
	for at < len(line) && o.flag(line[at], &nx, &xx) {
		at++
	}
	pairs := line[at:]
	switch {
	case len(pairs) == 0 || len(pairs)%2 != 0:
		return o, resp.ErrSyntax
	case nx && xx:
		return o, resp.ErrZAddNXXX
	case (o.Greater && nx) || (o.Less && nx) || (o.Greater && o.Less):
		return o, resp.ErrZAddGTLTNX
	case o.Incr && len(pairs) > 2:
		return o, resp.ErrZAddIncr
	case nx:
		o.When = IfAbsent
	case xx:
		o.When = IfPresent
	}
	err := o.read(pairs)
	return o, err
}

func (o *ZAddOptions) flag(word string, nx, xx *bool) bool {
	for _, f := range []struct {
		name string
		set  *bool
	}{{"NX", nx}, {"XX", xx}, {"GT", &o.Greater}, {"LT", &o.Less}, {"CH", &o.Changed}, {"INCR", &o.Incr}} {
		if Is(word, f.name) {
			*f.set = true
			return true
		}
	}
	return false
}

// read reads scores and members in turn.
func (o *ZAddOptions) read(pairs []string) error {
	o.Scores, o.Members = make([]float64, len(pairs)/2), make([]string, len(pairs)/2)
	for i := range o.Scores {
		score, err := Float(pairs[2*i])
		if err != nil {
			return err
		}
		o.Scores[i], o.Members[i] = score, pairs[2*i+1]
	}
	return nil
}

// ZIncrBy parses ZINCRBY key increment member.
func ZIncrBy(line []string) (ZAddOptions, error) {
	o := ZAddOptions{Incr: true}
	err := o.read(line[2:])
	return o, err
}

// ZRank parses ZRANK key member [WITHSCORE], and ZREVRANK; command is its name. It tells whether the score is wanted.
func ZRank(command string) func(line []string) (bool, error) {
	return func(line []string) (bool, error) {
		switch {
		case len(line) > 4:
			return false, resp.WrongArity(command)
		case len(line) == 4 && !Is(line[3], "WITHSCORE"):
			return false, resp.ErrSyntax
		}
		return len(line) == 4, nil
	}
}

// Aggregate says how ZUNION and ZINTER join the scores of a member.
type Aggregate uint8

// The ways of AGGREGATE.
const (
	Sum Aggregate = iota
	Min
	Max
)

// ZAlgebraOptions are the options of ZUNION, ZINTER, ZDIFF, those of the same names that store, and ZINTERCARD.
type ZAlgebraOptions struct {
	Keys       []string
	Weights    []float64 // one for each key, nil when all are 1
	Aggregate  Aggregate
	WithScores bool
	Limit      int64 // ZINTERCARD: counting ends there; 0 means never
	// Err is what is wrong with the options. Redis looks at the keys before them, so WRONGTYPE comes first.
	Err error
}

// ZAlgebra says which of the options a command takes, and where its number of keys stands.
type ZAlgebra struct {
	Command string
	At      int  // index of numkeys: 2 when a destination comes before it
	Join    bool // WEIGHTS and AGGREGATE
	Card    bool // LIMIT, and none of the others
}

// Parse parses name [destination] numkeys key [key ...] [WEIGHTS w ...] [AGGREGATE SUM|MIN|MAX] [WITHSCORES] [LIMIT n].
func (a ZAlgebra) Parse(line []string) (o ZAlgebraOptions, err error) {
	n, err := Int(line[a.At])
	switch {
	case err != nil:
		return o, err
	case n < 1:
		return o, resp.NoInputKey(a.Command)
	case n > int64(len(line)-a.At-1):
		return o, resp.ErrSyntax
	}
	o.Keys = line[a.At+1 : a.At+1+int(n)]
	r := From(line, a.At+1+int(n))
	for r.More() && o.Err == nil {
		o.Err = a.option(&o, r)
	}
	return o, nil
}

func (a ZAlgebra) option(o *ZAlgebraOptions, r *Reader) (err error) {
	word, _ := r.Word()
	switch {
	case a.Join && Is(word, "WEIGHTS") && r.Left() >= len(o.Keys):
		return o.weights(r)
	case a.Join && Is(word, "AGGREGATE") && r.More():
		name, _ := r.Word()
		o.Aggregate, err = aggregate(name)
	case a.At == 1 && !a.Card && Is(word, "WITHSCORES"):
		o.WithScores = true
	case a.Card && Is(word, "LIMIT") && r.More():
		text, _ := r.Word()
		o.Limit, err = atLeast(0, text, resp.ErrNegativeLimit)
	default:
		err = resp.ErrSyntax
	}
	return err
}

func (o *ZAlgebraOptions) weights(r *Reader) error {
	o.Weights = make([]float64, len(o.Keys))
	for i := range o.Weights {
		text, _ := r.Word()
		w, err := Float(text)
		if err != nil {
			return resp.ErrWeight
		}
		o.Weights[i] = w
	}
	return nil
}

func aggregate(name string) (Aggregate, error) {
	for i, known := range []string{"SUM", "MIN", "MAX"} {
		if Is(name, known) {
			return Aggregate(i), nil
		}
	}
	return Sum, resp.ErrSyntax
}
