package resp

// The error texts of commands on lists, sets and sorted sets.
const (
	ErrRankZero       Failure = "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list"
	ErrNegativeCount  Failure = "ERR COUNT can't be negative"
	ErrNegativeMaxLen Failure = "ERR MAXLEN can't be negative"
	ErrNegativeLimit  Failure = "ERR LIMIT can't be negative"
	ErrNumKeysZero    Failure = "ERR numkeys should be greater than 0"
	ErrCountZero      Failure = "ERR count should be greater than 0"
	ErrZAddNXXX       Failure = "ERR XX and NX options at the same time are not compatible"
	ErrZAddGTLTNX     Failure = "ERR GT, LT, and/or NX options at the same time are not compatible"
	ErrZAddIncr       Failure = "ERR INCR option supports a single increment-element pair"
	ErrScoreNaN       Failure = "ERR resulting score is not a number (NaN)"
	ErrScoreRange     Failure = "ERR min or max is not a float"
	ErrLexRange       Failure = "ERR min or max not valid string range item"
	ErrRankLimit      Failure = "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
	ErrLexScores      Failure = "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
	ErrWeight         Failure = "ERR weight value is not a float"
)

// NoInputKey is the error of ZUNION and its relatives for fewer than one key; name is lower case.
func NoInputKey(name string) Failure {
	return Failure("ERR at least 1 input key is needed for '" + name + "' command")
}
