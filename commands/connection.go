package commands

import "github.com/redfence/redfence/commands/args"

// Cluster is the heading of the commands that a Redis Cluster needs.
const Cluster Group = "cluster"

// session are the flags of what a connection may do at any time.
const session = NoScript | Loading | Stale

// connectionRows are the rows of redis.io's group "connection", and those of group "cluster", which are refused.
func connectionRows() []*Spec {
	rows := inGroup(Connection, []*Spec{
		{
			Name: "auth", Arity: -2, Flags: session | Fast | NoAuth, Parse: parse(args.Auth), Since: "1.0.0",
			Summary: "Authenticates the connection.",
		},
		{Name: "echo", Arity: 2, Flags: Loading | Stale | Fast, Since: "1.0.0", Summary: "Answers its argument."},
		{
			Name: "hello", Arity: -1, Flags: session | Fast | NoAuth, Parse: parse(args.Hello), Since: "6.0.0",
			Summary: "Chooses the protocol version, and may authenticate and name the connection.",
		},
		{
			Name: "ping", Arity: -1, Flags: Fast | Subscribed | Loading | Stale, Parse: parse(args.Ping), Since: "1.0.0",
			Summary: "Answers PONG, or the argument.",
		},
		{
			Name: "quit", Arity: -1, Flags: session | Fast | NoAuth | Subscribed, Since: "1.0.0",
			Summary: "Closes the connection.",
		},
		{
			Name: "reset", Arity: 1, Flags: session | Fast | NoAuth | Subscribed, Since: "6.2.0",
			Summary: "Makes the connection as it was when it was opened.",
		},
		{
			Name: "select", Arity: 2, Flags: Loading | Stale | Fast, Parse: parse(args.Select), Since: "1.0.0",
			Summary: "Changes the selected database.",
		},
	})
	return append(append(rows, clientRows(), clusterRows()), slotRows()...)
}

// clientRows is CLIENT, a container.
func clientRows() *Spec {
	return container("client", Connection, "A container for client connection commands.",
		&Spec{Name: "capa", Arity: -3, Flags: session, Since: "8.0.0", // of Valkey
			Summary: "Takes note of what the client can do; nothing depends on it."},
		&Spec{Name: "getname", Arity: 2, Flags: session, Since: "2.6.9", Summary: "Returns the name of the connection."},
		&Spec{
			Name: "caching", Arity: 3, Flags: session, Parse: parse(args.ClientCaching), Since: "6.0.0",
			Summary: "Says whether the keys that the next command reads are tracked.",
		},
		&Spec{
			Name: "getredir", Arity: 2, Flags: session, Since: "6.0.0",
			Summary: "Returns the connection that invalidations are sent to.",
		},
		&Spec{Name: "id", Arity: 2, Flags: session, Since: "5.0.0", Summary: "Returns the ID of the connection."},
		&Spec{
			Name: "kill", Arity: -3, Flags: Admin | session, Parse: parse(args.ClientKill), Since: "2.4.0",
			Summary: "Ends connections of this process.",
		},
		&Spec{
			Name: "pause", Arity: -3, Flags: Admin | session, Parse: parse(args.ClientPause), Since: "3.0.0",
			Summary: "Makes the clients of this process wait, all or those that write.",
		},
		&Spec{
			Name: "unblock", Arity: -3, Flags: Admin | session, Parse: parse(args.ClientUnblock), Since: "5.0.0",
			Summary: "Ends the blocking command of another connection.",
		},
		&Spec{Name: "info", Arity: 2, Flags: session, Since: "6.2.0", Summary: "Describes the connection."},
		&Spec{
			Name: "list", Arity: -2, Flags: Admin | session, Parse: parse(args.ClientList), Since: "2.4.0",
			Summary: "Describes all connections of this process.",
		},
		&Spec{
			Name: "no-evict", Arity: 3, Flags: Admin | session, Parse: parse(args.OnOff), Since: "7.0.0",
			Summary: "Does nothing: connections are never evicted.",
		},
		&Spec{
			Name: "no-touch", Arity: 3, Flags: session, Parse: parse(args.OnOff), Since: "7.2.0",
			Summary: "Does nothing: keys have no access time.",
		},
		&Spec{
			Name: "fencing", Arity: 3, Flags: session, Parse: parse(args.OnOff), Since: "1.0.0",
			Summary: "Sends the fencing token of a lock in front of the reply that grants it.",
		},
		&Spec{
			Name: "reply", Arity: 3, Flags: session, Parse: parse(args.ClientReply), Since: "3.2.0",
			Summary: "Turns the replies of the connection on or off.",
		},
		&Spec{
			Name: "setinfo", Arity: 4, Flags: session, Parse: parse(args.ClientSetInfo), Since: "7.2.0",
			Summary: "Names the client library and its version.",
		},
		&Spec{
			Name: "setname", Arity: 3, Flags: session, Parse: parse(args.ClientSetName), Since: "2.6.9",
			Summary: "Names the connection.",
		},
		&Spec{
			Name: "tracking", Arity: -3, Flags: session, Parse: parse(args.ClientTracking), Since: "6.0.0",
			Summary: "Tells the client when keys that it has read change.",
		},
		&Spec{
			Name: "trackinginfo", Arity: 2, Flags: session, Since: "6.2.0",
			Summary: "Returns how the keys that the connection reads are tracked.",
		},
		&Spec{
			Name: "unpause", Arity: 2, Flags: Admin | session, Since: "6.2.0",
			Summary: "Ends the pause of the clients of this process.",
		},
	)
}

// clusterRows are refused, with the text by which clients tell a single server.
func clusterRows() *Spec {
	var subs []*Spec
	for _, name := range []string{
		"countkeysinslot", "info", "keyslot", "links", "myid", "myshardid", "nodes", "replicas",
		"shards", "slaves", "slots",
	} {
		subs = append(subs, &Spec{
			Name: name, Arity: -2, Flags: Stale, Since: "3.0.0",
			Summary: "Refused: this is not a Redis Cluster.",
		})
	}
	return container("cluster", Cluster, "A container for Redis Cluster commands, which are refused.", subs...)
}

// slotRows are the commands by which clients of a Redis Cluster choose how a node answers. Every node of Redfence
// answers everything, so they are accepted without effect.
func slotRows() []*Spec {
	return inGroup(Cluster, []*Spec{
		{Name: "asking", Arity: 1, Flags: Fast, Since: "3.0.0", Summary: "Does nothing: no key is elsewhere."},
		{
			Name: "readonly", Arity: 1, Flags: Loading | Stale | Fast, Since: "3.0.0",
			Summary: "Does nothing: every node serves reads.",
		},
		{
			Name: "readwrite", Arity: 1, Flags: Loading | Stale | Fast, Since: "3.0.0",
			Summary: "Does nothing: every node serves writes.",
		},
	})
}
