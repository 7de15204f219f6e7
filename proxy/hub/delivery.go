package hub

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// Delivery is one publication on its way to the subscribers of one channel or pattern. All of them share it, and the
// bytes that it becomes on the wire.
type Delivery struct {
	Kind    Kind
	Topic   string // the channel or pattern that was subscribed to
	Message commands.Message

	frames [2][]byte // by protocol, made when first asked for
}

// Frame is the wire form in protocol p, which must not be changed. A Receiver asks for it first inside Deliver, which
// never runs twice at once for one Delivery; after that it may ask again from any goroutine.
func (d *Delivery) Frame(p resp.Protocol) []byte {
	frame := &d.frames[p-resp.RESP2]
	if *frame == nil {
		*frame = resp.Append(nil, d.value(), p)
	}
	return *frame
}

// value is the push of https://redis.io/docs/latest/develop/interact/pubsub/.
func (d *Delivery) value() resp.Value {
	channel, payload := resp.Str(d.Message.Channel), resp.Str(d.Message.Payload)
	switch d.Kind {
	case Pattern:
		return resp.PushOf(resp.Str("pmessage"), resp.Str(d.Topic), channel, payload)
	case Shard:
		return resp.PushOf(resp.Str("smessage"), channel, payload)
	default:
		return resp.PushOf(resp.Str("message"), channel, payload)
	}
}
