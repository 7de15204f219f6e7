package script

// rng is the generator behind math.random: the 48-bit linear congruential generator of drand48, with 31 bits of result,
// the one of Redis. Each script begins with the seed 0, as in Redis up to 6; Redis 7 goes on where the last script stopped.
type rng struct{ state uint64 }

const (
	rngMultiplier = 0x5DEECE66D
	rngIncrement  = 0xB
	rngSeedLow    = 0x330E
	rngMask       = 1<<48 - 1
	rngMax        = 1<<31 - 1
)

// newRNG seeds a generator; only the low 32 bits count.
func newRNG(seed int32) rng { return rng{state: uint64(uint32(seed))<<16 | rngSeedLow} }

// next draws an integer from 0 to 2^31-1.
func (r *rng) next() int32 {
	r.state = (r.state*rngMultiplier + rngIncrement) & rngMask
	return int32(r.state >> 17)
}

// float draws a number from 0 to below 1.
func (r *rng) float() float64 { return float64(r.next()%rngMax) / rngMax }
