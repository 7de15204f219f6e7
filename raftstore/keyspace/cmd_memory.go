package keyspace

import (
	"io"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// keyBytes is about what a key takes besides its bytes: the object, its places in the two trees.
const keyBytes = 160

func memoryHandlers() map[string]handler { return map[string]handler{"memory|usage": memoryUsage} }

// memoryUsage estimates what a key takes: the bytes of its snapshot form, and what every key costs. It looks at
// all elements whatever SAMPLES says (https://redis.io/docs/latest/commands/memory-usage/).
func memoryUsage(t *Txn, r *commands.Request) resp.Value {
	o := t.find(r.Args[2])
	if o == nil {
		return resp.Value{}
	}
	e := &encoder{w: io.Discard}
	e.object(o)
	e.flush(0)
	return resp.Int(keyBytes + e.n)
}
