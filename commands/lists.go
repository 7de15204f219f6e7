package commands

import "github.com/redfence/redfence/commands/args"

// listRows are the rows of redis.io's group "list".
func listRows() []*Spec {
	return inGroup(ListGroup, append(listReads(), listWrites()...))
}

func listReads() []*Spec {
	return []*Spec{
		{
			Name: "llen", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: "1.0.0",
			Summary: "Returns the length of a list.",
		},
		{
			Name: "lrange", Arity: 4, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(args.GetRange), Since: "1.0.0",
			Summary: "Returns a range of elements of a list.",
		},
		{
			Name: "lindex", Arity: 3, Flags: ReadOnly, Keys: oneKey, Raft: Read, Since: "1.0.0",
			Summary: "Returns an element of a list by its index.",
		},
		{
			Name: "lpos", Arity: -3, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(args.LPos), Since: "6.0.6",
			Summary: "Returns the indexes at which an element stands in a list.",
		},
	}
}

func listWrites() []*Spec {
	push := func(name, since, summary string) *Spec {
		return &Spec{Name: name, Arity: -3, Flags: Write | DenyOOM | Fast, Keys: oneKey, Raft: Change, Since: since, Summary: summary}
	}
	pop := func(name, summary string) *Spec {
		return &Spec{
			Name: name, Arity: -2, Flags: Write | Fast | Conditional, Keys: oneKey, Raft: Change,
			Parse: parse(args.ListPopParser(name)), Since: "1.0.0", Summary: summary,
		}
	}
	return []*Spec{
		push("lpush", "1.0.0", "Puts elements at the head of a list."),
		push("rpush", "1.0.0", "Puts elements at the tail of a list."),
		push("lpushx", "2.2.0", "Puts elements at the head of a list that exists."),
		push("rpushx", "2.2.0", "Puts elements at the tail of a list that exists."),
		pop("lpop", "Takes elements from the head of a list."),
		pop("rpop", "Takes elements from the tail of a list."),
		{
			Name: "lmpop", Arity: -4, Flags: Write | MovableKeys | Conditional, Keys: countedKeys, Raft: Change,
			Parse: parse(args.MultiPopParser(1, "LEFT", "RIGHT")), Since: "7.0.0",
			Summary: "Takes elements from the first of several lists that has any.",
		},
		{
			Name: "lmove", Arity: 5, Flags: Write | DenyOOM | Conditional, Keys: twoKeys, Raft: Change, Parse: parse(args.LMove),
			Since: "6.2.0", Summary: "Moves an element from an end of a list to an end of another.",
		},
		{
			Name: "rpoplpush", Arity: 3, Flags: Write | DenyOOM | Conditional, Keys: twoKeys, Raft: Change,
			Parse: parse(args.RPopLPush), Since: "1.2.0", Summary: "Moves the last element of a list to the head of another.",
		},
		{
			Name: "lset", Arity: 4, Flags: Write | DenyOOM, Keys: oneKey, Raft: Change, Since: "1.0.0",
			Summary: "Sets an element of a list by its index.",
		},
		{
			Name: "linsert", Arity: 5, Flags: Write | DenyOOM, Keys: oneKey, Raft: Change, Parse: parse(args.LInsert),
			Since: "2.2.0", Summary: "Puts an element before or behind another.",
		},
		{
			Name: "lrem", Arity: 4, Flags: Write | Conditional, Keys: oneKey, Raft: Change, Parse: parse(args.LRem), Since: "1.0.0",
			Summary: "Removes elements that are equal to a given one.",
		},
		{
			Name: "ltrim", Arity: 4, Flags: Write | Conditional, Keys: oneKey, Raft: Change, Parse: parse(args.GetRange),
			Since: "1.0.0", Summary: "Removes all elements outside of a range.",
		},
	}
}
