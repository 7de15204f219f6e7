package keyspace

import (
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// stringHandlers are the commands of https://redis.io/docs/latest/commands/?group=string.
func stringHandlers() map[string]handler {
	return map[string]handler{
		"get": get,
		"set": set,
	}
}

// text returns the string of a key, whether it is present, and WRONGTYPE when it holds something else.
func (t *Txn) text(key string) (string, bool, error) {
	o := t.find(key)
	if o == nil {
		return "", false, nil
	}
	if o.coll != nil {
		return "", true, resp.ErrWrongType
	}
	return o.str, true, nil
}

func get(t *Txn, r *commands.Request) resp.Value {
	key := r.Args[1]
	if reserved(key) {
		return t.shownToken(key)
	}
	s, ok, err := t.text(key)
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case !ok:
		return resp.Value{}
	}
	return resp.Str(s)
}

// set implements SET (https://redis.io/docs/latest/commands/set/) with our option FENCE.
func set(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.SetOptions)
	key, value := r.Args[1], r.Args[2]
	old := t.find(key)
	if opts.Get && old != nil && old.coll != nil {
		return resp.ErrWrongType.Value()
	}
	if (opts.When == args.IfAbsent && old != nil) || (opts.When == args.IfPresent && old == nil) {
		return refused(old, opts)
	}
	token := t.store(key, old, value, opts.Expiry, opts.KeepTTL)
	switch {
	case opts.Fence:
		return resp.Int(token)
	case opts.Get:
		return oldString(old)
	}
	return resp.OK()
}

// refused is the reply of a SET whose condition did not hold.
func refused(old *object, opts args.SetOptions) resp.Value {
	if opts.Get {
		return oldString(old)
	}
	return resp.Value{}
}

func oldString(old *object) resp.Value {
	if old == nil {
		return resp.Value{}
	}
	return resp.Str(old.str)
}

// store makes key a string and returns the token of the instance. The same value keeps its token: the owner renews
// its lock. Nothing is changed when value and expiry are as they were.
func (t *Txn) store(key string, old *object, value string, e args.Expiry, keepTTL bool) int64 {
	var deadline, absolute int64
	switch {
	case e.Set():
		deadline, absolute = t.deadlineOf(e)
	case keepTTL && old != nil:
		deadline, absolute = old.deadline, old.absolute
	}
	same := old != nil && old.coll == nil && old.str == value
	if same && sameExpiry(old, deadline, absolute) {
		return old.token
	}
	if t.over(deadline) {
		t.remove(key)
		return t.grant()
	}
	o := &object{deadline: deadline, absolute: absolute, owner: t.ks.owner}
	if same {
		o.key, o.str, o.token = old.key, old.str, old.token
	} else {
		o.key, o.str, o.token = strings.Clone(key), strings.Clone(value), t.grant()
	}
	t.replace(key, o)
	return o.token
}

// sameExpiry tells whether an object would keep its expiry. An absolute time that is given again stays, though the
// wall clock by which it was made relative has moved.
func sameExpiry(o *object, deadline, absolute int64) bool {
	if absolute != 0 && o.absolute == absolute {
		return true
	}
	return o.deadline == deadline && o.absolute == absolute
}
