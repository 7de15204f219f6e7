package keyspace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// tokenPrefix begins the names under which GET shows the token of a key to people.
const tokenPrefix = "__fence__:"

func fencingHandlers() map[string]handler {
	return map[string]handler{"fence": fence, "fence.check": fenceCheck, "fence.last": fenceLast}
}

// fence implements FENCE key [owner]: the token of the present instance, nil when there is none or when owner does
// not hold it. An owner holds a string by being its value, a hash by being one of its fields.
func fence(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.FenceOptions)
	o := t.find(r.Args[1])
	if o == nil || (opts.Owned && !o.heldBy(opts.Owner)) {
		return resp.Value{}
	}
	return resp.Int(o.token)
}

func (o *object) heldBy(owner string) bool {
	if o.coll == nil {
		return o.str == owner
	}
	h, ok := o.coll.(*hash)
	if !ok {
		return false
	}
	_, held := h.get(owner)
	return held
}

// shownToken answers GET __fence__:key.
func (t *Txn) shownToken(name string) resp.Value {
	o := t.find(strings.TrimPrefix(name, tokenPrefix))
	if o == nil {
		return resp.Value{}
	}
	return resp.Str(strconv.FormatInt(o.token, 10))
}

func reserved(key string) bool { return strings.HasPrefix(key, tokenPrefix) }

// touchesReserved tells whether a request would write to a name that only shows a token.
func touchesReserved(r *commands.Request) bool {
	k := r.Spec.Keys
	if (k.Num > 0 || k.Store) && slices.ContainsFunc(r.Keys(), reserved) {
		return true
	}
	if k.First == 0 {
		return false
	}
	last := k.Last
	if last < 0 {
		last += len(r.Args)
	}
	for i := k.First; i <= last && i < len(r.Args); i += k.Step {
		if reserved(r.Args[i]) {
			return true
		}
	}
	return false
}
