package commands

import "github.com/redfence/redfence/commands/args"

// stringRows are the rows of redis.io's group "string".
func stringRows() []*Spec {
	return inGroup(StringsGrp, []*Spec{
		{Name: "get", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: "1.0.0", Summary: "Returns the string value of a key."},
		{Name: "set", Arity: -3, Flags: Write | DenyOOM | Conditional, Keys: oneKey, Raft: Change, Parse: parse(args.Set), Since: "1.0.0", Summary: "Sets the string value of a key, optionally on a condition and with a TTL."},
	})
}
