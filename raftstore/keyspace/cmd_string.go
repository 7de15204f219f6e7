package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// stringHandlers are the commands of https://redis.io/docs/latest/commands/?group=string.
func stringHandlers() map[string]handler {
	return map[string]handler{
		"get":         get,
		"mget":        mget,
		"strlen":      strlen,
		"getrange":    getrange,
		"substr":      getrange,
		"set":         set,
		"setnx":       setnx,
		"setex":       setex,
		"psetex":      setex,
		"getset":      getset,
		"getdel":      getdel,
		"getex":       getex,
		"delex":       delex,
		"digest":      digest,
		"lcs":         lcs,
		"mset":        mset,
		"msetnx":      msetnx,
		"append":      appendTo,
		"setrange":    setrange,
		"incr":        incr,
		"decr":        decr,
		"incrby":      incrby,
		"decrby":      incrby,
		"incrbyfloat": incrbyfloat,
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

// mget implements MGET: a key that is no string counts as absent.
func mget(t *Txn, r *commands.Request) resp.Value {
	values := make([]resp.Value, 0, len(r.Args)-1)
	for _, key := range r.Args[1:] {
		v := resp.Value{}
		if s, ok, err := t.text(key); ok && err == nil {
			v = resp.Str(s)
		}
		values = append(values, v)
	}
	return resp.Arr(values...)
}

func strlen(t *Txn, r *commands.Request) resp.Value {
	s, _, err := t.text(r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.Int(int64(len(s)))
}

// getrange implements GETRANGE (https://redis.io/docs/latest/commands/getrange/) and its old name SUBSTR.
func getrange(t *Txn, r *commands.Request) resp.Value {
	ends, _ := r.Opts.(args.Range)
	s, _, err := t.text(r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.Str(part(s, ends))
}

// part cuts a range out of s. Ends that lie outside are moved to the nearest byte, but a range of two negative ends
// in the wrong order is empty.
func part(s string, ends args.Range) string {
	n := int64(len(s))
	if ends.Start < 0 && ends.End < 0 && ends.Start > ends.End {
		return ""
	}
	start, end := inside(ends.Start, n), min(inside(ends.End, n), n-1)
	if start > end {
		return ""
	}
	return s[start : end+1]
}

func inside(i, n int64) int64 {
	if i < 0 {
		i += n
	}
	return max(i, 0)
}

// set implements SET (https://redis.io/docs/latest/commands/set/) with our option FENCE.
func set(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.SetOptions)
	key, value := r.Args[1], r.Args[2]
	if t.tooFar(opts.Expiry) {
		return resp.InvalidExpire("set").Value()
	}
	old := t.find(key)
	if opts.Get && old != nil && old.coll != nil {
		return resp.ErrWrongType.Value()
	}
	met, err := maySet(old, &opts)
	if err != nil {
		return resp.ReplyFor(err)
	}
	if !met {
		if opts.When == args.IfAbsent {
			t.leases.refuse()
		}
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
		o.key, o.str = cloned(key, value)
		o.token = t.grant()
	}
	t.replace(o.key, o)
	return o.token
}

func setnx(t *Txn, r *commands.Request) resp.Value {
	if t.find(r.Args[1]) != nil {
		t.leases.refuse()
		return resp.Int(0)
	}
	t.create(r.Args[1], r.Args[2], nil)
	return resp.Int(1)
}

// setex implements SETEX and PSETEX: key, TTL, value.
func setex(t *Txn, r *commands.Request) resp.Value {
	ttl, _ := r.Opts.(args.Expiry)
	if t.tooFar(ttl) {
		return resp.InvalidExpire(r.Spec.Name).Value()
	}
	t.store(r.Args[1], t.find(r.Args[1]), r.Args[3], ttl, false)
	return resp.OK()
}

func getset(t *Txn, r *commands.Request) resp.Value {
	old := t.find(r.Args[1])
	if old != nil && old.coll != nil {
		return resp.ErrWrongType.Value()
	}
	t.store(r.Args[1], old, r.Args[2], args.Expiry{}, false)
	return oldString(old)
}

func getdel(t *Txn, r *commands.Request) resp.Value {
	old := t.find(r.Args[1])
	switch {
	case old == nil:
		return resp.Value{}
	case old.coll != nil:
		return resp.ErrWrongType.Value()
	}
	t.replace(old.key, nil)
	return resp.Str(old.str)
}

// getex implements GETEX (https://redis.io/docs/latest/commands/getex/).
func getex(t *Txn, r *commands.Request) resp.Value {
	old := t.find(r.Args[1])
	switch {
	case old == nil:
		return resp.Value{}
	case old.coll != nil:
		return resp.ErrWrongType.Value()
	}
	opts, _ := r.Opts.(args.GetExOptions)
	ttl, err := opts.Expiry()
	if err == nil && t.tooFar(ttl) {
		err = resp.InvalidExpire("getex")
	}
	if err != nil {
		return resp.ReplyFor(err)
	}
	if ttl.Set() || (opts.Persist && old.deadline != 0) {
		t.store(old.key, old, old.str, ttl, false)
	}
	return resp.Str(old.str)
}

func mset(t *Txn, r *commands.Request) resp.Value {
	pairs, _ := r.Opts.(args.Pairs)
	for i := 0; i < len(pairs); i += 2 {
		t.store(pairs[i], t.find(pairs[i]), pairs[i+1], args.Expiry{}, false)
	}
	return resp.OK()
}

func msetnx(t *Txn, r *commands.Request) resp.Value {
	pairs, _ := r.Opts.(args.Pairs)
	for i := 0; i < len(pairs); i += 2 {
		if t.find(pairs[i]) != nil {
			return resp.Int(0)
		}
	}
	mset(t, r)
	return resp.Int(1)
}
