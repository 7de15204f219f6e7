package keyspace

import (
	"slices"

	"github.com/redfence/redfence/commands"
)

// trail is what a transaction did to keys, in order, for clients that keep copies of them
// (https://redis.io/docs/latest/develop/reference/client-side-caching/). It is taken down only when asked for.
type trail struct {
	list           []commands.Access
	changes, reads bool // what is taken down
}

// Trace says whether changes and reads are taken down from now on.
func (t *Txn) Trace(changes, reads bool) { t.trail.changes, t.trail.reads = changes, reads }

// Trail returns what was taken down since it was last called. The slice is valid until the transaction goes on.
func (t *Txn) Trail() []commands.Access {
	list := t.trail.list
	t.trail.list = list[:0]
	return list
}

func (t *trail) change(key string) {
	if t.changes {
		t.note(commands.Access{Kind: commands.ChangedKey, Key: key})
	}
}

func (t *trail) flush() {
	if t.changes {
		t.note(commands.Access{Kind: commands.FlushedKeys})
	}
}

// read takes down the keys of a command that only reads. A name that shows a token is no key, so nothing would tell
// that it changed: it counts as changed at once, and no client keeps it.
func (t *trail) read(r *commands.Request) {
	if !t.reads || !r.Spec.Flags.Has(commands.ReadOnly) {
		return
	}
	for _, key := range r.Keys() {
		t.note(commands.Access{Kind: commands.ReadKey, Key: key})
		if reserved(key) {
			t.note(commands.Access{Kind: commands.ChangedKey, Key: key})
		}
	}
}

// note leaves out what repeats the last access.
func (t *trail) note(a commands.Access) {
	if n := len(t.list); n == 0 || t.list[n-1] != a {
		t.list = append(t.list, a)
	}
}

// cut forgets what was taken down behind the first n.
func (t *trail) cut(n int) { t.list = slices.Delete(t.list, min(n, len(t.list)), len(t.list)) }
