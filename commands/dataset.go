package commands

import "github.com/redfence/redfence/commands/args"

// datasetRows are the rows of redis.io's group "server" that are about the keys of whole databases.
func datasetRows() []*Spec {
	return inGroup(ServerInfo, []*Spec{
		{
			Name: "dbsize", Arity: 1, Flags: ReadOnly | Fast, Raft: Read, Since: "1.0.0",
			Summary: "Returns the number of keys.",
		},
		{
			Name: "flushdb", Arity: -1, Flags: Write | Conditional, Raft: Change, Parse: parse(args.Flush), Since: "1.0.0",
			Summary: "Deletes all keys of the database.",
		},
		{
			Name: "flushall", Arity: -1, Flags: Write | Conditional, Raft: Change, Parse: parse(args.Flush), Since: "1.0.0",
			Summary: "Deletes all keys of all databases.",
		},
		{
			Name: "swapdb", Arity: 3, Flags: Write | Fast | Conditional, Raft: Change, Parse: parse(args.SwapDB), Since: "4.0.0",
			Summary: "Exchanges two databases.",
		},
	})
}
