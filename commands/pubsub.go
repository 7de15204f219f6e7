package commands

import "github.com/redfence/redfence/commands/args"

// pubsubRows are the rows of redis.io's group "pubsub".
func pubsubRows() []*Spec {
	subscribing := PubSub | session | Subscribed
	publishing := PubSub | Loading | Stale | Fast
	shards := KeySpec{First: 1, Last: -1, Step: 1}
	rows := inGroup(PubSubs, []*Spec{
		{
			Name: "psubscribe", Arity: -2, Flags: subscribing, Since: "2.0.0",
			Summary: "Listens to the channels that match patterns.",
		},
		{
			Name: "publish", Arity: 3, Flags: publishing, Raft: Change, Since: "2.0.0",
			Summary: "Sends a message to the subscribers of a channel.",
		},
		{
			Name: "punsubscribe", Arity: -1, Flags: subscribing, Since: "2.0.0",
			Summary: "Stops listening to patterns, or to all patterns.",
		},
		{
			Name: "spublish", Arity: 3, Flags: publishing, Keys: oneKey, Raft: Change, Since: "7.0.0",
			Summary: "Sends a message to the subscribers of a shard channel.",
		},
		{
			Name: "ssubscribe", Arity: -2, Flags: subscribing, Keys: shards, Since: "7.0.0",
			Summary: "Listens to shard channels, which are a namespace of their own here.",
		},
		{Name: "subscribe", Arity: -2, Flags: subscribing, Since: "2.0.0", Summary: "Listens to channels."},
		{
			Name: "sunsubscribe", Arity: -1, Flags: subscribing, Keys: shards, Since: "7.0.0",
			Summary: "Stops listening to shard channels, or to all shard channels.",
		},
		{
			Name: "unsubscribe", Arity: -1, Flags: subscribing, Since: "2.0.0",
			Summary: "Stops listening to channels, or to all channels.",
		},
	})
	return append(rows, introspectionRows())
}

// introspectionRows is PUBSUB, which describes the subscriptions of the answering process.
func introspectionRows() *Spec {
	flags := PubSub | Loading | Stale
	return container("pubsub", PubSubs, "A container for Pub/Sub commands.",
		&Spec{
			Name: "channels", Arity: -2, Flags: flags, Parse: parse(args.PubSubChannels), Since: "2.8.0",
			Summary: "Returns the channels with subscribers.",
		},
		&Spec{
			Name: "numpat", Arity: 2, Flags: flags, Since: "2.8.0",
			Summary: "Returns the number of patterns that are subscribed to.",
		},
		&Spec{
			Name: "numsub", Arity: -2, Flags: flags, Since: "2.8.0",
			Summary: "Returns the numbers of subscribers of channels.",
		},
		&Spec{
			Name: "shardchannels", Arity: -2, Flags: flags, Parse: parse(args.PubSubChannels), Since: "7.0.0",
			Summary: "Returns the shard channels with subscribers.",
		},
		&Spec{
			Name: "shardnumsub", Arity: -2, Flags: flags, Since: "7.0.0",
			Summary: "Returns the numbers of subscribers of shard channels.",
		},
	)
}
