package keyspace

import (
	"strconv"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// longestString is the longest string that APPEND and SETRANGE make. Redis takes 512 MiB (proto-max-bulk-len); ours
// is the longest bulk that the front end takes by default, so that a value which can be made can be sent too.
const longestString = 64 << 20

// putText changes a string in place: the key keeps its token and TTL. An absent key comes into being.
func (t *Txn) putText(key, s string) {
	if o := t.edit(key); o != nil {
		t.written += int64(len(s))
		o.str = s
		return
	}
	t.create(key, s, nil)
}

func appendTo(t *Txn, r *commands.Request) resp.Value {
	key, tail := r.Args[1], r.Args[2]
	s, ok, err := t.text(key)
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case len(s)+len(tail) > longestString:
		return resp.ErrTooLong.Value()
	case !ok || tail != "":
		t.putText(key, s+tail)
	}
	return resp.Int(int64(len(s) + len(tail)))
}

// setrange implements SETRANGE (https://redis.io/docs/latest/commands/setrange/). The gap behind a short string is
// filled with zero bytes.
func setrange(t *Txn, r *commands.Request) resp.Value {
	offset, _ := r.Opts.(int64)
	key, piece := r.Args[1], r.Args[3]
	s, _, err := t.text(key)
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case piece == "":
		return resp.Int(int64(len(s)))
	case offset > longestString-int64(len(piece)):
		return resp.ErrTooLong.Value()
	}
	if made := overwritten(s, int(offset), piece); made != s {
		t.putText(key, made)
		return resp.Int(int64(len(made)))
	}
	return resp.Int(int64(len(s)))
}

func overwritten(s string, offset int, piece string) string {
	made := make([]byte, max(len(s), offset+len(piece)))
	copy(made, s)
	copy(made[offset:], piece)
	return string(made)
}

func incr(t *Txn, r *commands.Request) resp.Value { return t.add(r.Args[1], 1) }

func decr(t *Txn, r *commands.Request) resp.Value { return t.add(r.Args[1], -1) }

// incrby implements INCRBY, and DECRBY whose parser has turned the sign.
func incrby(t *Txn, r *commands.Request) resp.Value {
	by, _ := r.Opts.(int64)
	return t.add(r.Args[1], by)
}

func (t *Txn) add(key string, by int64) resp.Value {
	s, ok, err := t.text(key)
	if err != nil {
		return resp.ReplyFor(err)
	}
	was := "0"
	if ok {
		was = s
	}
	n, err := args.Int(was)
	if err != nil {
		return resp.ReplyFor(err)
	}
	if n, ok = sum(n, by); !ok {
		return resp.ErrOverflow.Value()
	}
	if text := strconv.FormatInt(n, 10); text != s {
		t.putText(key, text)
	}
	return resp.Int(n)
}

// incrbyfloat implements INCRBYFLOAT (https://redis.io/docs/latest/commands/incrbyfloat/).
func incrbyfloat(t *Txn, r *commands.Request) resp.Value {
	by, _ := r.Opts.(args.LongDouble)
	s, ok, err := t.text(r.Args[1])
	if err != nil {
		return resp.ReplyFor(err)
	}
	was := "0"
	if ok {
		was = s
	}
	n, err := args.ParseLongDouble(was)
	if err != nil {
		return resp.ReplyFor(err)
	}
	if n, ok = n.Add(by); !ok {
		return resp.ErrNanOrInf.Value()
	}
	text := n.String()
	if text != s {
		t.putText(r.Args[1], text)
	}
	return resp.Str(text)
}
