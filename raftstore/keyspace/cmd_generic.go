package keyspace

import (
	"strings"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// genericHandlers are the commands of https://redis.io/docs/latest/commands/?group=generic, except those on TTLs and
// those that walk over the keys.
func genericHandlers() map[string]handler {
	return map[string]handler{
		"del":             del,
		"unlink":          del,
		"exists":          exists,
		"touch":           exists,
		"type":            typeOf,
		"rename":          rename,
		"renamenx":        renamenx,
		"copy":            copyKey,
		"move":            move,
		"sort":            sortKey,
		"sort_ro":         sortKey,
		"object|encoding": objectEncoding,
		"object|refcount": objectRefcount,
		"object|idletime": objectIdletime,
		"object|freq":     objectFreq,
		"object|help":     objectHelp,
	}
}

func del(t *Txn, r *commands.Request) resp.Value {
	var n int64
	for _, key := range r.Args[1:] {
		if t.remove(key) {
			n++
		}
	}
	return resp.Int(n)
}

// exists counts a key that is named twice twice.
func exists(t *Txn, r *commands.Request) resp.Value {
	var n int64
	for _, key := range r.Args[1:] {
		if t.find(key) != nil {
			n++
		}
	}
	return resp.Int(n)
}

func typeOf(t *Txn, r *commands.Request) resp.Value {
	o := t.find(r.Args[1])
	if o == nil {
		return resp.Status("none")
	}
	return resp.Status(o.typeName())
}

// rename implements RENAME (https://redis.io/docs/latest/commands/rename/). The key takes its TTL along, and comes
// into being under its new name: it gets a new token.
func rename(t *Txn, r *commands.Request) resp.Value {
	source, target := r.Args[1], r.Args[2]
	o := t.find(source)
	switch {
	case o == nil:
		return resp.ErrNoSuchKey.Value()
	case source != target:
		t.find(target) // one that is due expires before it is overwritten
		t.replace(source, nil)
		t.place(t.db, target, o)
	}
	return resp.OK()
}

func renamenx(t *Txn, r *commands.Request) resp.Value {
	source, target := r.Args[1], r.Args[2]
	o := t.find(source)
	if o == nil {
		return resp.ErrNoSuchKey.Value()
	}
	if t.find(target) != nil { // also when it is the same key
		return resp.Int(0)
	}
	t.replace(source, nil)
	t.place(t.db, target, o)
	return resp.Int(1)
}

// place puts a copy of an object under another name, or into another database, with a token of its own.
func (t *Txn) place(db int, key string, o *object) {
	if t.dry {
		t.changed = true
		return
	}
	c := o.cloneFor(t.ks.owner)
	c.key, c.token = strings.Clone(key), t.grant()
	defer t.Select(t.db)
	t.Select(db)
	t.replace(key, c)
}

// findIn is find in another database.
func (t *Txn) findIn(db int, key string) *object {
	defer t.Select(t.db)
	t.Select(db)
	return t.find(key)
}

// copyKey implements COPY (https://redis.io/docs/latest/commands/copy/).
func copyKey(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.CopyOptions)
	source, target, db := r.Args[1], r.Args[2], t.db
	if opts.OtherDB {
		db = opts.DB
	}
	if db == t.db && source == target {
		return resp.ErrSameObject.Value()
	}
	o := t.find(source)
	if o == nil || (t.findIn(db, target) != nil && !opts.Replace) {
		return resp.Int(0)
	}
	t.place(db, target, o)
	return resp.Int(1)
}

// move implements MOVE (https://redis.io/docs/latest/commands/move/).
func move(t *Txn, r *commands.Request) resp.Value {
	db, _ := r.Opts.(int)
	key := r.Args[1]
	if db == t.db {
		return resp.ErrSameObject.Value()
	}
	o := t.find(key)
	if o == nil || t.findIn(db, key) != nil {
		return resp.Int(0)
	}
	t.replace(key, nil)
	t.place(db, key, o)
	return resp.Int(1)
}

// object answers a subcommand of OBJECT that is about a key, nil when the key is absent.
func (t *Txn) object(r *commands.Request, of func(*object) resp.Value) resp.Value {
	o := t.find(r.Args[2])
	if o == nil {
		return resp.Value{}
	}
	return of(o)
}

func objectEncoding(t *Txn, r *commands.Request) resp.Value {
	return t.object(r, func(o *object) resp.Value { return resp.Str(o.encoding()) })
}

func objectRefcount(t *Txn, r *commands.Request) resp.Value {
	return t.object(r, func(*object) resp.Value { return resp.Int(1) })
}

// objectIdletime answers 0: reads leave no trace in a replicated state.
func objectIdletime(t *Txn, r *commands.Request) resp.Value {
	return t.object(r, func(*object) resp.Value { return resp.Int(0) })
}

func objectFreq(t *Txn, r *commands.Request) resp.Value {
	return t.object(r, func(*object) resp.Value { return resp.ErrNoLFU.Value() })
}

func objectHelp(*Txn, *commands.Request) resp.Value { return statusLines(commands.ObjectHelp) }

// statusLines is the form of all HELP subcommands.
func statusLines(text string) resp.Value {
	var lines []resp.Value
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, resp.Status(line))
	}
	return resp.Arr(lines...)
}
