package commands

// keyRows are the rows of redis.io's group "generic".
func keyRows() []*Spec {
	return inGroup(Generic, []*Spec{
		{Name: "del", Arity: -2, Flags: Write | Conditional, Keys: allKeys, Raft: Change, Since: "1.0.0", Summary: "Deletes keys."},
		{Name: "pttl", Arity: 2, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: "2.6.0", Summary: "Returns the remaining TTL of a key in milliseconds."},
	})
}
