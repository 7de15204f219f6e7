package keyspace

import (
	"math"
	"strconv"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/glob"
	"github.com/redfence/redfence/commands/resp"
)

// zsetHandlers are the commands of https://redis.io/docs/latest/commands/?group=sorted-set that do not wait.
func zsetHandlers() map[string]handler {
	return map[string]handler{
		"zcard":       zcard,
		"zscore":      zscore,
		"zmscore":     zmscore,
		"zrank":       func(t *Txn, r *commands.Request) resp.Value { return t.zrank(r, false) },
		"zrevrank":    func(t *Txn, r *commands.Request) resp.Value { return t.zrank(r, true) },
		"zrandmember": zrandmember,
		"zscan":       zscan,
		"zadd":        zadd,
		"zincrby":     zadd,
		"zrem":        zrem,
		"zpopmin":     func(t *Txn, r *commands.Request) resp.Value { return t.zpop(r, true) },
		"zpopmax":     func(t *Txn, r *commands.Request) resp.Value { return t.zpop(r, false) },
		"zmpop":       zmpop,
	}
}

func zcard(t *Txn, r *commands.Request) resp.Value {
	z, err := lookup[*zset](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.Int(int64(z.len()))
}

func zscore(t *Txn, r *commands.Request) resp.Value {
	z, err := lookup[*zset](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return z.scoreValue(r.Args[2])
}

// scoreValue is the score of a member, or nil.
func (z *zset) scoreValue(member string) resp.Value {
	score, ok := z.score(member)
	if !ok {
		return resp.Value{}
	}
	return resp.Float(score)
}

func zmscore(t *Txn, r *commands.Request) resp.Value {
	z, err := lookup[*zset](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	var scores []resp.Value
	for _, member := range r.Args[2:] {
		scores = append(scores, z.scoreValue(member))
	}
	return resp.Arr(scores...)
}

// zrank implements ZRANK (https://redis.io/docs/latest/commands/zrank/) and ZREVRANK.
func (t *Txn) zrank(r *commands.Request, rev bool) resp.Value {
	withScore, _ := r.Opts.(bool)
	z, err := lookup[*zset](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	score, ok := z.score(r.Args[2])
	switch {
	case !ok && withScore:
		return resp.Value{Kind: resp.NullArray}
	case !ok:
		return resp.Value{}
	}
	rank := z.rank(r.Args[2], score)
	if rev {
		rank = z.len() - 1 - rank
	}
	if withScore {
		return resp.Arr(resp.Int(int64(rank)), resp.Float(score))
	}
	return resp.Int(int64(rank))
}

// zrandmember implements ZRANDMEMBER (https://redis.io/docs/latest/commands/zrandmember/). Which members it picks
// follows from the transaction, see Txn.random.
func zrandmember(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.RandomOptions)
	z, err := lookup[*zset](t, r.Args[1])
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case opts.One && z == nil:
		return resp.Value{}
	case z == nil:
		return resp.Arr()
	case opts.One:
		return resp.Str(z.at(t.random(z.len())).member)
	}
	var picked []scored
	for _, at := range t.pick(z.len(), opts.Count) {
		picked = append(picked, z.at(at))
	}
	return ranked(picked, opts.Values)
}

// ranked is a reply of members, each with its score on demand.
func ranked(members []scored, scores bool) resp.Value {
	rows := make([]resp.Value, 0, 2*len(members))
	for _, m := range members {
		rows = append(rows, resp.Str(m.member))
		if scores {
			rows = append(rows, resp.Float(m.score))
		}
	}
	if scores {
		return resp.PairsOf(rows...)
	}
	return resp.Arr(rows...)
}

func zscan(t *Txn, r *commands.Request) resp.Value {
	z, err := lookup[*zset](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	if z == nil {
		return scanned(0, nil)
	}
	cursor, _ := r.Opts.(args.HScanOptions)
	opts, err := cursor.Options()
	if err != nil {
		return resp.ReplyFor(err)
	}
	var found []resp.Value
	next := z.scan(opts.Cursor, opts.Count, func(member string, score float64) {
		if glob.Match(opts.Match, member) {
			found = append(found, resp.Str(member), resp.Str(z.scanText(score)))
		}
	})
	return scanned(next, found)
}

// scanText is how ZSCAN shows a score: unlike other commands it shows every integer of a small sorted set in full.
func (z *zset) scanText(score float64) string {
	if z.order == nil && score == math.Trunc(score) && math.Abs(score) <= math.MaxInt64/2 {
		return strconv.FormatInt(int64(score), 10)
	}
	return resp.FormatDouble(score)
}

func zrem(t *Txn, r *commands.Request) resp.Value {
	key, members := r.Args[1], r.Args[2:]
	z, err := lookup[*zset](t, key)
	if err != nil {
		return resp.ReplyFor(err)
	}
	if !z.hasAny(members) {
		return resp.Int(0)
	}
	z = edited(t, key, &zset{})
	var n int64
	for _, member := range members {
		if z.del(member) {
			n++
		}
	}
	t.tidy(key, z)
	return resp.Int(n)
}

func (z *zset) hasAny(members []string) bool {
	for _, member := range members {
		if _, ok := z.score(member); ok {
			return true
		}
	}
	return false
}
