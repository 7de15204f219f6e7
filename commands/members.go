package commands

import "github.com/redfence/redfence/commands/args"

// memberRows is REDFENCE, which asks about and changes the members of a cluster of raft mode. Its answers are JSON, since
// programs of several versions read them.
func memberRows() []*Spec {
	return []*Spec{container("redfence", ServerInfo, "A container for commands about the cluster.",
		&Spec{
			Name: "member", Arity: -3, Flags: Admin | session | NoMulti, Parse: parse(args.Member), Since: "1.0.0",
			Summary: "Lists the members of the cluster, adds or removes one, or hands the leadership over.",
		},
		&Spec{
			Name: "status", Arity: 2, Flags: Admin | session | NoMulti, Since: "1.0.0",
			Summary: "Describes the cluster and each member as JSON.",
		},
	)}
}
