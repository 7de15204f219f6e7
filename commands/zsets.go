package commands

import "github.com/redfence/redfence/commands/args"

// zsetRows are the rows of redis.io's group "sorted-set".
func zsetRows() []*Spec {
	var rows []*Spec
	for _, part := range [][]*Spec{zsetReads(), zsetRanges(), zsetAlgebra(), zsetWrites()} {
		rows = append(rows, inGroup(ZSetGroup, part)...)
	}
	return rows
}

func zsetReads() []*Spec {
	return []*Spec{
		{
			Name: "zcard", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: "1.2.0",
			Summary: "Returns the number of members of a sorted set.",
		},
		{
			Name: "zscore", Arity: 3, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: "1.2.0",
			Summary: "Returns the score of a member.",
		},
		{
			Name: "zmscore", Arity: -3, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: "6.2.0",
			Summary: "Returns the scores of members.",
		},
		{
			Name: "zrank", Arity: -3, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Parse: parse(args.ZRank("zrank")),
			Since: "2.0.0", Summary: "Returns the position of a member, counted from the lowest score.",
		},
		{
			Name: "zrevrank", Arity: -3, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Parse: parse(args.ZRank("zrevrank")),
			Since: "2.0.0", Summary: "Returns the position of a member, counted from the highest score.",
		},
		{
			Name: "zcount", Arity: 4, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Parse: parse(args.ZSpanParser(args.ByScore)),
			Since: "2.0.0", Summary: "Counts the members with scores in a range.",
		},
		{
			Name: "zlexcount", Arity: 4, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Parse: parse(args.ZSpanParser(args.ByLex)),
			Since: "2.8.9", Summary: "Counts the members in a range of the alphabet.",
		},
		{
			Name: "zrandmember", Arity: -2, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(args.RandomParser("WITHSCORES")),
			Since: "6.2.0", Summary: "Returns members of a sorted set at random.",
		},
		{
			Name: "zscan", Arity: -3, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(args.HScan), Since: "2.8.0",
			Summary: "Walks over the members of a sorted set.",
		},
	}
}

func zsetRanges() []*Spec {
	read := func(name string, form args.ZRange, since, summary string) *Spec {
		form.Source = 1
		return &Spec{
			Name: name, Arity: -4, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(form.Parse), Since: since, Summary: summary,
		}
	}
	return []*Spec{
		read("zrange", args.ZRange{Free: true}, "1.2.0", "Returns a range of members of a sorted set."),
		read("zrevrange", args.ZRange{Rev: true}, "1.2.0", "Returns a range of members by position, from the highest score."),
		read("zrangebyscore", args.ZRange{By: args.ByScore}, "1.0.5", "Returns the members with scores in a range."),
		read("zrevrangebyscore", args.ZRange{By: args.ByScore, Rev: true}, "2.2.0",
			"Returns the members with scores in a range, from the highest."),
		read("zrangebylex", args.ZRange{By: args.ByLex}, "2.8.9", "Returns the members in a range of the alphabet."),
		read("zrevrangebylex", args.ZRange{By: args.ByLex, Rev: true}, "2.8.9",
			"Returns the members in a range of the alphabet, from the last."),
		{
			Name: "zrangestore", Arity: -5, Flags: Write | DenyOOM, Keys: twoKeys, Raft: Change,
			Parse: parse(args.ZRange{Source: 2, Free: true}.Parse), Since: "6.2.0", Summary: "Stores a range of members of a sorted set.",
		},
	}
}

func zsetAlgebra() []*Spec {
	read := func(form args.ZAlgebra, since, summary string) *Spec {
		form.At = 1
		return &Spec{
			Name: form.Command, Arity: -3, Flags: ReadOnly | MovableKeys, Keys: countedKeys, Raft: Read,
			Parse: parse(form.Parse), Since: since, Summary: summary,
		}
	}
	store := func(form args.ZAlgebra, since, summary string) *Spec {
		form.At = 2
		return &Spec{
			Name: form.Command, Arity: -4, Flags: Write | DenyOOM | MovableKeys, Keys: targetKeys, Raft: Change,
			Parse: parse(form.Parse), Since: since, Summary: summary,
		}
	}
	return []*Spec{
		read(args.ZAlgebra{Command: "zunion", Join: true}, "6.2.0", "Returns the union of sorted sets."),
		read(args.ZAlgebra{Command: "zinter", Join: true}, "6.2.0", "Returns the intersection of sorted sets."),
		read(args.ZAlgebra{Command: "zdiff"}, "6.2.0", "Returns what a sorted set has and others lack."),
		read(args.ZAlgebra{Command: "zintercard", Card: true}, "7.0.0", "Returns the size of the intersection of sorted sets."),
		store(args.ZAlgebra{Command: "zunionstore", Join: true}, "2.0.0", "Stores the union of sorted sets."),
		store(args.ZAlgebra{Command: "zinterstore", Join: true}, "2.0.0", "Stores the intersection of sorted sets."),
		store(args.ZAlgebra{Command: "zdiffstore"}, "6.2.0", "Stores what a sorted set has and others lack."),
	}
}

func zsetWrites() []*Spec {
	span := func(name string, by args.RangeBy, since, summary string) *Spec {
		return &Spec{
			Name: name, Arity: 4, Flags: Write | Conditional, Keys: oneKey, Raft: Change, Parse: parse(args.ZSpanParser(by)),
			Since: since, Summary: summary,
		}
	}
	pop := func(name, summary string) *Spec {
		return &Spec{
			Name: name, Arity: -2, Flags: Write | Fast | Conditional, Keys: oneKey, Raft: Change, Parse: parse(args.Pop),
			Since: "5.0.0", Summary: summary,
		}
	}
	return []*Spec{
		{
			Name: "zadd", Arity: -4, Flags: Write | DenyOOM | Fast | Conditional, Keys: oneKey, Raft: Change, Parse: parse(args.ZAdd),
			Since: "1.2.0", Summary: "Adds members to a sorted set, or changes their scores.",
		},
		{
			Name: "zincrby", Arity: 4, Flags: Write | DenyOOM | Fast, Keys: oneKey, Raft: Change, Parse: parse(args.ZIncrBy),
			Since: "1.2.0", Summary: "Adds to the score of a member.",
		},
		{
			Name: "zrem", Arity: -3, Flags: Write | Fast | Conditional, Keys: oneKey, Raft: Change, Since: "1.2.0",
			Summary: "Removes members from a sorted set.",
		},
		span("zremrangebyrank", args.ByRank, "2.0.0", "Removes the members in a range of positions."),
		span("zremrangebyscore", args.ByScore, "1.2.0", "Removes the members with scores in a range."),
		span("zremrangebylex", args.ByLex, "2.8.9", "Removes the members in a range of the alphabet."),
		pop("zpopmin", "Takes the members with the lowest scores."),
		pop("zpopmax", "Takes the members with the highest scores."),
		{
			Name: "zmpop", Arity: -4, Flags: Write | MovableKeys | Conditional, Keys: countedKeys, Raft: Change,
			Parse: parse(args.MultiPopParser(1, "MIN", "MAX")), Since: "7.0.0",
			Summary: "Takes members from the first of several sorted sets that has any.",
		},
	}
}
