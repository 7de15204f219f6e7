package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// listHandlers are the commands of https://redis.io/docs/latest/commands/?group=list that do not wait.
func listHandlers() map[string]handler {
	return map[string]handler{
		"llen":      llen,
		"lrange":    lrange,
		"lindex":    lindex,
		"lpos":      lpos,
		"lpush":     lpush,
		"rpush":     rpush,
		"lpushx":    lpushx,
		"rpushx":    rpushx,
		"lpop":      lpop,
		"rpop":      rpop,
		"lmpop":     lmpop,
		"lmove":     lmove,
		"rpoplpush": lmove,
		"lset":      lset,
		"linsert":   linsert,
		"lrem":      lrem,
		"ltrim":     ltrim,
	}
}

func llen(t *Txn, r *commands.Request) resp.Value {
	l, err := lookup[*list](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	return resp.Int(int64(l.len()))
}

func lrange(t *Txn, r *commands.Request) resp.Value {
	ends, _ := r.Opts.(args.Range)
	l, err := lookup[*list](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	from, to := span(ends, l.len())
	return resp.Arr(l.values(from, to)...)
}

// span turns the ends of a range, which are inclusive and may be negative, into a half-open one within 0 and n.
func span(ends args.Range, n int) (from, to int) {
	start, end := inside(ends.Start, int64(n)), ends.End
	if end < 0 {
		end += int64(n)
	}
	end = min(end, int64(n)-1)
	if start > end {
		return 0, 0
	}
	return int(start), int(end) + 1
}

func (l *list) values(from, to int) []resp.Value {
	values := make([]resp.Value, 0, to-from)
	l.each(from, to, func(_ int, s string) bool {
		values = append(values, resp.Str(s))
		return true
	})
	return values
}

// index reads the index of an element, which may count from the tail; ok is false when there is none.
func (l *list) index(text string) (i int, ok bool, err error) {
	n, err := args.Int(text)
	if n < 0 {
		n += int64(l.len())
	}
	if n < 0 || n >= int64(l.len()) {
		return 0, false, err
	}
	return int(n), err == nil, err
}

// lindex implements LINDEX. Redis reads the index only when the key is there.
func lindex(t *Txn, r *commands.Request) resp.Value {
	l, err := lookup[*list](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	if l == nil {
		return resp.Value{}
	}
	i, ok, err := l.index(r.Args[2])
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case !ok:
		return resp.Value{}
	}
	return resp.Str(l.at(i))
}

// lpos implements LPOS (https://redis.io/docs/latest/commands/lpos/).
func lpos(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.LPosOptions)
	l, err := lookup[*list](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	found := l.matches(r.Args[2], opts)
	if opts.Many {
		return resp.Arr(found...)
	}
	if len(found) == 0 {
		return resp.Value{}
	}
	return found[0]
}

// matches returns the indexes that LPOS gives.
func (l *list) matches(s string, opts args.LPosOptions) (found []resp.Value) {
	n := l.len()
	looked := n
	if opts.MaxLen > 0 {
		looked = int(min(opts.MaxLen, int64(n)))
	}
	for i := range looked {
		if opts.FromTail {
			i = n - 1 - i
		}
		if l.at(i) != s {
			continue
		}
		if opts.Rank--; opts.Rank <= 0 {
			found = append(found, resp.Int(int64(i)))
		}
		if opts.Count > 0 && int64(len(found)) == opts.Count {
			break
		}
	}
	return found
}

func lpush(t *Txn, r *commands.Request) resp.Value { return t.push(r, true, false) }

func rpush(t *Txn, r *commands.Request) resp.Value { return t.push(r, false, false) }

func lpushx(t *Txn, r *commands.Request) resp.Value { return t.push(r, true, true) }

func rpushx(t *Txn, r *commands.Request) resp.Value { return t.push(r, false, true) }

func (t *Txn) push(r *commands.Request, left, onlyPresent bool) resp.Value {
	l, err := lookup[*list](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	if l == nil && onlyPresent {
		return resp.Int(0)
	}
	l = edited(t, r.Args[1], &list{})
	for _, s := range r.Args[2:] {
		l.push(left, s)
	}
	return resp.Int(int64(l.len()))
}

// lset implements LSET. Redis reads the index only when the key is there.
func lset(t *Txn, r *commands.Request) resp.Value {
	l, err := lookup[*list](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	if l == nil {
		return resp.ErrNoSuchKey.Value()
	}
	i, ok, err := l.index(r.Args[2])
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case !ok:
		return resp.ErrOutOfRange.Value()
	case l.at(i) != r.Args[3]:
		edited(t, r.Args[1], &list{}).set(i, r.Args[3])
	}
	return resp.OK()
}

func linsert(t *Txn, r *commands.Request) resp.Value {
	before, _ := r.Opts.(bool)
	l, err := lookup[*list](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	if l == nil {
		return resp.Int(0)
	}
	at := l.find(r.Args[3])
	if at < 0 {
		return resp.Int(-1)
	}
	if !before {
		at++
	}
	edited(t, r.Args[1], &list{}).insert(at, r.Args[4])
	return resp.Int(int64(l.len()) + 1)
}

// find returns the index of the first element that equals s, -1 when there is none.
func (l *list) find(s string) int {
	found := -1
	l.each(0, l.len(), func(i int, other string) bool {
		if other == s {
			found = i
		}
		return found < 0
	})
	return found
}

func lrem(t *Txn, r *commands.Request) resp.Value {
	count, _ := r.Opts.(int64)
	l, err := lookup[*list](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	doomed := l.equals(r.Args[3])
	if n := int64(len(doomed)); count > 0 && count < n {
		doomed = doomed[:count]
	} else if count < 0 && count > -n {
		doomed = doomed[n+count:]
	}
	if len(doomed) > 0 {
		l = edited(t, r.Args[1], &list{})
		l.without(doomed)
		t.tidy(r.Args[1], l)
	}
	return resp.Int(int64(len(doomed)))
}

// equals returns the indexes of the elements that equal s.
func (l *list) equals(s string) (indexes []int) {
	l.each(0, l.len(), func(i int, other string) bool {
		if other == s {
			indexes = append(indexes, i)
		}
		return true
	})
	return indexes
}

func ltrim(t *Txn, r *commands.Request) resp.Value {
	ends, _ := r.Opts.(args.Range)
	l, err := lookup[*list](t, r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	from, to := span(ends, l.len())
	if to-from < l.len() {
		t.cutList(r.Args[1], from, l.len()-to)
	}
	return resp.OK()
}

// cutList removes elements at the two ends of the list of a key, and the key with the last of them.
func (t *Txn) cutList(key string, left, right int) {
	l := edited(t, key, &list{})
	l.cut(left, right)
	t.tidy(key, l)
}
