package keyspace

import (
	"strconv"
	"strings"
	"time"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
)

// resources is the number of a database that no client can select. Its keys are what FENCE.CHECK remembers: under the
// number of the client's database and the name of the resource, an object whose token is the largest that was seen, and
// whose deadline is when it may be forgotten. FLUSHALL leaves it alone, or a flush would let stale tokens through.
const resources = Databases

// renewedAt is the part of its time for which a resource was remembered before the same token is written down anew. So a
// client that checks its token before each write costs a log entry only when the token is new, or now and then.
const renewedAt = 64

func resourceName(db int, resource string) string { return strconv.Itoa(db) + ":" + resource }

// fenceCheck implements FENCE.CHECK resource token: 1 when no higher token was seen for the resource, and then the token is
// remembered; 0 when it is stale.
func fenceCheck(t *Txn, r *commands.Request) resp.Value {
	opts, _ := r.Opts.(args.CheckOptions)
	name := resourceName(t.db, r.Args[1])
	o := t.resource(name)
	if o != nil && opts.Token < o.token {
		return resp.Int(0)
	}
	memory := t.stamp.memory().Milliseconds()
	if o == nil || opts.Token > o.token || o.deadline-t.stamp.Clock < memory-memory/renewedAt {
		t.note(name, opts.Token, memory)
	}
	return resp.Int(1)
}

// fenceLast implements FENCE.LAST resource: the largest token that FENCE.CHECK has let through, nil when it knows none.
func fenceLast(t *Txn, r *commands.Request) resp.Value {
	o := t.resource(resourceName(t.db, r.Args[1]))
	if o == nil {
		return resp.Value{}
	}
	return resp.Int(o.token)
}

// memory is for how long tokens are remembered.
func (s Stamp) memory() time.Duration {
	if s.FenceMemory == 0 {
		return commands.FenceMemory
	}
	return time.Duration(s.FenceMemory) * time.Millisecond
}

// resource returns what is remembered, nil when nothing is.
func (t *Txn) resource(name string) *object {
	defer t.Select(t.db)
	t.Select(resources)
	return t.find(name)
}

// note remembers a token for so many ms.
func (t *Txn) note(name string, token, memory int64) {
	defer t.Select(t.db)
	t.Select(resources)
	deadline := saturatingAdd(t.stamp.Now, memory)
	t.replace(name, &object{key: strings.Clone(name), token: token, deadline: deadline, owner: t.ks.owner})
}

// Resources is the number of resources whose tokens are remembered.
func (ks *Keyspace) Resources() int { return ks.dbs[resources].keys.len() }

// resources writes what FENCE.CHECK remembers. The number of an object's last change is not written, for nobody watches it.
func (e *encoder) resources(keys dict[*object]) {
	e.uint(uint64(keys.len()))
	keys.each(func(name string, o *object) bool {
		e.str(name)
		e.int(o.token)
		e.int(o.deadline)
		e.flush(block)
		return e.err == nil
	})
}

// resource reads what encoder.resources wrote of one.
func (d *decoder) resource() *object { return &object{key: d.str(), token: d.int(), deadline: d.int()} }
