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

// maxRepeats is how many elements HRANDFIELD and its relatives give when they may repeat, so that no short request
// asks for an endless reply.
const maxRepeats = 1 << 20

// RandomOptions are the options of HRANDFIELD (https://redis.io/docs/latest/commands/hrandfield/), SRANDMEMBER and
// ZRANDMEMBER.
type RandomOptions struct {
	One    bool  // no count was given: the reply is one element, not an array
	Count  int64 // negative: that many, which may repeat
	Values bool  // each with its value or score
}

// RandomParser returns the parser of HRANDFIELD and ZRANDMEMBER: name key [count [values]].
func RandomParser(values string) func(line []string) (RandomOptions, error) {
	return func(line []string) (RandomOptions, error) {
		o, err := randomCount(line)
		if err != nil {
			return o, err
		}
		if len(line) > 4 || (len(line) == 4 && !Is(line[3], values)) {
			return o, resp.ErrSyntax
		}
		o.Values = len(line) == 4
		return o, o.bounded()
	}
}

// SRandMember parses SRANDMEMBER key [count].
func SRandMember(line []string) (RandomOptions, error) {
	if len(line) > 3 {
		return RandomOptions{}, resp.ErrSyntax
	}
	o, err := randomCount(line)
	if err != nil {
		return o, err
	}
	return o, o.bounded()
}

func randomCount(line []string) (o RandomOptions, err error) {
	if len(line) == 2 {
		return RandomOptions{One: true, Count: 1}, nil
	}
	o.Count, err = IntBetween(line[2], -math.MaxInt64, math.MaxInt64)
	return o, err
}

func (o RandomOptions) bounded() error {
	if o.Count < -maxRepeats || (o.Values && o.Count > math.MaxInt64/2) {
		return resp.ErrValueRange
	}
	return nil
}
