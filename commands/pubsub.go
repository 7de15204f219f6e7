package commands

// pubsubRows are the rows of redis.io's group "pubsub".
func pubsubRows() []*Spec {
	return inGroup(PubSubs, []*Spec{
		{Name: "publish", Arity: 3, Flags: PubSub | Loading | Stale | Fast, Raft: Change, Since: "2.0.0", Summary: "Sends a message to the subscribers of a channel."},
		{Name: "spublish", Arity: 3, Flags: PubSub | Loading | Stale | Fast, Keys: oneKey, Raft: Change, Since: "7.0.0", Summary: "Sends a message to the subscribers of a shard channel."},
	})
}
