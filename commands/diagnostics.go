package commands

import "github.com/redfence/redfence/commands/args"

// diagnosticRows are those rows of redis.io's group "server" that look into the server: most of it keeps no such
// records, and says so by empty replies.
func diagnosticRows() []*Spec {
	log := Admin | session
	return []*Spec{
		container("memory", ServerInfo, "A container for memory commands.", &Spec{
			Name: "usage", Arity: -3, Flags: ReadOnly, Keys: subjectKey, Raft: Read, Parse: parse(args.MemoryUsage), Since: "4.0.0",
			Summary: "Estimates the bytes that a key and its value take.",
		}),
		container("latency", ServerInfo, "A container for latency commands, which have nothing to tell.",
			&Spec{Name: "history", Arity: 3, Flags: log, Since: "2.8.13", Summary: "Returns no samples: none are kept."},
			&Spec{Name: "latest", Arity: 2, Flags: log, Since: "2.8.13", Summary: "Returns no samples: none are kept."},
			&Spec{Name: "reset", Arity: -2, Flags: log, Since: "2.8.13", Summary: "Answers 0: no samples are kept."},
		),
		container("slowlog", ServerInfo, "A container for slow log commands, which have nothing to tell.",
			&Spec{
				Name: "get", Arity: -2, Flags: Admin | Loading | Stale, Parse: parse(args.SlowlogGet), Since: "2.2.12",
				Summary: "Returns no entries: there is no slow log.",
			},
			&Spec{Name: "len", Arity: 2, Flags: Admin | Loading | Stale, Since: "2.2.12", Summary: "Answers 0: there is no slow log."},
			&Spec{Name: "reset", Arity: 2, Flags: Admin | Loading | Stale, Since: "2.2.12", Summary: "Does nothing: there is no slow log."},
		),
		{
			Name: "debug", Arity: -2, Flags: log, Group: ServerInfo, Since: "1.0.0",
			Summary: "Refused, as in a Redis that was not told to allow it.",
		},
	}
}
