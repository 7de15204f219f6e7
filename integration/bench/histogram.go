package main

import (
	"math/bits"
	"time"
)

const (
	subBits = 5                   // a bucket is at most 1/32 wide relative to its value
	buckets = (40 - subBits) << 5 // up to 2^39 ns, nine minutes
)

// histogram counts durations in buckets whose width grows with the value.
type histogram struct {
	counts [buckets]uint32
	n      int
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.n++
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
}

// quantile returns the smallest bucket bound that a share q of the durations does not exceed; 0 when there are none.
func (h *histogram) quantile(q float64) time.Duration {
	left := int(q * float64(h.n))
	for i, n := range h.counts {
		left -= int(n)
		if left < 0 {
			return boundOf(i)
		}
	}
	return 0
}

// bucketOf keeps the leading subBits+1 binary digits: below 2^subBits every nanosecond has its bucket, above every
// power of two is cut into 2^subBits of them.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-subBits-1, 0)
	return min(shift<<subBits+int(v>>shift), buckets-1)
}

// boundOf is the largest duration of a bucket.
func boundOf(bucket int) time.Duration {
	shift := max(bucket>>subBits-1, 0)
	return time.Duration((bucket-shift<<subBits+1)<<shift - 1)
}
