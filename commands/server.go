package commands

import (
	"slices"

	"github.com/redfence/redfence/commands/args"
)

// serverRows are the rows of redis.io's group "server", and WAIT and its like, which ask about replicas.
func serverRows() []*Spec {
	rows := inGroup(ServerInfo, []*Spec{
		{
			Name: "info", Arity: -1, Flags: Loading | Stale, Since: "1.0.0",
			Summary: "Describes the server in sections of field:value lines.",
		},
		{
			Name: "role", Arity: 1, Flags: NoScript | Loading | Stale | Fast, Since: "2.8.12",
			Summary: "Returns the replication role: master, without replicas.",
		},
		{
			Name: "time", Arity: 1, Flags: Loading | Stale | Fast, Since: "2.6.0",
			Summary: "Returns the wall clock: seconds and microseconds.",
		},
	})
	waits := inGroup(Generic, []*Spec{
		{
			Name: "wait", Arity: 3, Flags: NoScript, Parse: parse(args.Wait), Since: "3.0.0",
			Summary: "Answers the number of replicas asked for: what was answered is committed already.",
		},
		{
			Name: "waitaof", Arity: 4, Flags: NoScript, Parse: parse(args.WaitAOF), Since: "7.2.0",
			Summary: "Answers the numbers asked for: what was answered is on disk already.",
		},
	})
	return slices.Concat(rows, []*Spec{commandRows(), configRows()}, waits, diagnosticRows())
}

// commandRows is COMMAND, which answers from this table.
func commandRows() *Spec {
	about := Loading | Stale
	c := container("command", ServerInfo, "Describes the commands.",
		&Spec{Name: "count", Arity: 2, Flags: about, Since: "2.8.13", Summary: "Returns the number of commands."},
		&Spec{Name: "docs", Arity: -2, Flags: about, Since: "7.0.0", Summary: "Describes commands for people."},
		&Spec{Name: "getkeys", Arity: -4, Flags: about, Since: "2.8.13", Summary: "Returns the keys of a command line."},
		&Spec{Name: "info", Arity: -2, Flags: about, Since: "2.8.13", Summary: "Describes commands for programs."},
		&Spec{
			Name: "list", Arity: -2, Flags: about, Parse: parse(args.CommandList), Since: "7.0.0",
			Summary: "Returns the names of the commands.",
		},
	)
	c.Arity, c.Flags, c.Since = -1, about, "2.8.13"
	return c
}

// configRows is CONFIG. It can be read, since clients look for a few settings, but not set.
func configRows() *Spec {
	return container("config", ServerInfo, "A container for server configuration commands.",
		&Spec{
			Name: "get", Arity: -3, Flags: Admin | session, Since: "2.0.0",
			Summary: "Returns the settings that match patterns, under their Redis names.",
		},
		&Spec{
			Name: "resetstat", Arity: 2, Flags: Admin | session, Since: "2.0.0",
			Summary: "Sets the counters of INFO to zero.",
		},
		&Spec{
			Name: "rewrite", Arity: 2, Flags: Admin | session, Since: "2.8.0",
			Summary: "Refused: settings cannot be changed while running.",
		},
		&Spec{
			Name: "set", Arity: -4, Flags: Admin | session, Parse: parse(args.ConfigSet), Since: "2.0.0",
			Summary: "Accepts what is set already; settings cannot be changed while running.",
		},
	)
}
