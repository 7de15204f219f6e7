package args

import (
	"math"

	"github.com/redfence/redfence/commands/resp"
)

// HIncrBy parses HINCRBY key field n.
func HIncrBy(line []string) (int64, error) { return Int(line[3]) }

// HIncrByFloat parses HINCRBYFLOAT key field n.
func HIncrByFloat(line []string) (LongDouble, error) {
	n, err := ParseLongDouble(line[3])
	if err == nil && n.IsInf() {
		err = resp.ErrNanOrInfValue
	}
	return n, err
}

// maxRepeats is how many fields HRANDFIELD gives when they may repeat, so that no short request asks for an endless
// reply.
const maxRepeats = 1 << 20

// RandomOptions are the options of HRANDFIELD (https://redis.io/docs/latest/commands/hrandfield/).
type RandomOptions struct {
	One    bool  // no count was given: the reply is one field, not an array
	Count  int64 // negative: that many, which may repeat
	Values bool  // each with its value
}

// HRandField parses HRANDFIELD key [count [WITHVALUES]].
func HRandField(line []string) (o RandomOptions, err error) {
	if len(line) == 2 {
		return RandomOptions{One: true, Count: 1}, nil
	}
	if o.Count, err = IntBetween(line[2], -math.MaxInt64, math.MaxInt64); err != nil {
		return o, err
	}
	if len(line) > 4 || (len(line) == 4 && !Is(line[3], "WITHVALUES")) {
		return o, resp.ErrSyntax
	}
	o.Values = len(line) == 4
	if (o.Values && (o.Count < -math.MaxInt64/2 || o.Count > math.MaxInt64/2)) || o.Count < -maxRepeats {
		return o, resp.ErrValueRange
	}
	return o, nil
}
