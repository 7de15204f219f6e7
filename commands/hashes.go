package commands

// hashRows are the rows of redis.io's group "hash".
func hashRows() []*Spec {
	return inGroup(HashGroup, []*Spec{
		{Name: "hget", Arity: 3, Flags: ReadOnly | Fast, Keys: oneKey, Raft: Read, Since: "2.0.0", Summary: "Returns the value of a field of a hash."},
	})
}
