package quorum

import (
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/redfence/redfence/commands"
	"github.com/redfence/redfence/commands/args"
	"github.com/redfence/redfence/commands/resp"
	"github.com/redfence/redfence/quorum/runner"
)

// majorityKeys asks all nodes for the keys of a database that match a pattern, and answers those that a majority has.
func (e *Engine) majorityKeys(r *request, pattern string, done func([]string)) {
	e.countKeys(r.db, pattern, e.need, r.answer, done)
}

// countKeys finds the keys that at least so many nodes have.
func (e *Engine) countKeys(db int, pattern string, least int, fail func(resp.Value), done func([]string)) {
	q, err := commands.Bind([]string{"KEYS", pattern}, db)
	if err != nil {
		fail(resp.ReplyFor(err))
		return
	}
	op := &runner.Run{ID: e.nextID(), Requests: []*commands.Request{q}, Wall: e.cfg.Wall()}
	e.gather(db, op, func(g *gathering) {
		if g.votes.Answered() < e.need {
			fail(e.tooFew(g.votes))
			return
		}
		count := map[string]int{}
		for _, answer := range g.votes.All() {
			for _, key := range answer.Reply.Elems {
				count[key.Str]++
			}
		}
		maps.DeleteFunc(count, func(_ string, n int) bool { return n < least })
		done(slices.Sorted(maps.Keys(count)))
	})
}

func (e *Engine) keys(r *request) {
	e.majorityKeys(r, r.call.Requests[0].Args[1], func(keys []string) { r.answer(resp.Strs(keys...)) })
}

func (e *Engine) dbSize(r *request) {
	e.majorityKeys(r, "*", func(keys []string) { r.answer(resp.Int(int64(len(keys)))) })
}

func (e *Engine) randomKey(r *request) {
	e.majorityKeys(r, "*", func(keys []string) {
		if len(keys) == 0 {
			r.answer(resp.Value{})
			return
		}
		r.answer(resp.Str(keys[e.cfg.Random(int64(len(keys)))]))
	})
}

// scan answers SCAN (https://redis.io/docs/latest/commands/scan/). A cursor is a place in the order of the keys'
// hashes, so keys that are there all the time are returned, whatever comes and goes, and nodes need remember nothing.
func (e *Engine) scan(r *request) {
	o := r.call.Requests[0].Opts.(args.ScanOptions)
	pattern := "*"
	if o.Match != "" {
		pattern = o.Match
	}
	if o.Type != "" {
		r.answer(resp.NotInQuorum("scan", "types of keys are not compared between nodes; leave TYPE out").Value())
		return
	}
	e.majorityKeys(r, pattern, func(keys []string) { r.answer(page(keys, o)) })
}

// hashBits is how long a cursor may be: it stays exact in clients that read it as a float.
const hashBits = 52

func hashOf(key string) uint64 { return xxhash.Sum64String(key) >> (64 - hashBits) }

// page is the part of the keys that a cursor asks for, and the cursor behind it.
func page(keys []string, o args.ScanOptions) resp.Value {
	slices.SortFunc(keys, func(a, b string) int {
		if x, y := hashOf(a), hashOf(b); x != y {
			return int(min(1, max(-1, int64(x)-int64(y))))
		}
		return 0
	})
	first, _ := slices.BinarySearchFunc(keys, o.Cursor, func(k string, c uint64) int {
		if h := hashOf(k); h < c {
			return -1
		} else if h > c {
			return 1
		}
		return 0
	})
	end := min(first+o.Count, len(keys))
	for end > first && end < len(keys) && hashOf(keys[end]) == hashOf(keys[end-1]) {
		end++
	}
	next := uint64(0)
	if end < len(keys) {
		next = hashOf(keys[end])
	}
	return resp.Arr(resp.Str(formatCursor(next)), resp.Strs(keys[first:end]...))
}

// flush deletes what any node has, key by key as a release, so that versions and tokens go on growing.
func (e *Engine) flush(r *request, dbs []int) {
	if len(dbs) == 0 {
		r.answer(resp.OK())
		return
	}
	e.countKeys(dbs[0], "*", 1, r.answer, func(keys []string) {
		e.deleteAll(r, dbs[0], keys, func() { e.flush(r, dbs[1:]) })
	})
}

func (e *Engine) deleteAll(r *request, db int, keys []string, done func()) {
	deletions := make([]*commands.Request, 0, len(keys))
	for _, key := range keys {
		if q, err := commands.Bind([]string{"UNLINK", key}, db); err == nil {
			deletions = append(deletions, q)
		}
	}
	e.each(r, deletions, func(replies []resp.Value) {
		if failed := slices.IndexFunc(replies, resp.Value.IsErr); failed >= 0 {
			r.answer(replies[failed])
			return
		}
		done()
	})
}
