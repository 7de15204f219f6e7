package keyspace

// random returns a number from 0 to n-1. It looks random to clients and is the same wherever the transaction runs:
// it follows from the stamp and from how many were drawn before (splitmix64 of Steele, Lea and Flood, 2014).
func (t *Txn) random(n int) int {
	t.draws++
	x := uint64(t.stamp.Wall)*0x9e3779b97f4a7c15 + uint64(t.stamp.Clock) + t.draws*0xd1342543de82ef95
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(n))
}

// pick draws positions out of n: up to count different ones, or exactly -count that may repeat when it is negative.
func (t *Txn) pick(n int, count int64) []int {
	if count < 0 {
		positions := make([]int, -count)
		for i := range positions {
			positions[i] = t.random(n)
		}
		return positions
	}
	positions := make([]int, n)
	for i := range positions {
		positions[i] = i
	}
	some := int(min(count, int64(n)))
	for i := range some { // the first steps of a Fisher-Yates shuffle
		j := i + t.random(n-i)
		positions[i], positions[j] = positions[j], positions[i]
	}
	return positions[:some]
}
