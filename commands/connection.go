package commands

// connectionRows are the rows of redis.io's group "connection".
func connectionRows() []*Spec {
	return inGroup(Connection, []*Spec{
		{Name: "ping", Arity: -1, Flags: Fast | Subscribed | Loading | Stale, Since: "1.0.0", Summary: "Answers PONG, or the argument."},
	})
}
