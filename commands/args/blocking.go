package args

import (
	"math"
	"math/big"
	"time"

	"github.com/redfence/redfence/commands/resp"
)

// Blocking are the options of a command that waits for elements of its keys.
type Blocking struct {
	Keys    []string      // waited for; an element of an earlier one is preferred
	Timeout time.Duration // how long to wait; zero is for ever
	Move    MoveOptions   // of BLMOVE and BRPOPLPUSH
	Pop     MultiPop      // of BLMPOP and BZMPOP
}

// BlockingPop parses BLPOP key [key ...] timeout, and BRPOP, BZPOPMIN and BZPOPMAX.
func BlockingPop(line []string) (o Blocking, err error) {
	last := len(line) - 1
	o.Keys = line[1:last]
	o.Timeout, err = timeout(line[last])
	return o, err
}

// BLMove parses BLMOVE source destination LEFT|RIGHT LEFT|RIGHT timeout.
func BLMove(line []string) (o Blocking, err error) {
	o.Keys = line[1:2]
	if o.Move, err = LMove(line); err != nil {
		return o, err
	}
	o.Timeout, err = timeout(line[5])
	return o, err
}

// BRPopLPush parses BRPOPLPUSH source destination timeout.
func BRPopLPush(line []string) (o Blocking, err error) {
	o.Keys, o.Move = line[1:2], MoveOptions{ToLeft: true}
	o.Timeout, err = timeout(line[3])
	return o, err
}

// BlockingMultiPop returns the parser of BLMPOP or BZMPOP timeout numkeys key [key ...] first|last [COUNT n].
func BlockingMultiPop(first, last string) func(line []string) (Blocking, error) {
	rest := MultiPopParser(2, first, last)
	return func(line []string) (o Blocking, err error) {
		if o.Pop, err = rest(line); err != nil {
			return o, err
		}
		o.Keys = o.Pop.Keys
		o.Timeout, err = timeout(line[1])
		return o, err
	}
}

// timeout parses seconds with a fraction as Redis does (timeout.c, getTimeoutFromObjectOrReply): rounded up to
// milliseconds, which must fit 64 bits. What overflows them is negative there. A time that no clock of ours reaches
// is for ever.
func timeout(word string) (time.Duration, error) {
	seconds, err := ParseLongDouble(word)
	if err != nil {
		return 0, resp.ErrTimeoutNotFloat
	}
	ms, ok := ceiling(new(big.Float).Mul(seconds.f, big.NewFloat(1000)))
	switch {
	case !ok || ms < 0:
		return 0, resp.ErrNegativeTimeout
	case ms > math.MaxInt64/int64(time.Millisecond):
		return 0, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// ceiling rounds up to an integer, if that fits 64 bits.
func ceiling(f *big.Float) (int64, bool) {
	n, rounding := f.Int64()
	if rounding == big.Below && (f.IsInf() || n == math.MaxInt64) || rounding == big.Above && n == math.MinInt64 {
		return 0, false
	}
	if rounding == big.Below {
		n++
	}
	return n, true
}
