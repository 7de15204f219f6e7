package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
)

// hashHandlers are the commands of https://redis.io/docs/latest/commands/?group=hash.
func hashHandlers() map[string]handler {
	return map[string]handler{"hget": hget}
}

// hashAt returns the hash of a key, nil when the key is absent, WRONGTYPE when it holds something else. It must not
// be modified.
func (t *Txn) hashAt(key string) (*hash, error) {
	o := t.find(key)
	if o == nil {
		return nil, nil
	}
	h, ok := o.coll.(*hash)
	if !ok {
		return nil, resp.ErrWrongType
	}
	return h, nil
}

func hget(t *Txn, r *commands.Request) resp.Value {
	h, err := t.hashAt(r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	if h != nil {
		if v, ok := h.get(r.Args[2]); ok {
			return resp.Str(v)
		}
	}
	return resp.Value{}
}
