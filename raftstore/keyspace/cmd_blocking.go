package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// blockingHandlers are the commands that wait for elements. Here they do not: they answer what they do in MULTI and
// in scripts, and whoever wants to wait runs them again when a key is Ready.
func blockingHandlers() map[string]handler {
	return map[string]handler{
		"blpop":      func(t *Txn, r *commands.Request) resp.Value { return t.popAny(r, true) },
		"brpop":      func(t *Txn, r *commands.Request) resp.Value { return t.popAny(r, false) },
		"blmove":     func(t *Txn, r *commands.Request) resp.Value { return t.move(r, blocking(r).Move) },
		"brpoplpush": func(t *Txn, r *commands.Request) resp.Value { return t.move(r, blocking(r).Move) },
		"blmpop":     func(t *Txn, r *commands.Request) resp.Value { return t.popLists(blocking(r).Pop) },
		"bzpopmin":   func(t *Txn, r *commands.Request) resp.Value { return t.zpopAny(r, true) },
		"bzpopmax":   func(t *Txn, r *commands.Request) resp.Value { return t.zpopAny(r, false) },
		"bzmpop":     func(t *Txn, r *commands.Request) resp.Value { return t.popZSets(blocking(r).Pop) },
	}
}

func blocking(r *commands.Request) args.Blocking {
	b, _ := r.Waits()
	return b
}

// popAny implements BLPOP (https://redis.io/docs/latest/commands/blpop/) and BRPOP.
func (t *Txn) popAny(r *commands.Request, left bool) resp.Value {
	v := t.popLists(args.MultiPop{Keys: blocking(r).Keys, First: left, Count: 1})
	if v.Kind != resp.Array {
		return v
	}
	return resp.Arr(v.Elems[0], v.Elems[1].Elems[0])
}

// zpopAny implements BZPOPMIN (https://redis.io/docs/latest/commands/bzpopmin/) and BZPOPMAX.
func (t *Txn) zpopAny(r *commands.Request, lowest bool) resp.Value {
	for _, key := range blocking(r).Keys {
		z, err := lookup[*zset](t, key)
		if err != nil {
			return resp.ReplyFor(err)
		}
		if z != nil {
			m := t.takeScored(key, z, lowest, 1)[0]
			return resp.Arr(resp.Str(key), resp.Str(m.member), resp.Float(m.score))
		}
	}
	return resp.Value{Kind: resp.NullArray}
}
