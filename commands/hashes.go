package commands

import "github.com/redfence/redfence/commands/args"

// hashRows are the rows of redis.io's group "hash".
func hashRows() []*Spec {
	read := func(name string, arity int, flags Flags, since, summary string) *Spec {
		return &Spec{Name: name, Arity: arity, Flags: ReadOnly | flags, Keys: oneKey, Raft: Read, Since: since, Summary: summary}
	}
	return inGroup(HashGroup, []*Spec{
		read("hget", 3, Fast, "2.0.0", "Returns the value of a field of a hash."),
		read("hmget", -3, Fast, "2.0.0", "Returns the values of fields of a hash."),
		read("hgetall", 2, 0, "2.0.0", "Returns all fields of a hash with their values."),
		read("hkeys", 2, 0, "2.0.0", "Returns all fields of a hash."),
		read("hvals", 2, 0, "2.0.0", "Returns all values of a hash."),
		read("hlen", 2, Fast, "2.0.0", "Returns the number of fields of a hash."),
		read("hexists", 3, Fast, "2.0.0", "Tells whether a hash has a field."),
		read("hstrlen", 3, Fast, "3.2.0", "Returns the length of the value of a field of a hash."),
		{
			Name: "hrandfield", Arity: -2, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(args.RandomParser("WITHVALUES")), Since: "6.2.0",
			Summary: "Returns fields of a hash at random.",
		},
		{
			Name: "hscan", Arity: -3, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(args.HScan), Since: "2.8.0",
			Summary: "Walks over the fields of a hash.",
		},
		{
			Name: "hset", Arity: -4, Flags: Write | DenyOOM | Fast | Conditional, Keys: oneKey, Raft: Change,
			Parse: parse(args.PairsParser("hset", 2)), Since: "2.0.0", Summary: "Sets fields of a hash.",
		},
		{
			Name: "hmset", Arity: -4, Flags: Write | DenyOOM | Fast | Conditional, Keys: oneKey, Raft: Change,
			Parse: parse(args.PairsParser("hmset", 2)), Since: "2.0.0", Summary: "Sets fields of a hash.",
		},
		{
			Name: "hsetnx", Arity: 4, Flags: Write | DenyOOM | Fast | Conditional, Keys: oneKey, Raft: Change, Since: "2.0.0",
			Summary: "Sets a field of a hash that it lacks.",
		},
		{
			Name: "hdel", Arity: -3, Flags: Write | Fast | Conditional, Keys: oneKey, Raft: Change, Since: "2.0.0",
			Summary: "Deletes fields of a hash.",
		},
		{
			Name: "hincrby", Arity: 4, Flags: Write | DenyOOM | Fast, Keys: oneKey, Raft: Change, Parse: parse(args.HIncrBy),
			Since: "2.0.0", Summary: "Adds to the integer in a field of a hash.",
		},
		{
			Name: "hincrbyfloat", Arity: 4, Flags: Write | DenyOOM | Fast, Keys: oneKey, Raft: Change,
			Parse: parse(args.HIncrByFloat), Since: "2.6.0", Summary: "Adds to the float in a field of a hash.",
		},
	})
}
