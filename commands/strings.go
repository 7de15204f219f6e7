package commands

import "github.com/redfence/redfence/commands/args"

// stringRows are the rows of redis.io's group "string".
func stringRows() []*Spec {
	return inGroup(StringsGrp, append(stringReads(), stringWrites()...))
}

func stringReads() []*Spec {
	return []*Spec{
		{
			Name: "get", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: "1.0.0",
			Summary: "Returns the string value of a key.",
		},
		{
			Name: "mget", Arity: -2, Flags: ReadOnly | Fast, Keys: allKeys, Raft: Read, Since: "1.0.0",
			Summary: "Returns the string values of keys.",
		},
		{
			Name: "strlen", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: "2.2.0",
			Summary: "Returns the length of a string.",
		},
		{
			Name: "getrange", Arity: 4, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(args.GetRange), Since: "2.4.0",
			Summary: "Returns a part of a string.",
		},
		{
			Name: "substr", Arity: 4, Flags: ReadOnly, Keys: oneKey, Raft: Read, Parse: parse(args.GetRange), Since: "1.0.0",
			Summary: "Returns a part of a string.",
		},
		{
			Name: "lcs", Arity: -3, Flags: ReadOnly, Keys: twoKeys, Raft: Read, Parse: parse(args.LCS), Since: "7.0.0",
			Summary: "Returns the longest common subsequence of two strings.",
		},
		{
			// Redis flags DIGEST and DELEX as fast; they go through the whole string, and scripts are charged for that.
			Name: "digest", Arity: 2, Flags: ReadOnly, Keys: oneKey, Raft: Read, Since: "8.4.0",
			Summary: "Returns the XXH3 hash of a string in hexadecimal.",
		},
	}
}

func stringWrites() []*Spec {
	change := func(name string, arity int, flags Flags, since, summary string) *Spec {
		return &Spec{Name: name, Arity: arity, Flags: Write | flags, Keys: oneKey, Raft: Change, Since: since, Summary: summary}
	}
	parsed := func(p func([]string) (any, error), s *Spec) *Spec {
		s.Parse = p
		return s
	}
	multi := func(s *Spec) *Spec {
		s.Keys = pairKeys
		return s
	}
	return []*Spec{
		parsed(parse(args.Set), change("set", -3, DenyOOM|Conditional, "1.0.0",
			"Sets the string value of a key, optionally on a condition and with a TTL.")),
		change("setnx", 3, DenyOOM|Fast|Conditional, "1.0.0", "Sets the string value of a key that is absent."),
		parsed(parse(args.SetEx), change("setex", 4, DenyOOM|Conditional, "2.0.0", "Sets a string with a TTL in seconds.")),
		parsed(parse(args.PSetEx), change("psetex", 4, DenyOOM|Conditional, "2.6.0", "Sets a string with a TTL in milliseconds.")),
		change("getset", 3, DenyOOM|Fast|Conditional, "1.0.0", "Sets a string and returns the value before."),
		change("getdel", 2, Fast|Conditional, "6.2.0", "Deletes a string and returns it."),
		parsed(parse(args.Delex), change("delex", -2, Conditional, "8.4.0",
			"Deletes a key, optionally only while it holds a string or one with a digest.")),
		parsed(parse(args.GetEx), change("getex", -2, Fast|Conditional, "6.2.0", "Returns a string and changes its TTL.")),
		multi(parsed(parse(args.PairsParser("mset", 1)), change("mset", -3, DenyOOM|Conditional, "1.0.1", "Sets strings."))),
		multi(parsed(parse(args.PairsParser("msetnx", 1)), change("msetnx", -3, DenyOOM|Conditional, "1.0.1",
			"Sets strings, all or none, when all their keys are absent."))),
		change("append", 3, DenyOOM|Fast, "2.0.0", "Appends to a string."),
		parsed(parse(args.Offset), change("setrange", 4, DenyOOM, "2.2.0", "Overwrites a part of a string.")),
		change("incr", 2, DenyOOM|Fast, "1.0.0", "Adds one to the integer of a key."),
		change("decr", 2, DenyOOM|Fast, "1.0.0", "Subtracts one from the integer of a key."),
		parsed(parse(args.IncrBy), change("incrby", 3, DenyOOM|Fast, "1.0.0", "Adds to the integer of a key.")),
		parsed(parse(args.DecrBy), change("decrby", 3, DenyOOM|Fast, "1.0.0", "Subtracts from the integer of a key.")),
		parsed(parse(args.IncrByFloat), change("incrbyfloat", 3, DenyOOM|Fast, "2.6.0", "Adds to the float of a key.")),
	}
}
