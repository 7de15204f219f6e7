package keyspace

import (
	"math"
	"slices"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// zsetAlgebraHandlers are the commands that combine sorted sets.
func zsetAlgebraHandlers() map[string]handler {
	return map[string]handler{
		"zunion":      func(t *Txn, r *commands.Request) resp.Value { return t.zcombined(r, 1, zunion) },
		"zinter":      func(t *Txn, r *commands.Request) resp.Value { return t.zcombined(r, 1, zinter) },
		"zdiff":       func(t *Txn, r *commands.Request) resp.Value { return t.zcombined(r, 1, zdiff) },
		"zunionstore": func(t *Txn, r *commands.Request) resp.Value { return t.zcombined(r, 2, zunion) },
		"zinterstore": func(t *Txn, r *commands.Request) resp.Value { return t.zcombined(r, 2, zinter) },
		"zdiffstore":  func(t *Txn, r *commands.Request) resp.Value { return t.zcombined(r, 2, zdiff) },
		"zintercard":  zintercard,
	}
}

// operand is a sorted set with the weight of its scores, or a set, whose members have the score 1.
type operand struct {
	z      *zset
	s      *memberSet
	weight float64
}

func (o operand) len() int { return o.z.len() + o.s.len() }

// score returns the weighted score of a member. What is no number counts as 0, as in Redis.
func (o operand) score(member string) (float64, bool) {
	if o.s != nil {
		return o.weight, o.s.has(member)
	}
	score, ok := o.z.score(member)
	return o.weighted(score), ok
}

func (o operand) weighted(score float64) float64 {
	if score *= o.weight; math.IsNaN(score) {
		return 0
	}
	return score
}

// each calls f for every member with its weighted score until it returns false.
func (o operand) each(f func(member string, score float64) bool) {
	o.s.each(func(member string) bool { return f(member, o.weight) })
	o.z.all(func(m scored) bool { return f(m.member, o.weighted(m.score)) })
}

// operands looks the keys up. WRONGTYPE comes before what is wrong with the options.
func (t *Txn) operands(opts args.ZAlgebraOptions) ([]operand, error) {
	all := make([]operand, len(opts.Keys))
	for i, key := range opts.Keys {
		all[i].weight = 1
		if opts.Weights != nil {
			all[i].weight = opts.Weights[i]
		}
		o := t.find(key)
		if o == nil {
			continue
		}
		switch c := o.coll.(type) {
		case *zset:
			all[i].z = c
		case *memberSet:
			all[i].s = c
		default:
			return nil, resp.ErrWrongType
		}
	}
	return all, opts.Err
}

// bySize puts small operands first, as Redis does: sums of floats depend on the order.
func bySize(all []operand) []operand {
	slices.SortStableFunc(all, func(a, b operand) int { return a.len() - b.len() })
	return all
}

// zcombination calls f for members with scores, which is to be joined with those of the same member before.
type zcombination func(all []operand, join func(a, b float64) float64, f func(member string, score float64) bool)

func zunion(all []operand, _ func(a, b float64) float64, f func(member string, score float64) bool) {
	for _, o := range bySize(all) {
		o.each(f)
	}
}

func zinter(all []operand, join func(a, b float64) float64, f func(member string, score float64) bool) {
	all = bySize(all)
	all[0].each(func(member string, score float64) bool {
		for _, o := range all[1:] {
			other, ok := o.score(member)
			if !ok {
				return true
			}
			score = join(score, other)
		}
		return f(member, score)
	})
}

func zdiff(all []operand, _ func(a, b float64) float64, f func(member string, score float64) bool) {
	all[0].each(func(member string, score float64) bool {
		for _, o := range all[1:] {
			if _, ok := o.score(member); ok {
				return true
			}
		}
		return f(member, score)
	})
}

func joinOf(a args.Aggregate) func(a, b float64) float64 {
	switch a {
	case args.Min:
		return func(a, b float64) float64 { return min(a, b) }
	case args.Max:
		return func(a, b float64) float64 { return max(a, b) }
	default:
		return sumOfScores
	}
}

// sumOfScores is 0 for the sum of the two infinities, as in Redis.
func sumOfScores(a, b float64) float64 {
	if s := a + b; !math.IsNaN(s) {
		return s
	}
	return 0
}

// zcombined answers a combination, or stores it when the number of keys is the second argument behind a destination.
func (t *Txn) zcombined(r *commands.Request, at int, combine zcombination) resp.Value {
	opts, _ := r.Opts.(args.ZAlgebraOptions)
	all, err := t.operands(opts)
	if err != nil {
		return resp.ReplyFor(err)
	}
	result := zsetOf(combinedScores(all, combine, joinOf(opts.Aggregate)))
	if at == 1 {
		return ranked(result.list(), opts.WithScores)
	}
	t.put(r.Args[1], result)
	return resp.Int(int64(result.len()))
}

// combinedScores are the members of a combination, each once.
func combinedScores(all []operand, combine zcombination, join func(a, b float64) float64) []scored {
	var members []scored
	place := make(map[string]int)
	combine(all, join, func(member string, score float64) bool {
		if at, had := place[member]; had {
			members[at].score = join(members[at].score, score)
			return true
		}
		place[member] = len(members)
		members = append(members, scored{member, score})
		return true
	})
	return members
}

// zintercard implements ZINTERCARD (https://redis.io/docs/latest/commands/zintercard/).
func zintercard(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.ZAlgebraOptions)
	all, err := t.operands(opts)
	if err != nil {
		return resp.ReplyFor(err)
	}
	var n int64
	zinter(all, sumOfScores, func(string, float64) bool {
		n++
		return n != opts.Limit
	})
	return resp.Int(n)
}
