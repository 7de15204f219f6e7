package commands

// serverRows are the rows of redis.io's group "server".
func serverRows() []*Spec {
	return inGroup(ServerInfo, []*Spec{
		{Name: "time", Arity: 1, Flags: Loading | Stale | Fast, Since: "2.6.0", Summary: "Returns the wall clock: seconds and microseconds."},
	})
}
