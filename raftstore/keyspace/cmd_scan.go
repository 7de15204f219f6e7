package keyspace

import (
	"strconv"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/glob"
	"github.com/redfence/redfence/commands/resp"
)

// scanHandlers are the commands that walk over the keys of a database.
func scanHandlers() map[string]handler {
	return map[string]handler{
		"keys":      keys,
		"scan":      scan,
		"randomkey": randomkey,
		"dbsize":    dbsize,
	}
}

func keys(t *Txn, r *commands.Request) resp.Value {
	var found []resp.Value
	t.ks.dbs[t.db].keys.each(func(key string, o *object) bool {
		if glob.Match(r.Args[1], key) && t.present(o) {
			found = append(found, resp.Str(key))
		}
		return true
	})
	return resp.Arr(found...)
}

// scan implements SCAN (https://redis.io/docs/latest/commands/scan/). The cursor is the hash from which to go on, so
// a key that is there all the time is found, whatever comes and goes around it.
func scan(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.ScanOptions)
	var found []resp.Value
	next := t.ks.dbs[t.db].keys.scan(opts.Cursor, opts.Count, func(key string, o *object) {
		if glob.Match(opts.Match, key) && (opts.Type == "" || opts.Type == o.typeName()) && t.present(o) {
			found = append(found, resp.Str(key))
		}
	})
	return scanned(next, found)
}

// scanned is the reply of SCAN and its relatives.
func scanned(next uint64, found []resp.Value) resp.Value {
	return resp.Arr(resp.Str(strconv.FormatUint(next, 10)), resp.Arr(found...))
}

// randomkey implements RANDOMKEY. The key follows from the transaction, see Txn.random.
func randomkey(t *Txn, _ *commands.Request) resp.Value {
	all := t.ks.dbs[t.db].keys
	n := all.len()
	if n == 0 {
		return resp.Value{}
	}
	first := t.random(n)
	for i := range n { // keys that are due are passed over
		if key, o := all.at((first + i) % n); t.present(o) {
			return resp.Str(key)
		}
	}
	return resp.Value{}
}

// dbsize implements DBSIZE. Unlike in Redis, keys that are due do not count.
func dbsize(t *Txn, _ *commands.Request) resp.Value {
	db := t.ks.dbs[t.db]
	n := db.keys.len()
	db.due.Scan(func(k dueKey) bool {
		if k.deadline > t.stamp.Clock {
			return false
		}
		t.due = t.due || (t.dry && k.deadline > t.stamp.Now)
		n--
		return true
	})
	return resp.Int(int64(n))
}
