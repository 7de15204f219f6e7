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
			Name: "kill", Arity: 2, Flags: NoScript | AllowBusy, Since: "2.6.0",
			Summary: "Answers NOTBUSY: scripts end by their budget here.",
		},
		&Spec{
			Name: "debug", Arity: 3, Flags: NoScript, Since: "3.2.0",
			Summary: "Answers OK to NO: there is no debugger here.",
		},
		&Spec{
			Name: "help", Arity: 2, Flags: Loading | Stale, Raft: Read, Since: "5.0.0",
			Summary: "Lists the subcommands of SCRIPT.",
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

// ScriptHelp are the lines of SCRIPT HELP.
const ScriptHelp = `SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:
DEBUG (YES|SYNC|NO)
    Set the debug mode for subsequent scripts executed.
EXISTS <sha1> [<sha1> ...]
    Return information about the existence of the scripts in the script cache.
FLUSH [ASYNC|SYNC]
    Flush the Lua scripts cache. Very dangerous on replicas.
    When called without the optional mode argument, the behavior is determined by the
    lazyfree-lazy-user-flush configuration directive. Valid modes are:
    * ASYNC: Asynchronously flush the scripts cache.
    * SYNC: Synchronously flush the scripts cache.
KILL
    Kill the currently executing Lua script.
LOAD <script>
    Load a script into the scripts cache without executing it.
HELP
    Prints this help.`
