package commands

import "github.com/redfence/redfence/commands/args"

// fencingRows are the commands that Redis lacks: the fencing tokens of locks.
func fencingRows() []*Spec {
	return inGroup(Fencing, []*Spec{
		{
			Name: "fence", Arity: -2, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Parse: parse(args.Fence), Since: "1.0.0",
			Summary: "Returns the fencing token of a lock, or nil when it is free or held by another owner.",
		},
	})
}
