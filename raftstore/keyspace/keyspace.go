// Package keyspace is the state machine of raft mode: a small Redis that is deterministic. The same requests with
// the same stamps give the same replies, events and state on every node and on every replay. It has no clock, no
// randomness and no goroutine; time comes with each transaction.
//
// See DESIGN.md for its form: objects that are never modified once committed, which gives transactions that can be
// taken back and snapshots that cost nothing to take.
package keyspace

import (
	"maps"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/fencing"
)

// Databases is the number of databases, as in Redis's default configuration.
const Databases = 16

// Keyspace is the whole state. It is not safe for concurrent use; a View taken from it is.
type Keyspace struct {
	dbs     [Databases + 1]database // the last is that of resources
	scripts scripts

	now   int64         // store time of the last transaction, ms
	last  fencing.Token // the newest token that was granted
	owner uint64        // number of the running step, see object.owner

	changes changes // what WATCH compares

	leases   leases    // of the transaction that runs
	tried    Txn       // the last dry one
	handlers []handler // by Spec.ID
}

// handler executes one command. It runs inside a transaction and returns the reply; it never fails half way.
type handler func(t *Txn, r *commands.Request) resp.Value

// New returns an empty keyspace.
func New() *Keyspace {
	ks := &Keyspace{handlers: bindHandlers()}
	ks.clear()
	return ks
}

func (ks *Keyspace) clear() {
	for i := range ks.dbs {
		ks.dbs[i] = newDatabase()
	}
	ks.scripts = newScripts()
	ks.now, ks.last, ks.changes = 0, 0, changes{}
}

// bindHandlers turns the handlers, which are grouped by name, into an array over the command table.
func bindHandlers() []handler {
	rows := commands.All()
	byID := make([]handler, len(rows))
	byName := allHandlers()
	for _, spec := range rows {
		byID[spec.ID] = byName[spec.Name]
	}
	return byID
}

func allHandlers() map[string]handler {
	all := make(map[string]handler)
	for _, group := range []map[string]handler{
		genericHandlers(), expiryHandlers(), scanHandlers(), datasetHandlers(),
		stringHandlers(), hashHandlers(), listHandlers(), setHandlers(), zsetHandlers(), zsetRangeHandlers(),
		zsetAlgebraHandlers(), scriptHandlers(), fencingHandlers(), pubsubHandlers(),
		transactionHandlers(), blockingHandlers(), memoryHandlers(),
	} {
		maps.Copy(all, group)
	}
	return all
}

// Now is the store time of the last transaction that was applied, in milliseconds. It only grows.
func (ks *Keyspace) Now() int64 { return ks.now }

// LastToken is the newest fencing token that was granted.
func (ks *Keyspace) LastToken() fencing.Token { return ks.last }

// Exists tells whether a key is there in any database, also one that is due and not yet removed.
func (ks *Keyspace) Exists(key string) bool {
	for _, db := range ks.dbs {
		if _, found := db.keys.get(key); found {
			return true
		}
	}
	return false
}

// Len is the number of keys over all databases, with those that are due and not yet removed.
func (ks *Keyspace) Len() int {
	n := 0
	for _, db := range ks.dbs[:Databases] {
		n += db.keys.len()
	}
	return n
}
