package keyspace

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/tidwall/btree"
)

// A sorted set is one list up to these bounds, which are those of Redis (zset-max-listpack-entries and
// zset-max-listpack-value).
const (
	smallZSet   = 128
	smallMember = 64 // bytes
)

// scored is a member of a sorted set.
type scored struct {
	member string
	score  float64
}

func scoredBefore(a, b scored) bool {
	if a.score != b.score {
		return a.score < b.score
	}
	return a.member < b.member
}

func scoredOrder(a, b scored) int {
	if a.score != b.score {
		return cmp.Compare(a.score, b.score)
	}
	return strings.Compare(a.member, b.member)
}

// zset is the value of a sorted set key: its members in the order of (score, member). While small that is a slice; when
// large a B-tree, which counts its nodes, so that positions are found quickly, with the scores by member beside it.
// It never turns back. A nil zset, as of an absent key, has no members.
type zset struct {
	small  []scored
	order  *btree.BTreeG[scored] // large
	scores dict[float64]         // large
	size   int64
}

func (z *zset) clone() collection {
	if z.order != nil {
		return &zset{order: z.order.Copy(), scores: z.scores.copy(), size: z.size}
	}
	return &zset{small: slices.Clone(z.small), size: z.size}
}

func (z *zset) blank() collection { return &zset{} }

func (z *zset) typeName() string { return "zset" }

func (z *zset) encoding() string {
	if z.order != nil {
		return "skiplist"
	}
	return "listpack"
}

func (z *zset) bytes() int64 { return z.size }

func (z *zset) empty() bool { return z.len() == 0 }

func (z *zset) len() int {
	switch {
	case z == nil:
		return 0
	case z.order != nil:
		return z.order.Len()
	}
	return len(z.small)
}

// score returns the score of a member.
func (z *zset) score(member string) (float64, bool) {
	if z == nil {
		return 0, false
	}
	if z.order != nil {
		return z.scores.get(member)
	}
	for i := range z.small {
		if z.small[i].member == member {
			return z.small[i].score, true
		}
	}
	return 0, false
}

// put gives a member a score. A new member is copied. A negative zero becomes 0, as in the small sorted sets of Redis.
func (z *zset) put(member string, score float64) {
	score += 0
	old, had := z.score(member)
	switch {
	case had && old == score:
		return
	case had:
		member = z.takeOut(scored{member, old}).member
	default:
		member = strings.Clone(member)
		z.size += int64(elementBytes + len(member))
	}
	m := scored{member, score}
	if z.order == nil && (len(z.small) >= smallZSet || len(member) > smallMember) {
		z.grow()
	}
	if z.order != nil {
		z.order.Set(m)
		z.scores.set(member, score)
		return
	}
	z.small = slices.Insert(z.small, z.rank(member, score), m)
}

// zsetOf makes a sorted set of members that differ and puts them in order.
func zsetOf(members []scored) *zset {
	z, small := &zset{}, len(members) <= smallZSet
	for i := range members {
		members[i].score += 0
		members[i].member = strings.Clone(members[i].member)
		z.size += int64(elementBytes + len(members[i].member))
		small = small && len(members[i].member) <= smallMember
	}
	slices.SortFunc(members, scoredOrder)
	if z.small = members; !small {
		z.grow()
	}
	return z
}

func (z *zset) grow() {
	small := z.small
	*z = zset{order: btree.NewBTreeGOptions(scoredBefore, btree.Options{NoLocks: true}), scores: newDict[float64](), size: z.size}
	for _, m := range small {
		z.order.Load(m)
		z.scores.set(m.member, m.score)
	}
}

// takeOut removes a member that is there from the order, and returns it as it was kept.
func (z *zset) takeOut(m scored) scored {
	if z.order != nil {
		kept, _ := z.order.Delete(m)
		return kept
	}
	at := z.rank(m.member, m.score)
	kept := z.small[at]
	z.small = slices.Delete(z.small, at, at+1)
	return kept
}

// del removes a member and tells whether it was there.
func (z *zset) del(member string) bool {
	score, had := z.score(member)
	if !had {
		return false
	}
	z.takeOut(scored{member, score})
	z.size -= int64(elementBytes + len(member))
	if z.order != nil {
		z.scores.del(member)
	}
	return true
}

// cut removes the members from position from to position to-1. The blank zset of a dry transaction has none.
func (z *zset) cut(from, to int) {
	to = min(to, z.len())
	if from >= to {
		return
	}
	z.each(from, to, false, func(m scored) bool {
		z.size -= int64(elementBytes + len(m.member))
		return true
	})
	if z.order == nil {
		z.small = slices.Delete(z.small, from, to)
		return
	}
	for range to - from {
		m, _ := z.order.DeleteAt(from)
		z.scores.del(m.member)
	}
}

// at returns the member at a position, which must exist.
func (z *zset) at(i int) scored {
	if z.order != nil {
		m, _ := z.order.GetAt(i)
		return m
	}
	return z.small[i]
}

// rank returns how many members stand before the place of a member with a score.
func (z *zset) rank(member string, score float64) int {
	m := scored{member, score}
	return z.first(func(other scored) bool { return !scoredBefore(other, m) })
}

// first returns the first position at which reached holds; it must hold from there on. It is the length when there is
// no such position.
func (z *zset) first(reached func(scored) bool) int {
	return sort.Search(z.len(), func(i int) bool { return reached(z.at(i)) })
}

// each calls f for the members from position from to position to-1, in the other direction when rev, until it returns
// false.
func (z *zset) each(from, to int, rev bool, f func(scored) bool) {
	switch {
	case z == nil || from >= to:
	case z.order == nil && rev:
		for i := to - 1; i >= from && f(z.small[i]); i-- {
		}
	case z.order == nil:
		for i := from; i < to && f(z.small[i]); i++ {
		}
	case rev:
		z.order.Descend(z.at(to-1), counted(to-from, f))
	default:
		z.order.Ascend(z.at(from), counted(to-from, f))
	}
}

// counted stops a walk after n members.
func counted(n int, f func(scored) bool) func(scored) bool {
	return func(m scored) bool {
		n--
		return f(m) && n > 0
	}
}

// all calls f for every member in order until it returns false.
func (z *zset) all(f func(scored) bool) { z.each(0, z.len(), false, f) }

func (z *zset) list() []scored {
	all := make([]scored, 0, z.len())
	z.all(func(m scored) bool {
		all = append(all, m)
		return true
	})
	return all
}

// scan is dict.scan. A small sorted set comes whole, whatever the cursor, as in Redis.
func (z *zset) scan(cursor uint64, limit int, f func(member string, score float64)) (next uint64) {
	if z.order != nil {
		return z.scores.scan(cursor, limit, f)
	}
	for _, m := range z.small {
		f(m.member, m.score)
	}
	return 0
}

// same tells whether two sorted sets have the same members with the same scores in the same form.
func (z *zset) same(other *zset) bool {
	return z.encoding() == other.encoding() && z.len() == other.len() && slices.Equal(z.list(), other.list())
}
