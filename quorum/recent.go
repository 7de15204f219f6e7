package quorum

import (
	"hash/maphash"
	"sync/atomic"
)

// recent knows, for each key, the last request that may write it and was sent to the nodes, as its number. A state that
// an earlier request won is not copied to a node any more once a later one is on its way: the node may have been asked to
// release the very hold, and have answered that it has none, and a copy would bring that back.
//
// Keys share places. A key whose place another key has taken since only misses a copy, which its next write makes good.
type recent struct {
	seed   maphash.Seed
	places [1 << 16]atomic.Uint64
}

func (r *recent) place(db int, key string) *atomic.Uint64 {
	h := maphash.String(r.seed, key) + uint64(db)*0x9e3779b97f4a7c15
	return &r.places[h%uint64(len(r.places))]
}

// note takes down that a request for keys is about to be sent.
func (r *recent) note(db int, keys []string, number uint64) {
	for _, key := range keys {
		r.place(db, key).Store(number)
	}
}

// since tells whether a request for a key has been sent after that of a number.
func (r *recent) since(db int, key string, number uint64) bool {
	return r.place(db, key).Load() > number
}
