package commands

import "github.com/redfence/redfence/commands/args"

// setRows are the rows of redis.io's group "set".
func setRows() []*Spec {
	return inGroup(SetGroup, append(setReads(), setWrites()...))
}

func setReads() []*Spec {
	read := func(name string, arity int, flags Flags, keys KeySpec, since, summary string) *Spec {
		return &Spec{Name: name, Arity: arity, Flags: ReadOnly | flags, Keys: keys, Raft: Read, Since: since, Summary: summary}
	}
	return []*Spec{
		read("scard", 2, Fast, oneKey, "1.0.0", "Returns the number of members of a set."),
		read("sismember", 3, Fast, oneKey, "1.0.0", "Tells whether a set has a member."),
		read("smismember", -3, Fast, oneKey, "6.2.0", "Tells which members a set has."),
		read("smembers", 2, 0, oneKey, "1.0.0", "Returns all members of a set."),
		read("sunion", -2, 0, allKeys, "1.0.0", "Returns the union of sets."),
		read("sinter", -2, 0, allKeys, "1.0.0", "Returns the intersection of sets."),
		read("sdiff", -2, 0, allKeys, "1.0.0", "Returns what a set has and others lack."),
		{
			Name: "sintercard", Arity: -3, Flags: ReadOnly | MovableKeys, Keys: countedKeys, Raft: Read,
			Parse: parse(args.SInterCard), Since: "7.0.0", Summary: "Returns the size of the intersection of sets.",
		},
		{
			Name: "srandmember", Arity: -2, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(args.SRandMember), Since: "1.0.0",
			Summary: "Returns members of a set at random.",
		},
		{
			Name: "sscan", Arity: -3, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(args.HScan), Since: "2.8.0",
			Summary: "Walks over the members of a set.",
		},
	}
}

func setWrites() []*Spec {
	store := func(name, summary string) *Spec {
		return &Spec{Name: name, Arity: -3, Flags: Write | DenyOOM, Keys: allKeys, Raft: Change, Since: "1.0.0", Summary: summary}
	}
	return []*Spec{
		{
			Name: "sadd", Arity: -3, Flags: Write | DenyOOM | Fast | Conditional, Keys: oneKey, Raft: Change, Since: "1.0.0",
			Summary: "Adds members to a set.",
		},
		{
			Name: "srem", Arity: -3, Flags: Write | Fast | Conditional, Keys: oneKey, Raft: Change, Since: "1.0.0",
			Summary: "Removes members from a set.",
		},
		{
			Name: "spop", Arity: -2, Flags: Write | Fast | Conditional, Keys: oneKey, Raft: Change, Parse: parse(args.Pop),
			Since: "1.0.0", Summary: "Takes members from a set at random.",
		},
		{
			Name: "smove", Arity: 4, Flags: Write | Fast | Conditional, Keys: twoKeys, Raft: Change, Since: "1.0.0",
			Summary: "Moves a member from a set to another.",
		},
		store("sunionstore", "Stores the union of sets."),
		store("sinterstore", "Stores the intersection of sets."),
		store("sdiffstore", "Stores what a set has and others lack."),
	}
}
