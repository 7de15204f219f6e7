package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// genericHandlers are the commands of https://redis.io/docs/latest/commands/?group=generic.
func genericHandlers() map[string]handler {
	return map[string]handler{
		"del":  del,
		"pttl": pttl,
	}
}

func del(t *Txn, r *commands.Request) resp.Value {
	var n int64
	for _, key := range r.Args[1:] {
		if t.remove(key) {
			n++
		}
	}
	return resp.Int(n)
}

func pttl(t *Txn, r *commands.Request) resp.Value {
	o := t.find(r.Args[1])
	if o == nil {
		return resp.Int(-2)
	}
	return resp.Int(t.ttl(o))
}
