package commands

// Transactions is the heading of MULTI and its kin.
const Transactions Group = "transactions"

// transactionRows are the rows of redis.io's group "transactions". WATCH asks the backend; the front end keeps its
// answer and brings it along with EXEC. The others are the front end's own.
func transactionRows() []*Spec {
	control := session | Fast | AllowBusy
	return inGroup(Transactions, []*Spec{
		{
			Name: "multi", Arity: 1, Flags: control, Since: "1.2.0",
			Summary: "Starts a transaction: the commands that follow are queued.",
		},
		{
			Name: "exec", Arity: 1, Flags: session | SkipSlowlog, Since: "1.2.0",
			Summary: "Runs the queued commands as one, unless a watched key has changed.",
		},
		{Name: "discard", Arity: 1, Flags: control, Since: "2.0.0", Summary: "Drops the queued commands."},
		{
			Name: "watch", Arity: -2, Flags: control, Keys: allKeys, Raft: Read, Since: "2.2.0",
			Summary: "Makes the next EXEC depend on keys staying as they are.",
		},
		{Name: "unwatch", Arity: 1, Flags: control, Since: "2.2.0", Summary: "Forgets the watched keys."},
	})
}
