package commands

import "github.com/redfence/redfence/commands/args"

// scriptRows are the rows of redis.io's group "scripting".
func scriptRows() []*Spec {
	eval := NoScript | Stale | SkipMonitor | NoMandatoryKeys | MovableKeys
	script := container("script", Scripting, "Manages the scripts that EVALSHA can run.",
		&Spec{
			Name: "load", Arity: 3, Flags: NoScript | Stale | Conditional, Raft: Change, Since: "2.6.0",
			Summary: "Loads a script and returns its SHA1.",
		},
		&Spec{
			Name: "exists", Arity: -3, Flags: NoScript, Raft: Read, Since: "2.6.0",
			Summary: "Tells which scripts are loaded.",
		},
		&Spec{
			Name: "flush", Arity: -2, Flags: NoScript | Conditional, Raft: Change, Since: "2.6.0",
			Summary: "Forgets all loaded scripts.",
		},
		&Spec{
			Name: "kill", Arity: 2, Flags: NoScript, Since: "2.6.0",
			Summary: "Answers NOTBUSY: scripts end by their budget here.",
		},
	)
	return append(inGroup(Scripting, []*Spec{
		{
			Name: "eval", Arity: -3, Flags: eval | Conditional, Keys: evalKeys, Raft: Change, Parse: parse(args.Eval),
			Since: "2.6.0", Summary: "Runs a Lua script.",
		},
		{
			Name: "evalsha", Arity: -3, Flags: eval | Conditional, Keys: evalKeys, Raft: Change, Parse: parse(args.Eval),
			Since: "2.6.0", Summary: "Runs a loaded Lua script by its SHA1.",
		},
		{
			Name: "eval_ro", Arity: -3, Flags: eval | ReadOnly | Conditional, Keys: evalKeys, Raft: Change,
			Parse: parse(args.Eval), Since: "7.0.0", Summary: "Runs a Lua script that may not write.",
		},
		{
			Name: "evalsha_ro", Arity: -3, Flags: eval | ReadOnly, Keys: evalKeys, Raft: Read, Parse: parse(args.Eval),
			Since: "7.0.0", Summary: "Runs a loaded Lua script that may not write.",
		},
	}), script)
}
