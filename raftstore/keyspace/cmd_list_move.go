package keyspace

import (
	"slices"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

func lpop(t *Txn, r *commands.Request) resp.Value { return t.pop(r, true) }

func rpop(t *Txn, r *commands.Request) resp.Value { return t.pop(r, false) }

// pop implements LPOP (https://redis.io/docs/latest/commands/lpop/) and RPOP.
func (t *Txn) pop(r *commands.Request, left bool) resp.Value {
	opts, _ := r.Opts.(args.Size)
	l, err := lookup[*list](t, r.Args[1])
	switch {
	case err != nil:
		return resp.ReplyFor(err)
	case l == nil && opts.One:
		return resp.Value{}
	case l == nil:
		return resp.Value{Kind: resp.NullArray}
	}
	popped := t.take(r.Args[1], l, left, opts.Count)
	if opts.One {
		return popped[0]
	}
	return resp.Arr(popped...)
}

// take removes up to count elements from an end of the list of a key and returns them as they come off.
func (t *Txn) take(key string, l *list, left bool, count int64) []resp.Value {
	n := int(min(count, int64(l.len())))
	if n == 0 {
		return nil
	}
	if left {
		popped := l.values(0, n)
		t.cutList(key, n, 0)
		return popped
	}
	popped := l.values(l.len()-n, l.len())
	slices.Reverse(popped)
	t.cutList(key, 0, n)
	return popped
}

// lmpop implements LMPOP (https://redis.io/docs/latest/commands/lmpop/).
func lmpop(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.MultiPop)
	return t.popLists(opts)
}

// popLists takes elements from the first of several lists that has any.
func (t *Txn) popLists(opts args.MultiPop) resp.Value {
	for _, key := range opts.Keys {
		l, err := lookup[*list](t, key)
		if err != nil {
			return resp.ReplyFor(err)
		}
		if l != nil {
			return resp.Arr(resp.Str(key), resp.Arr(t.take(key, l, opts.First, opts.Count)...))
		}
	}
	return resp.Value{Kind: resp.NullArray}
}

// lmove implements LMOVE (https://redis.io/docs/latest/commands/lmove/) and RPOPLPUSH.
func lmove(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.MoveOptions)
	return t.move(r, opts)
}

// move takes an element from one end of a list, and puts it to an end of another.
func (t *Txn) move(r *commands.Request, opts args.MoveOptions) resp.Value {
	source, target := r.Args[1], r.Args[2]
	l, err := lookup[*list](t, source)
	if err != nil {
		return resp.ReplyFor(err)
	}
	if l == nil {
		return resp.Value{}
	}
	if _, err := lookup[*list](t, target); err != nil {
		return resp.ReplyFor(err)
	}
	moved := l.at(0)
	if !opts.FromLeft {
		moved = l.at(l.len() - 1)
	}
	if source == target {
		t.rotate(source, l, opts)
		return resp.Str(moved)
	}
	t.take(source, l, opts.FromLeft, 1)
	edited(t, target, &list{}).push(opts.ToLeft, moved)
	return resp.Str(moved)
}

// rotate moves an element from one end of a list to the other. The list never becomes empty, so its key stays.
func (t *Txn) rotate(key string, l *list, opts args.MoveOptions) {
	if opts.FromLeft == opts.ToLeft || l.len() == 1 {
		return
	}
	l = edited(t, key, &list{})
	moved := ""
	switch n := l.len(); {
	case n == 0: // a dry transaction
	case opts.FromLeft:
		moved = l.at(0)
		l.cut(1, 0)
	default:
		moved = l.at(n - 1)
		l.cut(0, 1)
	}
	l.push(opts.ToLeft, moved)
}
