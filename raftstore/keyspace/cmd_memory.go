package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

func memoryHandlers() map[string]handler { return map[string]handler{"memory|usage": memoryUsage} }

// memoryUsage answers what a key counts for against the limit, so SAMPLES changes nothing
// (https://redis.io/docs/latest/commands/memory-usage/).
func memoryUsage(t *Txn, r *commands.Request) resp.Value {
	o := t.find(r.Args[2])
	if o == nil {
		return resp.Value{}
	}
	return resp.Int(o.bytes())
}
