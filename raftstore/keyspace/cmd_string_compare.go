package keyspace

import (
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// digestOf is the digest of a string as Redis 8.4 has it: XXH3 with 64 bits and no seed, in lower-case hexadecimal.
func digestOf(s string) string { return fmt.Sprintf("%016x", xxh3.HashString(s)) }

// digest implements DIGEST (https://redis.io/docs/latest/commands/digest/).
func digest(t *Txn, r *commands.Request) resp.Value {
	s, ok, err := t.text(r.Args[1])
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case !ok:
		return resp.Value{}
	}
	return resp.Str(digestOf(s))
}

// maySet tells whether a SET takes place over an object, nil for none.
func maySet(old *object, o *args.SetOptions) (bool, error) {
	c := o.Comparison()
	switch {
	case c.When == args.Always:
		return o.When == args.Always || (old != nil) == (o.When == args.IfPresent), nil
	case old == nil:
		return c.When == args.IfOther || c.When == args.IfOtherDigest, nil
	case old.coll != nil:
		return false, resp.ErrWrongType
	}
	return holds(old.str, c)
}

// holds tells whether a comparison holds for a string.
func holds(s string, c args.Comparison) (bool, error) {
	if err := c.Check(); err != nil {
		return false, err
	}
	switch c.When {
	case args.IfEqual:
		return s == c.Match, nil
	case args.IfOther:
		return s != c.Match, nil
	default:
		return strings.EqualFold(digestOf(s), c.Match) == (c.When == args.IfDigest), nil
	}
}

// delex implements DELEX (https://redis.io/docs/latest/commands/delex/). Without a condition it is DEL of one key.
func delex(t *Txn, r *commands.Request) resp.Value {
	c, _ := r.Opts.(args.Comparison)
	o := t.find(r.Args[1])
	switch {
	case o == nil:
		return resp.Int(0)
	case c.When == args.Always:
		t.replace(o.key, nil)
		return resp.Int(1)
	case o.coll != nil:
		return resp.ErrDelexType.Value()
	}
	met, err := holds(o.str, c)
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case !met:
		return resp.Int(0)
	}
	t.replace(o.key, nil)
	return resp.Int(1)
}
