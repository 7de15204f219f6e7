package keyspace

import (
	"slices"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// combination makes a set of several, nil for those whose keys are absent. It calls f for each member of it until f
// returns false; a member may come twice.
type combination func(sets []*memberSet, f func(member string) bool)

func union(sets []*memberSet, f func(member string) bool) {
	more := true
	for _, s := range sets {
		s.each(func(member string) bool {
			more = more && f(member)
			return more
		})
	}
}

// intersection walks over the smallest set.
func intersection(sets []*memberSet, f func(member string) bool) {
	smallest := slices.MinFunc(sets, func(a, b *memberSet) int { return a.len() - b.len() })
	smallest.each(func(member string) bool {
		for _, other := range sets {
			if other != smallest && !other.has(member) {
				return true
			}
		}
		return f(member)
	})
}

// difference gives what the first set has and none of the others.
func difference(sets []*memberSet, f func(member string) bool) {
	sets[0].each(func(member string) bool {
		for _, other := range sets[1:] {
			if other.has(member) {
				return true
			}
		}
		return f(member)
	})
}

// gathered is the set that a combination makes.
func gathered(sets []*memberSet, c combination) *memberSet {
	result := &memberSet{}
	c(sets, func(member string) bool {
		result.add(member)
		return true
	})
	return result
}

func (t *Txn) combined(r *commands.Request, c combination) resp.Value {
	sets, err := lookups[*memberSet](t, r.Args[1:])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.SetOf(gathered(sets, c).values()...)
}

func (t *Txn) storeCombined(r *commands.Request, c combination) resp.Value {
	sets, err := lookups[*memberSet](t, r.Args[2:])
	if err != nil {
		return resp.ReplyFor(err)
	}
	result := gathered(sets, c)
	t.put(r.Args[1], result)
	return resp.Int(int64(result.len()))
}

// sintercard implements SINTERCARD (https://redis.io/docs/latest/commands/sintercard/).
func sintercard(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.CardinalityOptions)
	sets, err := lookups[*memberSet](t, opts.Keys)
	if err != nil {
		return resp.ReplyFor(err)
	}
	var n int64
	intersection(sets, func(string) bool {
		n++
		return n != opts.Limit
	})
	return resp.Int(n)
}
