package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// zsetRangeHandlers are the commands of redis.io's group "sorted-set" that work on ranges.
func zsetRangeHandlers() map[string]handler {
	return map[string]handler{
		"zcount":           zcount,
		"zlexcount":        zcount,
		"zrange":           zrange,
		"zrevrange":        zrange,
		"zrangebyscore":    zrange,
		"zrevrangebyscore": zrange,
		"zrangebylex":      zrange,
		"zrevrangebylex":   zrange,
		"zrangestore":      zrangestore,
		"zremrangebyrank":  zremrange,
		"zremrangebyscore": zremrange,
		"zremrangebylex":   zremrange,
	}
}

// span turns a range into positions, a half-open interval in the order of the sorted set. LIMIT is not applied.
func (z *zset) span(o args.ZRangeOptions) (from, to int) {
	n := z.len()
	switch o.By {
	case args.ByScore:
		from, to = z.first(atOrAbove(o.Scores[0])), z.first(above(o.Scores[1]))
	case args.ByLex:
		from, to = z.first(atOrBehind(o.Lex[0])), z.first(behind(o.Lex[1]))
	default:
		from, to = span(o.Ranks, n)
		if o.Rev {
			from, to = n-to, n-from
		}
	}
	return from, max(from, to)
}

// atOrAbove tells whether a score lies within a range with the lower end b; above whether it lies over the upper end.
func atOrAbove(b args.ScoreBound) func(scored) bool {
	return func(m scored) bool { return m.score > b.Score || (m.score == b.Score && !b.Open) }
}

func above(b args.ScoreBound) func(scored) bool {
	return func(m scored) bool { return m.score > b.Score || (m.score == b.Score && b.Open) }
}

// atOrBehind tells whether a member lies within a range with the lower end b; behind whether it lies past the upper end.
func atOrBehind(b args.LexBound) func(scored) bool {
	return func(m scored) bool {
		return b.Far < 0 || (b.Far == 0 && (m.member > b.Text || (m.member == b.Text && !b.Open)))
	}
}

func behind(b args.LexBound) func(scored) bool {
	return func(m scored) bool {
		return b.Far < 0 || (b.Far == 0 && (m.member > b.Text || (m.member == b.Text && b.Open)))
	}
}

// selection returns the members of a range in the order of the reply, LIMIT applied.
func (z *zset) selection(o args.ZRangeOptions) []scored {
	from, to := z.span(o)
	n := int64(to - from)
	offset := o.Offset
	if offset < 0 {
		offset = n
	}
	skip := int(min(offset, n))
	if n -= int64(skip); o.Limit >= 0 {
		n = min(n, o.Limit)
	}
	if o.Rev {
		to -= skip
		from = to - int(n)
	} else {
		from += skip
		to = from + int(n)
	}
	selected := make([]scored, 0, n)
	z.each(from, to, o.Rev, func(m scored) bool {
		selected = append(selected, m)
		return true
	})
	return selected
}

func zcount(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.ZRangeOptions)
	z, err := lookup[*zset](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	from, to := z.span(opts)
	return resp.Int(int64(to - from))
}

// zrange implements ZRANGE (https://redis.io/docs/latest/commands/zrange/) and the older commands that it replaces.
func zrange(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.ZRangeOptions)
	z, err := lookup[*zset](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return ranked(z.selection(opts), opts.WithScores)
}

func zrangestore(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.ZRangeOptions)
	z, err := lookup[*zset](t, r.Args[2])
	if err != nil {
		return resp.ReplyFor(err)
	}
	result := zsetOf(z.selection(opts))
	t.put(r.Args[1], result)
	return resp.Int(int64(result.len()))
}

// zremrange implements ZREMRANGEBYRANK, ZREMRANGEBYSCORE and ZREMRANGEBYLEX. Semaphores drop the permits whose time
// is over by it.
func zremrange(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.ZRangeOptions)
	z, err := lookup[*zset](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	from, to := z.span(opts)
	if from < to {
		t.cutZSet(r.Args[1], from, to)
	}
	return resp.Int(int64(to - from))
}

// cutZSet removes the members of an interval of positions from the sorted set of a key, and the key with the last.
func (t *Txn) cutZSet(key string, from, to int) {
	z := edited(t, key, &zset{})
	z.cut(from, to)
	t.tidy(key, z)
}

// zpop implements ZPOPMIN (https://redis.io/docs/latest/commands/zpopmin/) and ZPOPMAX.
func (t *Txn) zpop(r *commands.Request, lowest bool) resp.Value {
	opts, _ := r.Opts.(args.Size)
	z, err := lookup[*zset](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	popped := ranked(t.takeScored(r.Args[1], z, lowest, opts.Count), true)
	if opts.One || len(popped.Elems) == 0 {
		return resp.Arr(popped.Elems...)
	}
	return popped
}

// takeScored removes up to count members from an end of the sorted set of a key and returns them as they come off.
func (t *Txn) takeScored(key string, z *zset, lowest bool, count int64) []scored {
	n := int(min(count, int64(z.len())))
	if n == 0 {
		return nil
	}
	from, to := 0, n
	if !lowest {
		from, to = z.len()-n, z.len()
	}
	taken := make([]scored, 0, n)
	z.each(from, to, !lowest, func(m scored) bool {
		taken = append(taken, m)
		return true
	})
	t.cutZSet(key, from, to)
	return taken
}

// zmpop implements ZMPOP (https://redis.io/docs/latest/commands/zmpop/).
func zmpop(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.MultiPop)
	return t.popZSets(opts)
}

// popZSets takes members from the first of several sorted sets that has any.
func (t *Txn) popZSets(opts args.MultiPop) resp.Value {
	for _, key := range opts.Keys {
		z, err := lookup[*zset](t, key)
		if err != nil {
			return resp.ReplyFor(err)
		}
		if z != nil {
			popped := ranked(t.takeScored(key, z, opts.First, opts.Count), true)
			return resp.Arr(resp.Str(key), resp.Arr(popped.Rows()...))
		}
	}
	return resp.Value{Kind: resp.NullArray}
}
