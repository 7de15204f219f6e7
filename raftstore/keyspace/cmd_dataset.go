package keyspace

import (
	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// datasetHandlers are the commands that replace whole databases. They take the same time for any number of keys.
func datasetHandlers() map[string]handler {
	return map[string]handler{
		"flushdb":  flushdb,
		"flushall": flushall,
		"swapdb":   swapdb,
	}
}

func flushdb(t *Txn, _ *commands.Request) resp.Value {
	if t.ks.dbs[t.db].keys.len() > 0 && t.keepAll() {
		t.ks.dbs[t.db] = newDatabase()
		t.trail.flush()
	}
	return resp.OK()
}

func flushall(t *Txn, _ *commands.Request) resp.Value {
	if t.ks.Len() > 0 && t.keepAll() {
		for i := range Databases {
			t.ks.dbs[i] = newDatabase()
		}
		t.trail.flush()
	}
	return resp.OK()
}

// swapdb implements SWAPDB (https://redis.io/docs/latest/commands/swapdb/).
func swapdb(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.SwapOptions)
	a, b := &t.ks.dbs[opts.A], &t.ks.dbs[opts.B]
	if a != b && a.keys.len()+b.keys.len() > 0 && t.keepAll() {
		*a, *b = *b, *a
		t.trail.flush()
		t.ks.changes.exchange(opts.A, opts.B)
	}
	return resp.OK()
}
