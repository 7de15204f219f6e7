package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/glob"
	"github.com/redfence/redfence/commands/resp"
)

// setHandlers are the commands of https://redis.io/docs/latest/commands/?group=set.
func setHandlers() map[string]handler {
	return map[string]handler{
		"scard":       scard,
		"sismember":   sismember,
		"smismember":  smismember,
		"smembers":    smembers,
		"srandmember": srandmember,
		"sscan":       sscan,
		"sadd":        sadd,
		"srem":        srem,
		"spop":        spop,
		"smove":       smove,
		"sunion":      func(t *Txn, r *commands.Request) resp.Value { return t.combined(r, union) },
		"sinter":      func(t *Txn, r *commands.Request) resp.Value { return t.combined(r, intersection) },
		"sdiff":       func(t *Txn, r *commands.Request) resp.Value { return t.combined(r, difference) },
		"sunionstore": func(t *Txn, r *commands.Request) resp.Value { return t.storeCombined(r, union) },
		"sinterstore": func(t *Txn, r *commands.Request) resp.Value { return t.storeCombined(r, intersection) },
		"sdiffstore":  func(t *Txn, r *commands.Request) resp.Value { return t.storeCombined(r, difference) },
		"sintercard":  sintercard,
	}
}

func scard(t *Txn, r *commands.Request) resp.Value {
	s, err := lookup[*memberSet](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.Int(int64(s.len()))
}

func sismember(t *Txn, r *commands.Request) resp.Value {
	s, err := lookup[*memberSet](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.BoolInt(s.has(r.Args[2]))
}

func smismember(t *Txn, r *commands.Request) resp.Value {
	s, err := lookup[*memberSet](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	var each []resp.Value
	for _, member := range r.Args[2:] {
		each = append(each, resp.BoolInt(s.has(member)))
	}
	return resp.Arr(each...)
}

func smembers(t *Txn, r *commands.Request) resp.Value {
	s, err := lookup[*memberSet](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.SetOf(s.values()...)
}

func (s *memberSet) values() []resp.Value {
	values := make([]resp.Value, 0, s.len())
	s.each(func(member string) bool {
		values = append(values, resp.Str(member))
		return true
	})
	return values
}

// srandmember implements SRANDMEMBER (https://redis.io/docs/latest/commands/srandmember/). Which members it picks
// follows from the transaction, see Txn.random.
func srandmember(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.RandomOptions)
	s, err := lookup[*memberSet](t, r.Args[1])
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case opts.One && s == nil:
		return resp.Value{}
	case s == nil:
		return resp.Arr()
	case opts.One:
		return resp.Str(s.at(t.random(s.len())))
	}
	return resp.Arr(s.picked(t.pick(s.len(), opts.Count))...)
}

func (s *memberSet) picked(positions []int) []resp.Value {
	values := make([]resp.Value, len(positions))
	for i, at := range positions {
		values[i] = resp.Str(s.at(at))
	}
	return values
}

func sscan(t *Txn, r *commands.Request) resp.Value {
	s, err := lookup[*memberSet](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	if s == nil {
		return scanned(0, nil)
	}
	cursor, _ := r.Opts.(args.HScanOptions)
	opts, err := cursor.Options()
	if err != nil {
		return resp.ReplyFor(err)
	}
	var found []resp.Value
	next := s.scan(opts.Cursor, opts.Count, func(member string) {
		if glob.Match(opts.Match, member) {
			found = append(found, resp.Str(member))
		}
	})
	return scanned(next, found)
}

func sadd(t *Txn, r *commands.Request) resp.Value {
	key, members := r.Args[1], r.Args[2:]
	s, err := lookup[*memberSet](t, key)
	if err != nil {
		return resp.ReplyFor(err)
	}
	if s.count(members) == len(members) {
		return resp.Int(0)
	}
	s = edited(t, key, &memberSet{})
	var n int64
	for _, member := range members {
		if s.add(member) {
			n++
		}
	}
	return resp.Int(n)
}

// count tells how many of the given members the set has.
func (s *memberSet) count(members []string) (n int) {
	for _, member := range members {
		if s.has(member) {
			n++
		}
	}
	return n
}

func srem(t *Txn, r *commands.Request) resp.Value {
	key, members := r.Args[1], r.Args[2:]
	s, err := lookup[*memberSet](t, key)
	if err != nil {
		return resp.ReplyFor(err)
	}
	if s.count(members) == 0 {
		return resp.Int(0)
	}
	return resp.Int(t.removeMembers(key, members))
}

// removeMembers takes members out of the set of a key, which it has checked, and tells how many there were.
func (t *Txn) removeMembers(key string, members []string) (n int64) {
	s := edited(t, key, &memberSet{})
	for _, member := range members {
		if s.del(member) {
			n++
		}
	}
	t.tidy(key, s)
	return n
}

// spop implements SPOP (https://redis.io/docs/latest/commands/spop/), with the members that Txn.random picks.
func spop(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.Size)
	s, err := lookup[*memberSet](t, r.Args[1])
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case s == nil && opts.One:
		return resp.Value{}
	case s == nil || opts.Count == 0:
		return resp.SetOf()
	}
	var members []string
	for _, at := range t.pick(s.len(), opts.Count) {
		members = append(members, s.at(at))
	}
	t.removeMembers(r.Args[1], members)
	if opts.One {
		return resp.Str(members[0])
	}
	return resp.SetOf(resp.Strs(members...).Elems...)
}

func smove(t *Txn, r *commands.Request) resp.Value {
	source, target, member := r.Args[1], r.Args[2], r.Args[3]
	from, err := lookup[*memberSet](t, source)
	to, errTo := lookup[*memberSet](t, target)
	switch {
	case err == nil && from == nil:
		return resp.Int(0)
	case err != nil || errTo != nil:
		return resp.ErrWrongType.Value()
	case source == target || !from.has(member):
		return resp.BoolInt(from.has(member))
	}
	t.removeMembers(source, []string{member})
	if !to.has(member) {
		edited(t, target, &memberSet{}).add(member)
	}
	return resp.Int(1)
}
