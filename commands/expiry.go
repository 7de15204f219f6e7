package commands

import "github.com/redfence/redfence/commands/args"

// ttlRows are the rows of redis.io's group "generic" that are about the TTL of a key.
func ttlRows() []*Spec {
	read := func(name, since, summary string) *Spec {
		return &Spec{Name: name, Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: since, Summary: summary}
	}
	expire := func(name string, unit args.Unit, since, summary string) *Spec {
		return &Spec{
			Name: name, Arity: -3, Flags: Write | Fast | Conditional, Keys: oneKey, Raft: Change,
			Parse: parse(args.ExpireParser(name, unit)), Since: since, Summary: summary,
		}
	}
	return []*Spec{
		expire("expire", args.Seconds, "1.0.0", "Sets the TTL of a key in seconds."),
		expire("pexpire", args.Millis, "2.6.0", "Sets the TTL of a key in milliseconds."),
		expire("expireat", args.UnixSeconds, "1.2.0", "Sets when a key expires, in seconds since the Unix epoch."),
		expire("pexpireat", args.UnixMillis, "2.6.0", "Sets when a key expires, in milliseconds since the Unix epoch."),
		{
			Name: "persist", Arity: 2, Flags: Write | Fast | Conditional, Keys: oneKey, Raft: Change, Since: "2.2.0",
			Summary: "Removes the TTL of a key.",
		},
		read("ttl", "1.0.0", "Returns the remaining TTL of a key in seconds."),
		read("pttl", "2.6.0", "Returns the remaining TTL of a key in milliseconds."),
		read("expiretime", "7.0.0", "Returns when a key expires, in seconds since the Unix epoch."),
		read("pexpiretime", "7.0.0", "Returns when a key expires, in milliseconds since the Unix epoch."),
	}
}
