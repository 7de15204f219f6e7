package keyspace

import (
	"math"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// scoreChange is what ZADD does with one member.
type scoreChange struct {
	score          float64 // the score afterwards
	added, updated bool
	refused        bool // by NX, XX, GT or LT
	nan            bool // the sum of INCR is no number
}

func (c scoreChange) changes() bool { return c.added || c.updated }

// planned tells what ZADD would do with its i-th member.
func (z *zset) planned(o args.ZAddOptions, i int) scoreChange {
	score := o.Scores[i]
	old, had := z.score(o.Members[i])
	switch {
	case !had:
		return scoreChange{score: score, added: o.When != args.IfPresent, refused: o.When == args.IfPresent}
	case o.When == args.IfAbsent:
		return scoreChange{refused: true}
	case o.Incr:
		score += old
	}
	return scoreChange{
		score: score, updated: score != old, nan: math.IsNaN(score),
		refused: (o.Greater && score <= old) || (o.Less && score >= old),
	}.settled()
}

// settled drops the update that was refused.
func (c scoreChange) settled() scoreChange {
	c.updated = c.updated && !c.refused
	return c
}

// zadd implements ZADD (https://redis.io/docs/latest/commands/zadd/) and ZINCRBY.
func zadd(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.ZAddOptions)
	z, err := lookup[*zset](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	var first scoreChange // the first that changes something, else the last
	for i := 0; i < len(opts.Members) && !first.changes(); i++ {
		first = z.planned(opts, i)
	}
	switch {
	case first.nan:
		return resp.ErrScoreNaN.Value()
	case !first.changes():
		return scoresReply(opts, 0, 0, first)
	}
	return edited(t, r.Args[1], &zset{}).addScores(opts)
}

func (z *zset) addScores(opts args.ZAddOptions) resp.Value {
	var added, updated int64
	var last scoreChange
	for i, member := range opts.Members {
		last = z.planned(opts, i)
		if last.changes() {
			z.put(member, last.score)
		}
		if last.added {
			added++
		}
		if last.updated {
			updated++
		}
	}
	return scoresReply(opts, added, updated, last)
}

func scoresReply(opts args.ZAddOptions, added, updated int64, last scoreChange) resp.Value {
	switch {
	case opts.Incr && last.refused:
		return resp.Value{}
	case opts.Incr:
		return resp.Float(last.score)
	case opts.Changed:
		return resp.Int(added + updated)
	}
	return resp.Int(added)
}
