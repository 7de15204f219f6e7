package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

func pubsubHandlers() map[string]handler {
	return map[string]handler{"publish": publish, "spublish": publish}
}

// publish implements PUBLISH and SPUBLISH. The state machine cannot know who listens where, so it answers 0; the
// store puts the receivers of the answering process in its place for a client, not for a script.
func publish(t *Txn, r *commands.Request) resp.Value {
	t.publish(Event{Channel: r.Args[1], Payload: r.Args[2], Shard: r.Spec.Name == "spublish"})
	return resp.Int(0)
}
