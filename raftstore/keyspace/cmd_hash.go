package keyspace

import (
	"strconv"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/glob"
	"github.com/redfence/redfence/commands/resp"
)

// hashHandlers are the commands of https://redis.io/docs/latest/commands/?group=hash.
func hashHandlers() map[string]handler {
	return map[string]handler{
		"hget":         hget,
		"hmget":        hmget,
		"hgetall":      hgetall,
		"hkeys":        hkeys,
		"hvals":        hvals,
		"hlen":         hlen,
		"hexists":      hexists,
		"hstrlen":      hstrlen,
		"hrandfield":   hrandfield,
		"hscan":        hscan,
		"hset":         hset,
		"hmset":        hmset,
		"hsetnx":       hsetnx,
		"hdel":         hdel,
		"hincrby":      hincrby,
		"hincrbyfloat": hincrbyfloat,
	}
}

func hget(t *Txn, r *commands.Request) resp.Value {
	h, err := lookup[*hash](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return fieldOf(h, r.Args[2])
}

// fieldOf is the value of a field, or nil.
func fieldOf(h *hash, field string) resp.Value {
	v, ok := h.get(field)
	if !ok {
		return resp.Value{}
	}
	return resp.Str(v)
}

func hmget(t *Txn, r *commands.Request) resp.Value {
	h, err := lookup[*hash](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	values := make([]resp.Value, 0, len(r.Args)-2)
	for _, field := range r.Args[2:] {
		values = append(values, fieldOf(h, field))
	}
	return resp.Arr(values...)
}

func hgetall(t *Txn, r *commands.Request) resp.Value {
	h, err := lookup[*hash](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.MapOf(h.list(true, true)...)
}

func hkeys(t *Txn, r *commands.Request) resp.Value { return t.fields(r, true, false) }

func hvals(t *Txn, r *commands.Request) resp.Value { return t.fields(r, false, true) }

func (t *Txn) fields(r *commands.Request, fields, values bool) resp.Value {
	h, err := lookup[*hash](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.Arr(h.list(fields, values)...)
}

// list returns the fields, the values, or both in turn.
func (h *hash) list(fields, values bool) []resp.Value {
	all := make([]resp.Value, 0, 2*h.len())
	h.each(func(field, value string) bool {
		if fields {
			all = append(all, resp.Str(field))
		}
		if values {
			all = append(all, resp.Str(value))
		}
		return true
	})
	return all
}

func hlen(t *Txn, r *commands.Request) resp.Value {
	h, err := lookup[*hash](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.Int(int64(h.len()))
}

func hexists(t *Txn, r *commands.Request) resp.Value {
	h, err := lookup[*hash](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	_, ok := h.get(r.Args[2])
	return resp.BoolInt(ok)
}

func hstrlen(t *Txn, r *commands.Request) resp.Value {
	h, err := lookup[*hash](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	v, _ := h.get(r.Args[2])
	return resp.Int(int64(len(v)))
}

func hset(t *Txn, r *commands.Request) resp.Value {
	n, err := t.setFields(r)
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.Int(n)
}

func hmset(t *Txn, r *commands.Request) resp.Value {
	if _, err := t.setFields(r); err != nil {
		return resp.ReplyFor(err)
	}
	return resp.OK()
}

// setFields sets the fields of a request and returns how many are new. The key is left alone when all of them have
// their values already.
func (t *Txn) setFields(r *commands.Request) (int64, error) {
	pairs, _ := r.Opts.(args.Pairs)
	h, err := lookup[*hash](t, r.Args[1])
	if err != nil || h.holds(pairs) {
		return 0, err
	}
	h = edited(t, r.Args[1], &hash{})
	var added int64
	for i := 0; i < len(pairs); i += 2 {
		if h.set(pairs[i], pairs[i+1]) {
			added++
		}
	}
	return added, nil
}

// holds tells whether every field has its value.
func (h *hash) holds(pairs args.Pairs) bool {
	for i := 0; i < len(pairs); i += 2 {
		if v, ok := h.get(pairs[i]); !ok || v != pairs[i+1] {
			return false
		}
	}
	return true
}

func hsetnx(t *Txn, r *commands.Request) resp.Value {
	h, err := lookup[*hash](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	if _, ok := h.get(r.Args[2]); ok {
		return resp.Int(0)
	}
	edited(t, r.Args[1], &hash{}).set(r.Args[2], r.Args[3])
	return resp.Int(1)
}

func hdel(t *Txn, r *commands.Request) resp.Value {
	key, fields := r.Args[1], r.Args[2:]
	h, err := lookup[*hash](t, key)
	if err != nil {
		return resp.ReplyFor(err)
	}
	if !h.hasAny(fields) {
		return resp.Int(0)
	}
	h = edited(t, key, &hash{})
	var n int64
	for _, field := range fields {
		if h.del(field) {
			n++
		}
	}
	t.tidy(key, h)
	return resp.Int(n)
}

func (h *hash) hasAny(fields []string) bool {
	for _, field := range fields {
		if _, ok := h.get(field); ok {
			return true
		}
	}
	return false
}

// hincrby implements HINCRBY (https://redis.io/docs/latest/commands/hincrby/), by which Redisson counts the holds of
// a lock.
func hincrby(t *Txn, r *commands.Request) resp.Value {
	by, _ := r.Opts.(int64)
	key, field := r.Args[1], r.Args[2]
	h, err := lookup[*hash](t, key)
	if err != nil {
		return resp.ReplyFor(err)
	}
	was := "0"
	v, ok := h.get(field)
	if ok {
		was = v
	}
	n, err := args.Int(was)
	if err != nil {
		return resp.ErrHashNotInteger.Value()
	}
	if n, ok = sum(n, by); !ok {
		return resp.ErrOverflow.Value()
	}
	t.putField(key, field, v, strconv.FormatInt(n, 10))
	return resp.Int(n)
}

func hincrbyfloat(t *Txn, r *commands.Request) resp.Value {
	by, _ := r.Opts.(args.LongDouble)
	key, field := r.Args[1], r.Args[2]
	h, err := lookup[*hash](t, key)
	if err != nil {
		return resp.ReplyFor(err)
	}
	v, ok := h.get(field)
	if ok {
		was, err := args.ParseLongDouble(v)
		if err != nil {
			return resp.ErrHashNotFloat.Value()
		}
		if by, ok = was.Add(by); !ok {
			return resp.ErrNanOrInf.Value()
		}
	}
	text := by.String()
	t.putField(key, field, v, text)
	return resp.Str(text)
}

// putField sets a field whose value was was, "" for none, unless that changes nothing.
func (t *Txn) putField(key, field, was, value string) {
	if was != value {
		edited(t, key, &hash{}).set(field, value)
	}
}

// hrandfield implements HRANDFIELD (https://redis.io/docs/latest/commands/hrandfield/). Which fields it picks
// follows from the transaction, see Txn.random.
func hrandfield(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.RandomOptions)
	h, err := lookup[*hash](t, r.Args[1])
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case opts.One && h.len() == 0:
		return resp.Value{}
	case h.len() == 0:
		return resp.Arr()
	case opts.One:
		field, _ := h.at(t.random(h.len()))
		return resp.Str(field)
	}
	return h.picked(t.pick(h.len(), opts.Count), opts.Values)
}

func (h *hash) picked(positions []int, values bool) resp.Value {
	rows := make([]resp.Value, 0, 2*len(positions))
	for _, i := range positions {
		field, value := h.at(i)
		rows = append(rows, resp.Str(field))
		if values {
			rows = append(rows, resp.Str(value))
		}
	}
	if values {
		return resp.PairsOf(rows...)
	}
	return resp.Arr(rows...)
}

func hscan(t *Txn, r *commands.Request) resp.Value {
	h, err := lookup[*hash](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	if h == nil {
		return scanned(0, nil)
	}
	cursor, _ := r.Opts.(args.HScanOptions)
	opts, err := cursor.Options()
	if err != nil {
		return resp.ReplyFor(err)
	}
	var found []resp.Value
	next := h.scan(opts.Cursor, opts.Count, func(field, value string) {
		if glob.Match(opts.Match, field) {
			found = append(found, resp.Str(field), resp.Str(value))
		}
	})
	return scanned(next, found)
}
